// A grammar made deterministic, as far as it is walked.
#ifndef MCONNECT_TEXT_CONSTRAINT_AUTOMATON_H_
#define MCONNECT_TEXT_CONSTRAINT_AUTOMATON_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/text/constraint/grammar.h"

namespace mconnect {

// States are made when they are first reached: a state is the set of places in the grammar, each with its stack of
// calls, where the bytes so far may have led. From every state but kDead some text leads to the end: a call is only
// followed where it can return within kMaxDepth nested ones. Not synchronised.
class Automaton {
 public:
  using State = std::uint32_t;
  static constexpr State kDead = 0;
  static constexpr std::uint32_t kMaxDepth = 64;
  static constexpr std::size_t kMaxStates = 500'000;
  // An ambiguous grammar may be at exponentially many places at once: bounds of memory and time for all states
  // together.
  static constexpr std::size_t kMaxPlaces = 8'000'000;
  static constexpr std::size_t kMaxFrames = 250'000;
  static constexpr std::size_t kMaxVisits = 8'000'000;
  static constexpr std::size_t kFreeVisits = 1000;  // of each state

  // `skip_space`: one space before the text is not part of it.
  explicit Automaton(Grammar grammar, bool skip_space = false);

  State start() const { return start_; }

  // Throws Error(kResourceExhausted) at these limits.
  State Next(State state, unsigned char byte);

  bool Accepts(State state) const { return states_[state].accepts; }      // the bytes so far are a whole text
  bool Ends(State state) const { return states_[state].places.empty(); }  // nothing can follow

 private:
  // A call that has not returned yet. 0 is the empty stack.
  struct Frame {
    Grammar::NodeId back;
    std::uint32_t below;
    std::uint32_t depth;
  };
  using Place = std::pair<Grammar::NodeId, std::uint32_t>;  // a node with edges, and the topmost frame

  struct StateData {
    std::vector<Place> places;  // sorted
    bool accepts = false;
    std::vector<State> next;  // by class of bytes; kUnknown: not reached yet
  };
  static constexpr State kUnknown = 0xFFFFFFFF;

  void Classify();
  State Intern(std::vector<Place> from);
  std::uint32_t Push(Grammar::NodeId back, std::uint32_t below);

  Grammar grammar_;
  std::array<std::uint8_t, 256> class_{};  // bytes that no edge tells apart share one
  std::size_t classes_ = 0;
  std::vector<Frame> frames_ = {{0, 0, 0}};
  std::map<std::pair<Grammar::NodeId, std::uint32_t>, std::uint32_t> frame_ids_;
  std::vector<StateData> states_;
  std::map<std::pair<std::vector<Place>, bool>, State> state_ids_;
  State start_ = kDead;
  std::size_t kept_ = 0;     // places of all states
  std::size_t visited_ = 0;  // places that were looked at to make them, beyond kFreeVisits of each
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_CONSTRAINT_AUTOMATON_H_
