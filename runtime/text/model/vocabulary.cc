#include "runtime/text/model/vocabulary.h"

#include <nlohmann/json.hpp>

namespace mconnect {

Vocabulary::Vocabulary(const JsonView& json) {
  // Not by JsonView::Entries, which would make a hundred thousand places that no message needs.
  if (!json.json().is_object()) json.Fail("must be an object of tokens and ids");
  ids_.reserve(json.json().size());
  for (const auto& [token, value] : json.json().items()) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() >= kMaxId) {
      json.Fail("the id of '" + token + "' must be an integer from 0 to " + std::to_string(kMaxId - 1) + ", not " +
                value.dump().substr(0, 40));
    }
    const auto id = value.get<TokenId>();
    const auto entry = ids_.emplace(token, id).first;
    if (static_cast<std::size_t>(id) >= texts_.size()) texts_.resize(static_cast<std::size_t>(id) + 1);
    texts_[static_cast<std::size_t>(id)] = &entry->first;
  }
  size_ = ids_.size();
}

Vocabulary::Vocabulary(const JsonView& json, const std::vector<std::string>& tokens) : size_(tokens.size()) {
  if (tokens.size() > static_cast<std::size_t>(kMaxId)) {
    json.Fail("has " + std::to_string(tokens.size()) + " tokens; the limit is " + std::to_string(kMaxId));
  }
  ids_.reserve(tokens.size());
  texts_.reserve(tokens.size());
  for (const std::string& token : tokens) {
    const auto entry = ids_.insert_or_assign(token, static_cast<TokenId>(texts_.size())).first;
    texts_.push_back(&entry->first);
  }
}

}  // namespace mconnect
