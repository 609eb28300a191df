#include "mconnect/error.h"

#include <utility>

namespace mconnect {
namespace {

std::string What(ErrorCode code, const std::string& message, const std::string& remedy) {
  std::string what(ErrorCodeName(code));
  what += ": " + message;
  if (!remedy.empty()) what += " (" + remedy + ")";
  return what;
}

}  // namespace

std::string_view ErrorCodeName(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid-argument";
    case ErrorCode::kNotFound:
      return "not-found";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kResourceExhausted:
      return "resource-exhausted";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";  // a value from a newer library, through the C ABI
}

Error::Error(ErrorCode code, std::string message, std::string remedy)
    : std::runtime_error(What(code, message, remedy)),
      code_(code),
      message_(std::move(message)),
      remedy_(std::move(remedy)) {}

}  // namespace mconnect
