// The one exception type of Model Connect.
#ifndef MCONNECT_ERROR_H_
#define MCONNECT_ERROR_H_

#include <stdexcept>
#include <string>
#include <string_view>

namespace mconnect {

// What went wrong, in a form that programs can act on. The values are part of the C ABI and never change.
enum class ErrorCode : int {
  kInvalidArgument = 1,    // the caller's input breaks a documented limit
  kNotFound = 2,           // a file, module, task or input does not exist
  kCorrupt = 3,            // bytes are not what their digest or format promises
  kUnsupported = 4,        // valid, but this build or machine cannot do it
  kResourceExhausted = 5,  // memory or disk ran out, or a limit on them was reached
  kCancelled = 6,          // the caller asked to stop
  kUnavailable = 7,        // an engine or device is not usable now
  kIo = 8,                 // the operating system refused to read or write
  kInternal = 9,           // a bug in Model Connect
};

// "invalid-argument", "not-found", ...: the name used in logs, JSON output and Python.
std::string_view ErrorCodeName(ErrorCode code) noexcept;

// Thrown by every function of the C++ API that fails.
//
// `message` names the input, the limit and the value. `remedy` says what to do and may be empty.
// `what()` is "<code name>: <message>" followed by " (<remedy>)" when there is one.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string message, std::string remedy = "");

  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& remedy() const noexcept { return remedy_; }

 private:
  ErrorCode code_;
  std::string message_;
  std::string remedy_;
};

}  // namespace mconnect

#endif  // MCONNECT_ERROR_H_
