// The variable `loop` of a for statement, and the items that it goes through.
#ifndef MCONNECT_TEXT_TEMPLATE_LOOP_H_
#define MCONNECT_TEXT_TEMPLATE_LOOP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "runtime/text/template/value.h"

namespace mconnect::jinja {

// Jinja's LoopContext. Items are tested as late as possible, since the body may change what the test sees.
class Loop {
 public:
  // `test` may be empty: every item counts.
  Loop(Values items, std::function<bool(const Value&)> test) : items_(std::move(items)), test_(std::move(test)) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Goes to the next item; false at the end.
  bool Next();
  const Value& item() const { return current_; }
  // No more items; what is left of the loop may still be asked for.
  void Finish();

  std::int64_t index0() const noexcept { return index0_; }
  std::int64_t length();

  // loop.<name>; nothing for other names.
  std::optional<Value> Attribute(std::string_view name);

  Value Cycle(const Values& values) const;  // loop.cycle(...)
  bool Changed(const Values& values);       // loop.changed(...)

 private:
  std::optional<Value> Fetch();
  const std::optional<Value>& Peek();

  Values items_;
  std::function<bool(const Value&)> test_;
  std::size_t position_ = 0;
  std::int64_t index0_ = -1;
  std::optional<Value> after_;
  Value current_;
  Value before_;
  std::optional<std::int64_t> length_;
  std::optional<Value> changed_;
};

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_LOOP_H_
