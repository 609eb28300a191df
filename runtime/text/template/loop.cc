#include "runtime/text/template/loop.h"

#include <utility>

#include "runtime/text/template/budget.h"
#include "runtime/text/template/operators.h"

namespace mconnect::jinja {

std::optional<Value> Loop::Fetch() {
  while (position_ < items_.size()) {
    Value item = std::move(items_[position_++]);
    if (!test_ || test_(item)) return item;
  }
  return std::nullopt;
}

const std::optional<Value>& Loop::Peek() {
  if (!after_) after_ = Fetch();
  return after_;
}

bool Loop::Next() {
  std::optional<Value> next = after_ ? std::exchange(after_, std::nullopt) : Fetch();
  if (!next) return false;
  ++index0_;
  before_ = std::exchange(current_, *std::move(next));
  return true;
}

void Loop::Finish() {
  if (!test_ && !length_) length_ = static_cast<std::int64_t>(items_.size());
  test_ = nullptr;
  items_.clear();
  position_ = 0;
}

std::int64_t Loop::length() {
  if (!length_) {
    if (test_) {  // go through what is left
      Values rest;
      while (auto item = Fetch()) rest.push_back(*std::move(item));
      items_ = std::move(rest);
      position_ = 0;
      test_ = nullptr;
      length_ = static_cast<std::int64_t>(items_.size()) + index0_ + 1 + (after_ ? 1 : 0);
    } else {
      length_ = static_cast<std::int64_t>(items_.size());
    }
  }
  return *length_;
}

std::optional<Value> Loop::Attribute(std::string_view name) {
  if (name == "index0") return Value(index0_);
  if (name == "index") return Value(index0_ + 1);
  if (name == "length") return Value(length());
  if (name == "revindex") return Value(length() - index0_);
  if (name == "revindex0") return Value(length() - index0_ - 1);
  if (name == "first") return Value(index0_ == 0);
  if (name == "last") return Value(!Peek());
  if (name == "previtem") return index0_ == 0 ? Value(Undefined{"loop.previtem"}) : before_;
  if (name == "nextitem") return Peek() ? *Peek() : Value(Undefined{"loop.nextitem"});
  if (name == "depth") return Value(std::int64_t{1});
  if (name == "depth0") return Value(std::int64_t{0});
  return std::nullopt;
}

Value Loop::Cycle(const Values& values) const {
  if (values.empty()) Fail("no items for cycling given");
  return values[static_cast<std::size_t>(index0_) % values.size()];
}

bool Loop::Changed(const Values& values) {
  Value now = MakeTuple(values);
  if (changed_ && Equal(*changed_, now)) return false;
  changed_ = std::move(now);
  return true;
}

}  // namespace mconnect::jinja
