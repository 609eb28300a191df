// Keeping a weights file out of memory while an engine copies it.
#ifndef MCONNECT_ENGINE_OPENVINO_RESIDENCY_H_
#define MCONNECT_ENGINE_OPENVINO_RESIDENCY_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

namespace mconnect {

// While it lives, gives back the pages of a read-only file mapping that were touched, every 2 ms.
//
// OpenVINO packs weights into layouts of its own when a model is compiled and when a layer first runs. Each page that
// it read would stay in this process's memory beside the copy: twice the weights at the peak. The pages stay in the
// system's cache, so touching one again costs a minor fault and no read.
class ResidencyGuard {
 public:
  // Does nothing for a null mapping. `mapping` is page-aligned.
  ResidencyGuard(const void* mapping, std::size_t size);
  ResidencyGuard(const ResidencyGuard&) = delete;
  ResidencyGuard& operator=(const ResidencyGuard&) = delete;
  ~ResidencyGuard();  // gives back a last time

 private:
  void Release() const noexcept;

  void* mapping_;
  std::size_t size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace mconnect

#endif  // MCONNECT_ENGINE_OPENVINO_RESIDENCY_H_
