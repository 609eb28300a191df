// Where the library's messages go.
#ifndef MCONNECT_LOG_H_
#define MCONNECT_LOG_H_

#include <functional>
#include <string_view>

namespace mconnect {

enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarning = 2 };

using LogSink = std::function<void(LogLevel level, std::string_view message)>;

// Replaces the sink (null: silence, which is the default). Safe to call from any thread.
void SetLogSink(LogSink sink);

}  // namespace mconnect

#endif  // MCONNECT_LOG_H_
