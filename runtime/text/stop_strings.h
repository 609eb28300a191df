// Ends a stream of text at the first of several strings, wherever pieces of text begin and end.
#ifndef MCONNECT_TEXT_STOP_STRINGS_H_
#define MCONNECT_TEXT_STOP_STRINGS_H_

#include <string>
#include <string_view>
#include <vector>

namespace mconnect {

// Gives out only text that cannot be part of a stop string any more.
//
// The match that ends first wins; of those that end together, the one that begins first (the longest).
class StopStrings {
 public:
  // Throws Error(kInvalidArgument) for an empty stop string. No strings: all text passes through.
  explicit StopStrings(std::vector<std::string> stops);

  // The text that may be shown now. Once `stopped()`, always empty.
  std::string Put(std::string_view text);

  // At the end of the stream: what was held back (empty when stopped).
  std::string Finish();

  // A stop string was found; it and everything after it are not given out.
  bool stopped() const noexcept { return matched_ != nullptr; }

  // The stop string that was found. Requires stopped().
  const std::string& matched() const noexcept { return *matched_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  const std::string* matched_ = nullptr;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_STOP_STRINGS_H_
