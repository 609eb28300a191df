#include "runtime/text/constraint/token_constraint.h"

#include <cmath>
#include <utility>
#include <vector>

#include "mconnect/error.h"

namespace mconnect {

TokenConstraint::TokenConstraint(Grammar grammar, std::shared_ptr<const VocabularyTrie> tokens)
    : tokens_(std::move(tokens)), automaton_(std::move(grammar), tokens_->skips_space()) {}

ConstraintMatcher::ConstraintMatcher(std::shared_ptr<const TokenConstraint> constraint)
    : constraint_(std::move(constraint)) {
  const std::lock_guard lock(constraint_->mutex_);
  state_ = constraint_->automaton_.start();
}

void ConstraintMatcher::Mask(std::span<const TokenId> end_tokens, std::span<float> logits) const {
  std::shared_ptr<const TokenMask> mask;
  bool may_end = false;
  {
    const std::lock_guard lock(constraint_->mutex_);
    may_end = constraint_->automaton_.Accepts(state_);
    auto& masks = constraint_->masks_;
    if (const auto it = masks.find(state_); it != masks.end()) {
      mask = it->second;
    } else {
      mask = std::make_shared<const TokenMask>(constraint_->tokens_->Allowed(constraint_->automaton_, state_));
      if ((masks.size() + 1) * mask->size() * sizeof(std::uint64_t) > TokenConstraint::kMaskBytes) masks.clear();
      masks.emplace(state_, mask);
    }
  }
  std::vector<float> ends;
  for (const TokenId id : end_tokens) ends.push_back(logits[static_cast<std::size_t>(id)]);
  bool any = false;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const bool allowed = id / 64 < mask->size() && ((*mask)[id / 64] >> (id % 64) & 1) != 0;
    if (!allowed) logits[id] = -INFINITY;
    any = any || allowed;
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    logits[static_cast<std::size_t>(end_tokens[i])] = may_end ? ends[i] : -INFINITY;
  }
  if (!any && !may_end) {
    throw Error(ErrorCode::kUnsupported, "no token of the vocabulary can follow in the output format",
                "the vocabulary lacks characters that the format requires");
  }
}

void ConstraintMatcher::Accept(TokenId token) {
  const std::lock_guard lock(constraint_->mutex_);
  for (const char c : constraint_->tokens_->bytes(token)) {
    state_ = constraint_->automaton_.Next(state_, static_cast<unsigned char>(c));
  }
}

bool ConstraintMatcher::MustEnd() const {
  const std::lock_guard lock(constraint_->mutex_);
  return constraint_->automaton_.Accepts(state_) && constraint_->automaton_.Ends(state_);
}

}  // namespace mconnect
