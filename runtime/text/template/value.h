// The values of templates: Python's, as far as templates can make them. All but iterators and namespaces are immutable,
// as in the reference's sandbox.
#ifndef MCONNECT_TEXT_TEMPLATE_VALUE_H_
#define MCONNECT_TEXT_TEMPLATE_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/text/template/text.h"

namespace mconnect::jinja {

class Dict;
class Loop;
class Value;
struct Function;
struct Namespace;
struct Sequence;

// A variable or parameter that has no value (yet). Never leaves a slot.
struct Missing {};

// Jinja's Undefined: prints as nothing, is false, and fails when used. `name` outlives the rendering.
struct Undefined {
  std::string_view name;
};

struct None {};

class Value {
 public:
  Value() : data_(Undefined{}) {}
  Value(Missing missing) : data_(missing) {}
  Value(Undefined undefined) : data_(undefined) {}
  Value(None none) : data_(none) {}
  explicit Value(bool value) : data_(value) {}
  explicit Value(std::int64_t value) : data_(value) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(Text value) : data_(std::make_shared<const Text>(std::move(value))) {}
  explicit Value(std::string_view value) : Value(Text(std::string(value))) {}
  explicit Value(const char* value) : Value(std::string_view(value)) {}
  explicit Value(Sequence value);
  explicit Value(Dict value);
  explicit Value(Function value);
  explicit Value(Namespace* value) : data_(value) {}
  explicit Value(Loop* value) : data_(value) {}

  bool missing() const { return std::holds_alternative<Missing>(data_); }
  bool undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool none() const { return std::holds_alternative<None>(data_); }
  const Undefined* AsUndefined() const { return std::get_if<Undefined>(&data_); }
  const bool* AsBool() const { return std::get_if<bool>(&data_); }
  const std::int64_t* AsInt() const { return std::get_if<std::int64_t>(&data_); }  // not of a bool
  const double* AsFloat() const { return std::get_if<double>(&data_); }
  const Text* AsText() const { return Pointee<Text>(); }
  const Sequence* AsSequence() const { return Pointee<Sequence>(); }
  const Dict* AsDict() const { return Pointee<Dict>(); }
  const Function* AsFunction() const { return Pointee<Function>(); }
  Namespace* AsNamespace() const { return Object<Namespace>(); }
  Loop* AsLoop() const { return Object<Loop>(); }

  // The object itself, for Python's `is`; null for what has no identity here.
  const void* identity() const;

  // Levels of containers in this value; 0 for what is none.
  int depth() const;

  // Python's name of the type, for messages.
  std::string_view type_name() const;

 private:
  template <typename T>
  const T* Pointee() const {
    const auto* pointer = std::get_if<std::shared_ptr<const T>>(&data_);
    return pointer ? pointer->get() : nullptr;
  }
  template <typename T>
  T* Object() const {
    T* const* object = std::get_if<T*>(&data_);
    return object ? *object : nullptr;
  }

  std::variant<Missing, Undefined, None, bool, std::int64_t, double, std::shared_ptr<const Text>,
               std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>, std::shared_ptr<const Function>,
               Namespace*, Loop*>
      data_;
};

using Values = std::vector<Value>;

// A list and what is like one.
struct Sequence {
  enum class Type { kList, kTuple, kGroup, kRange, kIterator, kKeys, kValues, kItems };

  // Throws Failure where the items are too deep.
  Sequence(Type type, Values items);

  // The items that are left: an iterator's run out as they are used.
  Values Take() const;

  Type type;
  Values items;
  int depth;
  std::int64_t range[3] = {};     // start, stop, step
  mutable std::size_t taken = 0;  // of an iterator
};

Value MakeList(Values items);
Value MakeTuple(Values items);
Value MakeIterator(Values items);

// Entries in the order of insertion.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  const std::vector<Entry>& entries() const noexcept { return entries_; }
  std::size_t size() const noexcept { return entries_.size(); }
  int depth() const noexcept { return depth_; }

  // The value, or null. Throws Failure for a key that Python cannot hash.
  const Value* Find(const Value& key) const;
  const Value* Find(std::string_view key) const;
  void Set(Value key, Value value);
  bool Erase(std::string_view key);

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, std::size_t> texts_;  // of the keys that are strings
  bool mixed_ = false;                                       // has other keys
  int depth_ = 1;
};

// Made by namespace(): owned by the rendering, since it may hold itself.
struct Namespace {
  Dict attributes;
};

// What a call hands over.
struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};

class Environment;

// What can be called: a function of the environment, a method with its object, or a macro.
struct Function {
  using Body = Value (*)(Environment& environment, const Value& self, const Arguments& arguments);

  std::string name;
  Body body = nullptr;
  Value self;
  const struct Macro* macro = nullptr;   // of the tree
  struct Activation* definer = nullptr;  // whose variables the macro sees
};

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_VALUE_H_
