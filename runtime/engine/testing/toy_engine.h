// The engine "toy": tiny exact modules with the conventions of real ones, for tests of everything above the engine
// contract.
//
// An artifact is a text of two words:
//   "encoder <hidden>"   input_ids, attention_mask → last_hidden_state [batch,tokens,hidden]: element h of a token is
//                        id + h / 8; of padding, 1e9, so that a pooling that looks at padding shows.
//   "decoder <vocab>"    the contract of a cached decoder. A row's next token is ToyNext() of the tokens it has seen;
//                        the logits are 8 for it and fall with the distance. It refuses position_ids, attention_mask
//                        and beam_idx that contradict its state; the mask may hide a token that it showed before.
// Weights are not needed. Devices: "cpu"; "gpu:0", which says that it has no driver.
#ifndef MCONNECT_ENGINE_TESTING_TOY_ENGINE_H_
#define MCONNECT_ENGINE_TESTING_TOY_ENGINE_H_

#include <cstdint>
#include <span>

#include "runtime/engine/engine.h"

namespace mconnect {

const mc_engine_api* ToyEngine() noexcept;

// The token that the toy decoder continues `tokens` with. It depends on each of them and on their order.
std::int64_t ToyNext(std::span<const std::int64_t> tokens, std::int64_t vocabulary);

// Contexts of this process that were made and not freed, runs so far, and tokens (of all rows, with padding) that
// decoders were given in them: for tests of pooling, of chunking and of what is computed again.
std::int64_t ToyContexts() noexcept;
std::int64_t ToyRuns() noexcept;
std::int64_t ToyTokens() noexcept;

}  // namespace mconnect

#endif  // MCONNECT_ENGINE_TESTING_TOY_ENGINE_H_
