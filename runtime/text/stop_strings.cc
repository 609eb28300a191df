#include "runtime/text/stop_strings.h"

#include <algorithm>
#include <utility>

#include "mconnect/error.h"

namespace mconnect {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    if (stops_[i].empty()) {
      throw Error(ErrorCode::kInvalidArgument, "stop string " + std::to_string(i) + " is empty", "leave it out");
    }
  }
}

std::string StopStrings::Put(std::string_view text) {
  if (stopped()) return "";
  held_ += text;
  std::size_t first_end = std::string::npos;
  std::size_t begin = 0;
  for (const std::string& stop : stops_) {
    const std::size_t at = held_.find(stop);
    if (at == std::string::npos) continue;
    const std::size_t end = at + stop.size();
    if (end < first_end || (end == first_end && at < begin)) {
      first_end = end;
      begin = at;
      matched_ = &stop;
    }
  }
  if (stopped()) {
    held_.resize(begin);
    return std::exchange(held_, "");
  }
  // Hold back the longest end that begins a stop string.
  std::size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (std::size_t size = std::min(stop.size() - 1, held_.size()); size > keep; --size) {
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, size))) keep = size;
    }
  }
  std::string out = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return out;
}

std::string StopStrings::Finish() { return stopped() ? "" : std::exchange(held_, ""); }

}  // namespace mconnect
