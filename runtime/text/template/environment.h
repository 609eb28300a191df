// What expressions can do beyond operators: attributes, items, calls, filters, tests.
#ifndef MCONNECT_TEXT_TEMPLATE_ENVIRONMENT_H_
#define MCONNECT_TEXT_TEMPLATE_ENVIRONMENT_H_

#include <deque>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "runtime/text/template/budget.h"
#include "runtime/text/template/value.h"

namespace mconnect::jinja {

using LocalTime = std::chrono::local_time<std::chrono::microseconds>;

// Jinja's ImmutableSandboxedEnvironment with the additions of the reference, for one rendering.
class Environment {
 public:
  Environment(Budget& budget, std::optional<LocalTime> now) : budget_(budget), now_(now) {}
  virtual ~Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  Budget& budget() noexcept { return budget_; }
  LocalTime now() const;

  // value.name: an attribute, else an item, else undefined.
  Value GetAttribute(const Value& value, std::string_view name);
  // value[key]: an item, else an attribute, else undefined.
  Value GetItem(const Value& value, const Value& key);
  // The attribute alone: a method, a namespace's or a loop's variable.
  std::optional<Value> FindAttribute(const Value& value, std::string_view name);

  Value Filter(std::string_view name, const Value& value, const Arguments& arguments);
  bool Test(std::string_view name, const Value& value, const Arguments& arguments);

  Value Call(const Value& callee, const Arguments& arguments);

  Namespace* NewNamespace() { return &namespaces_.emplace_back(); }

 protected:
  virtual Value CallMacro(const Function& macro, const Arguments& arguments) = 0;

 private:
  Budget& budget_;
  const std::optional<LocalTime> now_;
  std::deque<Namespace> namespaces_;
};

// Arguments matched with the parameters of a function, as Python does it: an unknown, doubled, missing or surplus one
// is a Failure that names the function.
class Parameters {
 public:
  Parameters(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> names,
             std::size_t required = 0);

  bool Has(std::size_t i) const { return values_[i].has_value(); }
  const Value& operator[](std::size_t i) const { return *values_[i]; }

  Value Or(std::size_t i, Value absent) const { return Has(i) ? *values_[i] : std::move(absent); }
  std::int64_t Int(std::size_t i, std::int64_t absent) const;
  bool Flag(std::size_t i, bool absent) const;
  bool IsNone(std::size_t i) const { return !Has(i) || values_[i]->none(); }

 private:
  std::string_view function_;
  std::vector<std::optional<Value>> values_;
};

// The function of that name, or null. `Body`s of methods take the object as `self`, of filters and tests the value.
Function::Body FindTextMethod(std::string_view name);
Function::Body FindSequenceMethod(Sequence::Type type, std::string_view name);
Function::Body FindDictMethod(std::string_view name);
Function::Body FindFilter(std::string_view name);          // on any value
Function::Body FindSequenceFilter(std::string_view name);  // on what can be iterated over
Function::Body FindTest(std::string_view name);
// Global functions: range, dict, namespace, raise_exception, strftime_now.
std::optional<Value> FindGlobal(std::string_view name);

// strftime in the C locale, as Python's for a time without a zone. Throws Failure.
std::string FormatTime(std::string_view format, LocalTime time);

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_ENVIRONMENT_H_
