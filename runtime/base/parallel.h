// A loop over all cores.
#ifndef MCONNECT_BASE_PARALLEL_H_
#define MCONNECT_BASE_PARALLEL_H_

#include <cstddef>
#include <functional>

namespace mconnect {

// Calls body(0) ... body(count - 1) from up to `threads` threads (0 = one per core that this process may use), the
// caller's being one of them. Indices are handed out in increasing order, so when body(i) starts, every smaller index
// has started: a body may wait for smaller indices. The first exception stops the handing out and is thrown when all
// threads are done.
void ParallelFor(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& body);

// Cores that this process may use (its affinity mask), at least 1.
std::size_t NumCores() noexcept;

}  // namespace mconnect

#endif  // MCONNECT_BASE_PARALLEL_H_
