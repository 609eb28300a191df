// What the files of the C interface share: its handles, and how exceptions become errors.
#ifndef MCONNECT_API_C_HANDLES_H_
#define MCONNECT_API_C_HANDLES_H_

#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>

#include "mconnect/c.h"
#include "mconnect/mconnect.h"

struct mc_error {
  mc_code code;
  std::string message;
  std::string remedy;
};

struct mc_model {
  mconnect::Model model;
  std::string info;

  // Tasks are made once, at their first use.
  mutable std::mutex mutex;
  mutable std::optional<mconnect::TextEmbedding> embedding;
  mutable std::optional<mconnect::TextGeneration> generation;

  template <typename Task>
  Task Get(std::optional<Task>& task) const {
    std::lock_guard lock(mutex);
    if (!task) task.emplace(model.task<Task>());
    return *task;
  }
};

struct mc_cancel {
  std::stop_source source;
};

namespace mconnect::c {

// Reported when there is no memory for another error; never freed.
inline mc_error out_of_memory = {MC_RESOURCE_EXHAUSTED, "out of memory", ""};

// Runs `body`; whatever it throws becomes an mc_error.
template <typename Body>
mc_error* Guarded(Body&& body) noexcept {
  try {
    try {
      body();
      return nullptr;
    } catch (const Error& e) {
      return new mc_error{static_cast<mc_code>(e.code()), e.message(), e.remedy()};
    } catch (const std::bad_alloc&) {
      return &out_of_memory;
    } catch (const std::exception& e) {
      return new mc_error{MC_INTERNAL, e.what(), ""};
    } catch (...) {
      return new mc_error{MC_INTERNAL, "an exception that is no std::exception", ""};
    }
  } catch (...) {
    return &out_of_memory;
  }
}

inline void NotNull(const void* pointer, const char* name) {
  if (pointer == nullptr) throw Error(ErrorCode::kInvalidArgument, std::string(name) + " is NULL");
}

// The caller's options, or the defaults. `size` is that of the version it was compiled against.
template <typename Options>
Options Read(const Options* given, Options defaults, const char* name) {
  if (given == nullptr) return defaults;
  if (given->size < sizeof(size_t) || given->size > sizeof(Options)) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string(name) + ".size is " + std::to_string(given->size) + ", this library knows up to " +
                    std::to_string(sizeof(Options)),
                "initialize the options with their INIT macro");
  }
  std::memcpy(&defaults, given, given->size);
  return defaults;
}

inline std::string Text(const char* text, const char* otherwise = "") { return text != nullptr ? text : otherwise; }

}  // namespace mconnect::c

#endif  // MCONNECT_API_C_HANDLES_H_
