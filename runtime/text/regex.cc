#include "runtime/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <new>

#include "mconnect/error.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

// Body of a class that matches what \w matches for Oniguruma: letters, marks, digits, connectors, and what else is
// alphabetic.
constexpr std::string_view kWordClass =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";
// Outside of classes Oniguruma takes it from its table of Latin-1, which counts superscripts and fractions, too.
constexpr std::string_view kLatin1Word = R"(\xB2\xB3\xB9\xBC-\xBE)";
constexpr std::string_view kHexClass = "0-9A-Fa-f";

std::string Concat(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

// Rewrites what the two dialects mean differently; refuses what cannot be rewritten.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string Translate() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        Escape();
      } else if (in_class_) {
        InClass();
      } else if (c == '[') {
        in_class_ = true;
        Copy(pattern_.substr(at_, 2) == "[^" ? 2 : 1);
        if (at_ < pattern_.size() && pattern_[at_] == ']') Refuse("an empty class");
      } else if (pattern_.substr(at_, 2) == "(?") {
        Group();
      } else if (c == '}' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] == '+') {
        Refuse("'+' after an interval");  // repeats the interval; for PCRE2 it makes the interval possessive
      } else {
        Copy(1);
      }
    }
    return out_;
  }

 private:
  [[noreturn]] void Refuse(std::string_view what) const {
    throw Error(ErrorCode::kUnsupported,
                Concat({"the regular expression '", pattern_, "' has ", what, " at byte ", std::to_string(at_)}));
  }

  void Copy(std::size_t count) {
    out_ += pattern_.substr(at_, count);
    at_ = std::min(at_ + count, pattern_.size());
  }

  void Escape() {
    if (at_ + 1 == pattern_.size()) Refuse("a '\\' with nothing after it");
    const char c = pattern_[at_ + 1];
    std::string body(c == 'h' || c == 'H' ? kHexClass : kWordClass);
    if (!in_class_ && c != 'h' && c != 'H') body += kLatin1Word;
    switch (c) {
      case 'w':
      case 'h':
        out_ += in_class_ ? body : Concat({"[", body, "]"});
        break;
      case 'W':
      case 'H':
        if (in_class_) Refuse("a negated shorthand in a class");
        out_ += Concat({"[^", body, "]"});
        break;
      case 'b':
      case 'B': {
        if (in_class_) return Copy(2);
        const std::string_view same = c == 'B' ? "=" : "!";
        const std::string_view other = c == 'B' ? "!" : "=";
        out_ += Concat({"(?:(?<=[", body, "])(?", same, "[", body, "])|(?<![", body, "])(?", other, "[", body, "]))"});
        break;
      }
      case 'C':
      case 'K':
      case 'N':
      case 'O':
      case 'R':
      case 'X':
      case 'y':
      case 'Y':
        Refuse(Concat({"'\\", std::string_view(&c, 1), "'"}));
      default:
        Copy(2);
        // \p{L} and \x{24B6} have braces that are no interval.
        if (at_ < pattern_.size() && pattern_[at_] == '{' && (c == 'p' || c == 'P' || c == 'x')) {
          Copy(std::min(pattern_.find('}', at_), pattern_.size() - 1) + 1 - at_);
        }
        return;
    }
    at_ += 2;
  }

  void InClass() {
    if (pattern_.substr(at_, 2) == "&&") Refuse("an intersection of classes");
    if (pattern_[at_] == '[') Refuse("a class inside a class");
    if (pattern_[at_] == ']') in_class_ = false;
    Copy(1);
  }

  // "(?flags)" or "(?flags:": Oniguruma's m lets '.' match a line feed, as s does in PCRE2.
  void Group() {
    Copy(2);
    while (at_ < pattern_.size() && std::string_view("imx-").find(pattern_[at_]) != std::string_view::npos) {
      out_ += pattern_[at_] == 'm' ? 's' : pattern_[at_];
      ++at_;
    }
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::string out_;
};

}  // namespace

