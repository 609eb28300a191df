// How the library itself writes to the sink that the application gave it.
#ifndef MCONNECT_BASE_LOG_H_
#define MCONNECT_BASE_LOG_H_

#include <string_view>

#include "mconnect/log.h"

namespace mconnect {

// Calls the sink, if there is one. Never throws: an exception of the sink is dropped.
void Log(LogLevel level, std::string_view message) noexcept;

}  // namespace mconnect

#endif  // MCONNECT_BASE_LOG_H_
