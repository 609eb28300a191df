#include "runtime/python/background.h"

namespace mconnect::python {
namespace py = pybind11;

TextStream::TextStream(Work work, GenerateOptions options)
    : worker_([this, work = std::move(work), options = std::move(options)](const std::stop_token& stop) {
        Run(stop, work, options);
      }) {}

TextStream::~TextStream() {
  worker_.request_stop();
  const py::gil_scoped_release release;
  worker_.join();
}

void TextStream::Run(const std::stop_token& stop, const Work& work, GenerateOptions options) {
  options.cancel = stop;
  std::optional<Generation> result;
  std::exception_ptr failure;
  try {
    result = work(options, [this](const TextChunk& chunk) {
      const std::lock_guard lock(mutex_);
      pieces_.emplace_back(chunk.text);
      changed_.notify_one();
    });
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  result_ = std::move(result);
  failure_ = failure;
  done_ = true;
  changed_.notify_one();
}

std::optional<std::string> TextStream::Next() {
  for (;;) {
    {
      const py::gil_scoped_release release;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kSignalInterval, [this] { return done_ || !pieces_.empty(); });
      if (!pieces_.empty()) {
        std::string piece = std::move(pieces_.front());
        pieces_.pop_front();
        return piece;
      }
      if (done_) {
        if (failure_) std::rethrow_exception(failure_);
        return std::nullopt;
      }
    }
    if (PyErr_CheckSignals() != 0) {
      Cancel();
      throw py::error_already_set();
    }
  }
}

Generation TextStream::Result() {
  while (Next()) {
  }
  return *result_;
}

}  // namespace mconnect::python
