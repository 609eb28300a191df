// Regular expressions of tokenizer.json, written for Oniguruma and run by PCRE2.
#ifndef MCONNECT_TEXT_REGEX_H_
#define MCONNECT_TEXT_REGEX_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;
struct pcre2_real_match_context_8;
struct pcre2_real_match_data_8;
struct pcre2_real_jit_stack_8;

namespace mconnect {

// The part [begin, end) of a text, and whether a pattern matches it.
struct Match {
  std::size_t begin;
  std::size_t end;
  bool matched;
};

// Immutable; threads share it and bring a Scratch each.
class Regex {
 public:
  // What one thread needs to match.
  class Scratch {
   public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

   private:
    friend class Regex;
    pcre2_real_jit_stack_8* jit_stack_;
    pcre2_real_match_context_8* context_;
    pcre2_real_match_data_8* match_data_;
    std::string shadow_;
  };

  // Throws Error(kUnsupported) for what PCRE2 cannot do in the same way, and Error(kCorrupt) for what is no pattern.
  explicit Regex(std::string_view oniguruma_pattern);

  // Matches the text itself.
  static Regex Literal(std::string_view text);

  // Replaces `matches` by parts that cover the (well-formed) text: those matched and those between.
  // Throws Error(kResourceExhausted) when the pattern backtracks without end.
  void Split(std::string_view text, Scratch* scratch, std::vector<Match>* matches) const;

 private:
  struct Deleter {
    void operator()(pcre2_real_code_8* code) const noexcept;
  };

  Regex(std::string_view pattern, bool literal);
  bool Find(std::string_view subject, std::size_t start, Scratch* scratch, std::size_t* begin, std::size_t* end) const;

  std::string pattern_;
  std::unique_ptr<pcre2_real_code_8, Deleter> code_;
  bool jit_ = false;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_REGEX_H_
