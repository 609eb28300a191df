#include "runtime/text/constraint/automaton.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "mconnect/error.h"

namespace mconnect {
namespace {

[[noreturn]] void Exhausted(std::size_t limit, const char* what) {
  throw Error(ErrorCode::kResourceExhausted,
              "the output format needs more than " + std::to_string(limit) + " " + what + " at run time",
              "simplify it: fewer alternatives that begin alike, fewer schemas that refer to themselves twice, lower "
              "counts of repetition");
}

}  // namespace

Automaton::Automaton(Grammar grammar, bool skip_space) : grammar_(std::move(grammar)) {
  Classify();
  states_.emplace_back();  // kDead
  states_[kDead].next.assign(classes_, kDead);
  start_ = Intern({{grammar_.start, 0}});
  if (!skip_space || start_ == kDead) return;
  // Another state at the same places, that a space leaves for the true one.
  StateData before = states_[start_];
  before.next.assign(classes_, kUnknown);
  before.next[class_[' ']] = start_;
  states_.push_back(std::move(before));
  start_ = static_cast<State>(states_.size() - 1);
}

void Automaton::Classify() {
  std::array<bool, 257> begins{};  // bytes where an edge begins, or the one behind its end
  begins[' '] = begins[' ' + 1] = true;
  for (const Grammar::Node& node : grammar_.nodes) {
    for (const Grammar::Edge& edge : node.edges) begins[edge.low] = begins[edge.high + 1u] = true;
  }
  std::uint8_t number = 0;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    if (byte > 0 && begins[byte]) ++number;
    class_[byte] = number;
  }
  classes_ = std::size_t{number} + 1;
}

std::uint32_t Automaton::Push(Grammar::NodeId back, std::uint32_t below) {
  const auto [it, fresh] = frame_ids_.try_emplace({back, below}, static_cast<std::uint32_t>(frames_.size()));
  if (fresh) frames_.push_back({back, below, frames_[below].depth + 1});
  if (frames_.size() > kMaxFrames) Exhausted(kMaxFrames, "stacks of rules");
  return it->second;
}

Automaton::State Automaton::Intern(std::vector<Place> from) {
  std::unordered_set<std::uint64_t> seen;
  std::vector<Place> places;
  bool accepts = false;
  while (!from.empty()) {
    const Place place = from.back();
    from.pop_back();
    const auto& [id, frame] = place;
    const Grammar::Node& node = grammar_.nodes[id];
    // What cannot end, or not within the depth that is left, is not entered.
    if (node.height == Grammar::kNever || frames_[frame].depth + node.height > kMaxDepth) continue;
    if (!seen.insert(std::uint64_t{id} << 32 | frame).second) continue;
    if (seen.size() > kFreeVisits && ++visited_ > kMaxVisits) Exhausted(kMaxVisits, "steps");
    if (!node.edges.empty()) places.push_back(place);
    for (const Grammar::NodeId to : node.jumps) from.emplace_back(to, frame);
    for (const Grammar::Call& call : node.calls) {
      const std::uint32_t rest = grammar_.nodes[call.back].height;
      if (rest == Grammar::kNever || frames_[frame].depth + rest > kMaxDepth) continue;
      const std::uint64_t inner = std::uint64_t{grammar_.nodes[call.rule].height} + 1;
      if (frames_[frame].depth + inner > kMaxDepth) continue;
      from.emplace_back(call.rule, Push(call.back, frame));
    }
    if (!node.returns) continue;
    if (frame == 0) {
      accepts = true;
    } else {
      from.emplace_back(frames_[frame].back, frames_[frame].below);
    }
  }
  // Edges into places that were not entered must not count as a way on.
  std::erase_if(places, [this](const Place& place) {
    const auto open = [&](const Grammar::Edge& edge) {
      const std::uint32_t height = grammar_.nodes[edge.to].height;
      return height != Grammar::kNever && frames_[place.second].depth + height <= kMaxDepth;
    };
    return std::ranges::none_of(grammar_.nodes[place.first].edges, open);
  });
  if (places.empty() && !accepts) return kDead;
  std::ranges::sort(places);
  const auto [it, fresh] = state_ids_.try_emplace({places, accepts}, static_cast<State>(states_.size()));
  if (!fresh) return it->second;
  if (states_.size() >= kMaxStates || kept_ + places.size() > kMaxPlaces) {
    state_ids_.erase(it);  // others who share the automaton may go on with the states that there are
    if (states_.size() >= kMaxStates) Exhausted(kMaxStates, "states");
    Exhausted(kMaxPlaces, "places");
  }
  kept_ += places.size();
  states_.push_back({std::move(places), accepts, std::vector<State>(classes_, kUnknown)});
  return it->second;
}

Automaton::State Automaton::Next(State state, unsigned char byte) {
  const std::size_t byte_class = class_[byte];
  if (const State known = states_[state].next[byte_class]; known != kUnknown) return known;
  std::vector<Place> reached;
  for (const auto& [id, frame] : states_[state].places) {
    for (const Grammar::Edge& edge : grammar_.nodes[id].edges) {
      if (edge.low <= byte && byte <= edge.high) reached.emplace_back(edge.to, frame);
    }
  }
  const State next = Intern(std::move(reached));
  return states_[state].next[byte_class] = next;
}

}  // namespace mconnect
