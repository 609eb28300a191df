#include "runtime/base/log.h"

#include <memory>
#include <mutex>
#include <utility>

namespace mconnect {
namespace {

std::mutex mutex;
std::shared_ptr<const LogSink> current;  // shared, so that a sink may be replaced while another thread is inside it

}  // namespace

void SetLogSink(LogSink sink) {
  auto next = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  const std::lock_guard lock(mutex);
  current.swap(next);
}

void Log(LogLevel level, std::string_view message) noexcept {
  std::shared_ptr<const LogSink> sink;
  {
    const std::lock_guard lock(mutex);
    sink = current;
  }
  if (sink == nullptr) return;
  try {
    (*sink)(level, message);
  } catch (...) {  // logging must not change what the program does
  }
}

}  // namespace mconnect
