// How a template fails, and what bounds its work.
#ifndef MCONNECT_TEXT_TEMPLATE_BUDGET_H_
#define MCONNECT_TEXT_TEMPLATE_BUDGET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "mconnect/error.h"
#include "runtime/text/chat_template.h"

namespace mconnect::jinja {

// Thrown while a template runs; ChatTemplate adds the line and makes it an Error.
struct Failure {
  ErrorCode code;
  std::string what;
};

// What Python raises as TypeError, ValueError, UndefinedError, ... and the reference passes on.
[[noreturn]] inline void Fail(std::string what) { throw Failure{ErrorCode::kInvalidArgument, std::move(what)}; }

// What Python could do and this runtime cannot.
[[noreturn]] inline void FailUnsupported(std::string what) { throw Failure{ErrorCode::kUnsupported, std::move(what)}; }

// Containers are no deeper than this, so that functions may recurse over values.
inline constexpr int kMaxValueDepth = 200;

// The work that one Render may still do. Throws Failure(kResourceExhausted).
class Budget {
 public:
  explicit Budget(const ChatTemplateLimits& limits) : limits_(limits) {
    limits_.text_bytes = std::min<std::size_t>(limits_.text_bytes, std::numeric_limits<std::uint32_t>::max());
  }

  void Step(std::size_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.steps) Exhausted("steps", limits_.steps, steps_);
  }

  // Before a string of `bytes` is made.
  void Bytes(std::size_t bytes) {
    if (bytes > limits_.text_bytes) Exhausted("bytes of text", limits_.text_bytes, bytes);
    Step(1 + bytes / 64);
  }

  // One level of interpretation, for as long as it lives.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) {
      if (++budget_.depth_ > budget_.limits_.depth) {
        --budget_.depth_;
        Exhausted("nested levels", budget_.limits_.depth, budget_.limits_.depth + 1);
      }
    }
    ~Level() { --budget_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

 private:
  [[noreturn]] static void Exhausted(const char* what, std::size_t limit, std::size_t value) {
    throw Failure{ErrorCode::kResourceExhausted,
                  "needs " + std::to_string(value) + " " + what + ", more than the limit of " + std::to_string(limit)};
  }

  ChatTemplateLimits limits_;
  std::size_t steps_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_BUDGET_H_
