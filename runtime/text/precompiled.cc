#include "runtime/text/precompiled.h"

#include "mconnect/error.h"
#include "runtime/text/unicode.h"
#include "runtime/text/unicode_segmentation.h"

namespace mconnect {
namespace {

constexpr std::size_t kLongCluster = 6;  // from this many bytes on a cluster is not looked up as a whole

int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int digit = Base64Digit(c);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return bytes;
}

std::uint32_t ReadUint32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The fields of a unit of the trie.
constexpr bool HasLeaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
constexpr std::uint32_t Value(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
constexpr std::uint32_t Label(std::uint32_t unit) { return unit & 0x800000FF; }
constexpr std::uint32_t Offset(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

// Appends the changes that make `to` of `from`. As in the reference, code points that vanish count as gone behind the
// last one that stands, and where none stands yet they are not counted.
void AppendChanges(std::string_view from, std::string_view to, std::vector<Change>* changes) {
  const auto difference =
      static_cast<std::ptrdiff_t>(unicode::CountChars(to)) - static_cast<std::ptrdiff_t>(unicode::CountChars(from));
  for (std::size_t at = 0; at < to.size();) changes->push_back({unicode::Next(to, &at), 0});
  if (difference < 0 && !changes->empty()) changes->back().change += static_cast<int>(difference);
  for (std::ptrdiff_t i = 0; i < difference; ++i) changes->rbegin()[i].change = 1;
}

}  // namespace

PrecompiledNormalizer::PrecompiledNormalizer(const JsonView& json) {
  const JsonView field = json["precompiled_charsmap"];
  const std::optional<std::string> bytes = FromBase64(field.String());
  if (!bytes) field.Fail("is not base64");
  const std::string_view view = *bytes;
  const std::size_t size = view.size() < 4 ? 0 : ReadUint32(view);
  if (size == 0 || size % 4 != 0 || size > view.size() - 4) {
    field.Fail("has " + std::to_string(view.size()) + " bytes, which do not begin with a trie of " +
               std::to_string(size));
  }
  for (std::size_t at = 4; at < 4 + size; at += 4) units_.push_back(ReadUint32(view.substr(at)));
  replacements_ = view.substr(4 + size);
  if (unicode::Repair(replacements_)) field.Fail("has replacements that are not UTF-8");
  for (std::size_t c = 0; c < ascii_stays_.size(); ++c) {
    const char text = static_cast<char>(c);
    ascii_stays_[c] = !Find({&text, 1});
  }
}

std::optional<std::string_view> PrecompiledNormalizer::Find(std::string_view text) const {
  std::size_t at = Offset(units_[0]);
  for (const char byte : text) {
    const auto label = static_cast<unsigned char>(byte);
    at ^= label;
    if (label == 0 || at >= units_.size() || Label(units_[at]) != label) return std::nullopt;
    const std::uint32_t unit = units_[at];
    at ^= Offset(unit);
    if (!HasLeaf(unit)) continue;
    const std::size_t begin = at < units_.size() ? Value(units_[at]) : replacements_.size() + 1;
    if (begin > replacements_.size() ||
        (begin < replacements_.size() && unicode::IsContinuationByte(replacements_[begin]))) {
      throw Error(ErrorCode::kCorrupt, "the precompiled_charsmap of tokenizer.json leads to no replacement");
    }
    const std::string_view rest = std::string_view(replacements_).substr(begin);
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

AlignedText PrecompiledNormalizer::Normalize(const AlignedText& aligned, TextScratch* scratch) const {
  const std::string_view text = aligned.text();
  const auto stays = [&](std::size_t at) {  // a cluster of one ASCII character that is no key
    const auto c = static_cast<unsigned char>(text[at]);
    return c < 0x80 && c != '\r' && ascii_stays_[c] &&
           (at + 1 == text.size() || static_cast<unsigned char>(text[at + 1]) < 0x80);
  };
  std::size_t at = 0;
  while (at < text.size() && stays(at)) ++at;
  if (at == text.size()) return aligned;

  std::vector<Change>& changes = scratch->changes;
  changes.clear();
  for (std::size_t i = 0; i < at; ++i) changes.push_back({static_cast<unsigned char>(text[i]), 0});
  bool modified = false;
  const auto replace = [&](std::string_view part) {
    const auto replacement = Find(part);
    if (!replacement) return false;
    modified = true;
    AppendChanges(part, *replacement, &changes);
    return true;
  };
  while (at < text.size()) {
    if (stays(at)) {
      changes.push_back({static_cast<unsigned char>(text[at++]), 0});
      continue;
    }
    const std::size_t end = unicode::ClusterEnd(text, at);
    if (end - at < kLongCluster && replace(text.substr(at, end - at))) {
      at = end;
      continue;
    }
    while (at < end) {
      const std::size_t begin = at;
      const char32_t c = unicode::Next(text, &at);
      if (!replace(text.substr(begin, at - begin))) changes.push_back({c, 0});
    }
  }
  return modified ? aligned.Transform(changes, 0, &scratch->arena) : aligned;
}

}  // namespace mconnect
