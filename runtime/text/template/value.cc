#include "runtime/text/template/value.h"

#include <algorithm>

#include "runtime/text/template/budget.h"
#include "runtime/text/template/operators.h"

namespace mconnect::jinja {
namespace {

int DepthAbove(int depth) {
  if (depth >= kMaxValueDepth) {
    throw Failure{ErrorCode::kResourceExhausted,
                  "makes lists or dicts nested deeper than the limit of " + std::to_string(kMaxValueDepth) + " levels"};
  }
  return depth + 1;
}

}  // namespace

Value::Value(Sequence value) : data_(std::make_shared<const Sequence>(std::move(value))) {}
Value::Value(Dict value) : data_(std::make_shared<const Dict>(std::move(value))) {}
Value::Value(Function value) : data_(std::make_shared<const Function>(std::move(value))) {}

const void* Value::identity() const {
  if (const Text* text = AsText()) return text;
  if (const Sequence* sequence = AsSequence()) return sequence;
  if (const Dict* dict = AsDict()) return dict;
  if (const Function* function = AsFunction()) return function;
  if (const Namespace* space = AsNamespace()) return space;
  return AsLoop();
}

int Value::depth() const {
  if (const Sequence* sequence = AsSequence()) return sequence->depth;
  if (const Dict* dict = AsDict()) return dict->depth();
  if (const Function* function = AsFunction()) return function->self.depth();
  return 0;
}

std::string_view Value::type_name() const {
  if (undefined() || missing()) return "Undefined";
  if (none()) return "NoneType";
  if (AsBool()) return "bool";
  if (AsInt()) return "int";
  if (AsFloat()) return "float";
  if (const Text* text = AsText()) return text->markup() ? "Markup" : "str";
  if (AsDict()) return "dict";
  if (AsNamespace()) return "Namespace";
  if (AsLoop()) return "LoopContext";
  if (AsFunction()) return "function";
  switch (AsSequence()->type) {
    case Sequence::Type::kList:
      return "list";
    case Sequence::Type::kTuple:
    case Sequence::Type::kGroup:
      return "tuple";
    case Sequence::Type::kRange:
      return "range";
    case Sequence::Type::kIterator:
      return "generator";
    case Sequence::Type::kKeys:
      return "dict_keys";
    case Sequence::Type::kValues:
      return "dict_values";
    case Sequence::Type::kItems:
      return "dict_items";
  }
  return "";
}

Sequence::Sequence(Type type, Values items) : type(type), items(std::move(items)), depth(1) {
  for (const Value& item : this->items) depth = std::max(depth, DepthAbove(item.depth()));
}

Values Sequence::Take() const {
  if (type != Type::kIterator) return items;
  const std::size_t from = std::exchange(taken, items.size());
  return {items.begin() + static_cast<std::ptrdiff_t>(from), items.end()};
}

Value MakeList(Values items) { return Value(Sequence(Sequence::Type::kList, std::move(items))); }
Value MakeTuple(Values items) { return Value(Sequence(Sequence::Type::kTuple, std::move(items))); }
Value MakeIterator(Values items) { return Value(Sequence(Sequence::Type::kIterator, std::move(items))); }

const Value* Dict::Find(std::string_view key) const {
  const auto found = texts_.find(key);
  return found == texts_.end() ? nullptr : &entries_[found->second].second;
}

const Value* Dict::Find(const Value& key) const {
  if (const Text* text = key.AsText()) return Find(text->bytes());
  CheckHashable(key);
  if (!mixed_) return nullptr;
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) { return Equal(entry.first, key); });
  return found == entries_.end() ? nullptr : &found->second;
}

void Dict::Set(Value key, Value value) {
  depth_ = std::max({depth_, DepthAbove(key.depth()), DepthAbove(value.depth())});
  if (const Value* old = Find(key)) {
    *const_cast<Value*>(old) = std::move(value);
    return;
  }
  if (const Text* text = key.AsText()) {
    texts_.emplace(text->bytes(), entries_.size());
  } else {
    mixed_ = true;
  }
  entries_.emplace_back(std::move(key), std::move(value));
}

bool Dict::Erase(std::string_view key) {
  const auto found = texts_.find(key);
  if (found == texts_.end()) return false;
  const std::size_t index = found->second;
  texts_.erase(found);
  for (auto& [text, position] : texts_) position -= position > index;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

}  // namespace mconnect::jinja
