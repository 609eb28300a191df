// What the tests of grammars share.
#ifndef MCONNECT_TEXT_CONSTRAINT_TESTING_H_
#define MCONNECT_TEXT_CONSTRAINT_TESTING_H_

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/text/constraint/automaton.h"

namespace mconnect {

inline bool Matches(Automaton& automaton, std::string_view text) {
  Automaton::State state = automaton.start();
  for (const char c : text) state = automaton.Next(state, static_cast<unsigned char>(c));
  return automaton.Accepts(state);
}

// A random text of the grammar; ends where it may with a probability of 1/4, and always within `limit` bytes plus what
// is needed to come to an end.
inline std::string RandomText(Automaton& automaton, std::mt19937& random, std::size_t limit = 100) {
  std::string text;
  Automaton::State state = automaton.start();
  while (!automaton.Ends(state)) {
    if (automaton.Accepts(state) && (random() % 4 == 0 || text.size() > limit)) break;
    std::vector<std::pair<unsigned char, Automaton::State>> next;
    for (int byte = 0; byte < 256; ++byte) {
      const auto to = automaton.Next(state, static_cast<unsigned char>(byte));
      if (to != Automaton::kDead) next.emplace_back(static_cast<unsigned char>(byte), to);
    }
    if (next.empty()) return text + " [dead end]";
    // Long texts are ended with preference: a quote, a bracket.
    std::size_t pick = random() % next.size();
    if (text.size() > limit) {
      for (const char wanted : {'}', ']', '"'}) {
        for (std::size_t i = 0; i < next.size(); ++i) {
          if (next[i].first == static_cast<unsigned char>(wanted)) pick = i;
        }
      }
    }
    text += static_cast<char>(next[pick].first);
    state = next[pick].second;
    if (text.size() > 100 * limit) return text + " [no end]";
  }
  return text;
}

}  // namespace mconnect

#endif  // MCONNECT_TEXT_CONSTRAINT_TESTING_H_
