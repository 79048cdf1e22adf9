#include "worker/device/cuda/gpu_watch.h"

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace pawl {
namespace {

constexpr std::chrono::milliseconds kPause(20);

}  // namespace

GpuWatch::GpuWatch(const Nvml& nvml, Nvml::Handle gpu, const std::vector<int>& cores)
    : nvml_(nvml), gpu_(gpu), thread_([this, cores] { Work(cores); }) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return looked_; });
}

GpuWatch::~GpuWatch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

DeviceConditions GpuWatch::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  DeviceConditions seen = last_;
  seen.clock_reasons |= std::exchange(reasons_, 0);
  return seen;
}

DeviceConditions GpuWatch::TakeFresh() {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::uint64_t look = begun_ + 1;
    wanted_ = look;
    changed_.notify_all();
    changed_.wait(lock, [&] { return finished_ >= look; });
  }
  return Take();
}

std::vector<std::uint32_t> GpuWatch::others() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return others_;
}

void GpuWatch::Work(const std::vector<int>& cores) {
  if (!cores.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores) CPU_SET(core, &set);
    ::sched_setaffinity(0, sizeof set, &set);
  }
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closing_) {
    ++begun_;
    lock.unlock();
    const DeviceConditions seen = nvml_.Read(gpu_);
    std::vector<std::uint32_t> others =
        nvml_.ForeignProcesses(gpu_, static_cast<std::uint32_t>(::getpid()));
    lock.lock();
    last_ = seen;
    reasons_ |= seen.clock_reasons;
    others_ = std::move(others);
    looked_ = true;
    finished_ = begun_;
    changed_.notify_all();
    changed_.wait_for(lock, kPause, [this] { return closing_ || wanted_ > begun_; });
  }
}

}  // namespace pawl