Regex::Scratch::Scratch()
    : jit_stack_(pcre2_jit_stack_create(32 << 10, 1 << 20, nullptr)),
      context_(pcre2_match_context_create(nullptr)),
      match_data_(pcre2_match_data_create(1, nullptr)) {
  if (context_ == nullptr || match_data_ == nullptr) throw std::bad_alloc();
  if (jit_stack_ != nullptr) pcre2_jit_stack_assign(context_, nullptr, jit_stack_);
}

Regex::Scratch::~Scratch() {
  pcre2_match_data_free(match_data_);
  pcre2_match_context_free(context_);
  pcre2_jit_stack_free(jit_stack_);
}

void Regex::Deleter::operator()(pcre2_real_code_8* code) const noexcept { pcre2_code_free(code); }

Regex::Regex(std::string_view oniguruma_pattern) : Regex(oniguruma_pattern, /*literal=*/false) {}

Regex Regex::Literal(std::string_view text) { return Regex(text, /*literal=*/true); }

Regex::Regex(std::string_view pattern, bool literal) : pattern_(pattern) {
  const std::string translated = literal ? std::string(pattern) : Translator(pattern).Translate();
  // Oniguruma's '^' and '$' match at lines.
  const std::uint32_t options = PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_MULTILINE);
  const std::unique_ptr<pcre2_compile_context, void (*)(pcre2_compile_context*)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  if (context == nullptr) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int code = 0;
  PCRE2_SIZE offset = 0;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(), options, &code, &offset,
                            context.get()));
  if (code_ == nullptr) {
    char message[160] = "";
    pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(message), sizeof message);
    throw Error(ErrorCode::kCorrupt, Concat({"'", pattern, "' is not a regular expression: ", message, " at byte ",
                                             std::to_string(offset)}));
  }
  jit_ = pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE) == 0;
}

bool Regex::Find(std::string_view subject, std::size_t start, Scratch* scratch, std::size_t* begin,
                 std::size_t* end) const {
  const auto* data = reinterpret_cast<PCRE2_SPTR>(subject.data());
  int result = PCRE2_ERROR_JIT_STACKLIMIT;
  if (jit_) {
    result = pcre2_jit_match(code_.get(), data, subject.size(), start, PCRE2_NO_UTF_CHECK, scratch->match_data_,
                             scratch->context_);
  }
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
    result = pcre2_match(code_.get(), data, subject.size(), start, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                         scratch->match_data_, scratch->context_);
  }
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0) {
    throw Error(ErrorCode::kResourceExhausted,
                Concat({"the regular expression '", pattern_, "' gives up on a text of ",
                        std::to_string(subject.size()), " bytes (PCRE2 error ", std::to_string(result), ")"}));
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(scratch->match_data_);
  *begin = ends[0];
  *end = ends[1];
  return true;
}

void Regex::Split(std::string_view text, Scratch* scratch, std::vector<Match>* matches) const {
  matches->clear();
  // A shadow of the text with stand-ins for the code points that PCRE2 does not know. All of them have three bytes or
  // more.
  std::string_view subject = text;
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0xE0) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    const char32_t c = unicode::Next(text, &at);
    const char32_t stand_in = unicode::RegexStandIn(c);
    if (stand_in == c) continue;
    if (subject.data() == text.data()) {
      scratch->shadow_ = text;
      subject = scratch->shadow_;
    }
    std::string bytes;
    unicode::AppendUtf8(stand_in, &bytes);
    scratch->shadow_.replace(begin, at - begin, bytes);
  }

  std::size_t previous = 0;            // end of the last part
  std::size_t start = 0;               // where to search
  std::size_t last = text.size() + 1;  // end of the last match, if there was one
  std::size_t begin = 0;
  std::size_t end = 0;
  while (start <= text.size() && Find(subject, start, scratch, &begin, &end)) {
    if (begin == end && end == last) {  // an empty match right after a match does not count
      if (start == text.size()) break;
      unicode::Next(text, &start);
      continue;
    }
    start = last = end;
    if (previous != begin) matches->push_back({previous, begin, false});
    matches->push_back({begin, end, true});
    previous = end;
  }
  if (previous != text.size()) matches->push_back({previous, text.size(), false});
}

}  // namespace mconnect
