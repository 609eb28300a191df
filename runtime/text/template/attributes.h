// What filters on sequences share: items by the path of an attribute, and items without regard to case.
#ifndef MCONNECT_TEXT_TEMPLATE_ATTRIBUTES_H_
#define MCONNECT_TEXT_TEMPLATE_ATTRIBUTES_H_

#include <charconv>

#include "runtime/text/template/characters.h"
#include "runtime/text/template/environment.h"
#include "runtime/text/template/operators.h"
#include "runtime/text/template/text_functions.h"

namespace mconnect::jinja {

// Jinja's make_attrgetter: "a.b.0" looks up a, then b, then item 0. None or undefined stands for the item itself.
class AttributePath {
 public:
  AttributePath(Environment& environment, const Value& path) : environment_(environment) {
    if (const Text* text = path.AsText()) {
      const Text dot(".");
      for (Text& part : jinja::Split(*text, &dot, -1, false, environment.budget())) Add(std::move(part));
    } else if (!path.none() && !path.undefined()) {
      parts_.push_back(path);
    }
  }

  // `absent`, where it is not null, stands for what is undefined on the way.
  Value operator()(Value item, const Value* absent = nullptr) const {
    for (const Value& part : parts_) {
      item = environment_.GetItem(item, part);
      if (absent && item.undefined()) item = *absent;
    }
    return item;
  }

 private:
  void Add(Text part) {
    const std::string& bytes = part.bytes();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), number);
    const bool digits = !bytes.empty() && bytes.find_first_not_of("0123456789") == std::string::npos;
    if (digits && error != std::errc()) FailUnsupported("the number of an item does not fit into 64 bits");
    parts_.push_back(digits ? Value(number) : Value(std::move(part)));
  }

  Environment& environment_;
  Values parts_;
};

inline Value IgnoreCase(Value value) {
  const Text* text = value.AsText();
  return text ? Value(ToCase(*text, Case::kLower)) : value;
}

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_ATTRIBUTES_H_
