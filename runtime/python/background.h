// Long native work on behalf of Python: Ctrl-C stops it, other Python threads go on.
#ifndef MCONNECT_RUNTIME_PYTHON_BACKGROUND_H_
#define MCONNECT_RUNTIME_PYTHON_BACKGROUND_H_

#include <pybind11/pybind11.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "mconnect/text_generation.h"

namespace mconnect::python {

// Python runs its signal handlers only between bytecodes of the main thread, so a call that computes for seconds would
// swallow Ctrl-C. Waiting is therefore done in slices of this length, with a look at the signals between them.
inline constexpr std::chrono::milliseconds kSignalInterval{50};

// Runs `work(stop_token)` on a thread of its own and returns what it returns. Call with the GIL held.
// A signal handler that raises (KeyboardInterrupt) stops the work first, then reaches the caller.
template <typename Work>
std::invoke_result_t<Work, std::stop_token> RunInterruptibly(Work work) {
  std::optional<std::invoke_result_t<Work, std::stop_token>> result;
  std::exception_ptr failure;
  std::mutex mutex;
  std::condition_variable over;
  bool done = false;
  std::jthread worker([&](const std::stop_token& stop) {
    try {
      result.emplace(work(stop));
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    done = true;
    over.notify_one();
  });
  bool interrupted = false;
  for (bool finished = false; !finished && !interrupted;) {
    {
      const pybind11::gil_scoped_release release;
      std::unique_lock lock(mutex);
      finished = over.wait_for(lock, kSignalInterval, [&] { return done; });
    }
    interrupted = !finished && PyErr_CheckSignals() != 0;
  }
  if (interrupted) {
    const pybind11::error_already_set raised;  // takes the exception out of the interpreter while the worker ends
    worker.request_stop();
    {
      const pybind11::gil_scoped_release release;
      worker.join();
    }
    throw raised;
  }
  if (failure) std::rethrow_exception(failure);
  return std::move(*result);
}

// A generation under way, read as an iterator over pieces of its text.
class TextStream {
 public:
  // Given the options and a callback, generates. Called once, on another thread.
  using Work = std::function<Generation(const GenerateOptions&, const TextCallback&)>;

  TextStream(Work work, GenerateOptions options);

  // Stops the generation and waits for its current step.
  ~TextStream();

  // The next piece, or nothing at the end. Rethrows the generation's error. Interruptible. Call with the GIL held.
  std::optional<std::string> Next();

  // Asks the generation to end; Next() then gives what is left.
  void Cancel() { worker_.request_stop(); }

  // The whole result; reads the stream to its end first.
  Generation Result();

 private:
  void Run(const std::stop_token& stop, const Work& work, GenerateOptions options);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> pieces_;
  std::optional<Generation> result_;
  std::exception_ptr failure_;
  bool done_ = false;
  std::jthread worker_;  // last: starts when all of the above exists
};

}  // namespace mconnect::python

#endif  // MCONNECT_RUNTIME_PYTHON_BACKGROUND_H_
