#pragma once
// Looks at a GPU through NVML from a thread of its own, many times a second: a look takes
// milliseconds, which a visit must not wait for.

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "schema/report.h"
#include "worker/device/cuda/nvml.h"

namespace pawl {

class GpuWatch {
 public:
  // `cores`: of the thread, so that it keeps off the one that measures; empty: any. Returns after
  // the first look.
  GpuWatch(const Nvml& nvml, Nvml::Handle gpu, const std::vector<int>& cores);
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;
  ~GpuWatch();

  // What the last look saw, with the clock reasons of all looks since the call before.
  DeviceConditions Take();
  // The same after a look that begins now: what has just been measured is in it.
  DeviceConditions TakeFresh();
  std::vector<std::uint32_t> others() const;  // processes that compute on it beside this one

 private:
  void Work(const std::vector<int>& cores);

  const Nvml& nvml_;
  const Nvml::Handle gpu_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  DeviceConditions last_;
  std::uint64_t reasons_ = 0;  // since the last Take
  std::vector<std::uint32_t> others_;
  bool looked_ = false;
  std::uint64_t begun_ = 0;  // looks
  std::uint64_t finished_ = 0;
  std::uint64_t wanted_ = 0;  // the look that somebody waits for
  bool closing_ = false;
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace pawl
