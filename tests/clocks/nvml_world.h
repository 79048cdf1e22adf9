#pragma once
// Whole processes over the stand-in of NVML: what they have asked it for, what it holds now, and
// the leases beside it. Nothing here reaches a real GPU: PAWL_LIBNVML names the stand-in in every
// environment.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "schema/check.h"
#include "tests/e2e/pawl.h"
#include "worker/clocks/lease_folder.h"

namespace pawl::test {

inline constexpr int kPatienceMs = 60'000;
inline constexpr char kGpu0[] = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
inline constexpr char kGpu1[] = "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f";

class NvmlWorld : public ::testing::Test {
 protected:
  // `told`: to the stand-in, see tests/cuda/standin_nvml.cc.
  std::vector<std::string> Environment(const std::string& told = "") const {
    return {std::string("PAWL_LIBNVML=") + PAWL_STANDIN_NVML_LIBRARY,
            std::string("PAWL_LIBCUDA=") + PAWL_STANDIN_CUDA,
            std::string("PAWL_LIBNVRTC=") + PAWL_STANDIN_NVRTC,
            "PAWL_LIBCUPTI=/nonexistent",
            "PAWL_STANDIN_NVML=" + told,
            "PAWL_STANDIN_NVML_LOG=" + Log(),
            "PAWL_STANDIN_GPUS=2",
            "PAWL_CLOCK_LEASES=" + leases_.path(),
            "PAWL_KERNELS=" + Source("tests/data/packages")};
  }
  std::string Log() const { return folder_ / "nvml.log"; }

  // Every line that any process has written there, as "call what".
  std::vector<std::string> Calls() const {
    std::istringstream text(ReadFile(Log()));
    std::vector<std::string> calls;
    for (std::string line; std::getline(text, line);)
      calls.push_back(line.substr(line.find(' ') + 1));
    return calls;
  }
  std::size_t Count(const std::string& begin) const {
    const std::vector<std::string> calls = Calls();
    return static_cast<std::size_t>(
        std::count_if(calls.begin(), calls.end(),
                      [&](const std::string& call) { return call.rfind(begin, 0) == 0; }));
  }
  // What a clock ("gpu", "memory") is locked at; 0: it is not.
  unsigned Locked(const std::string& gpu, const std::string& which = "gpu") const {
    unsigned locked = 0;
    for (const std::string& call : Calls()) {
      std::istringstream words(call);
      std::string word, of, clock;
      unsigned mhz = 0;
      words >> word >> of >> clock >> mhz;
      if (of != gpu || clock != which) continue;
      if (word == "locked") locked = mhz;
      if (word == "reset") locked = 0;
    }
    return locked;
  }
  std::optional<ClockLease> Lease(const std::string& gpu = kGpu0) const {
    const auto lease = leases_.Read(gpu);
    return lease ? *lease : std::nullopt;
  }

  ::testing::AssertionResult ComesTo(const std::function<bool()>& state) const {
    if (WaitFor(state, kPatienceMs)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "it did not come to it; NVML was asked\n"
                                         << ReadFile(Log());
  }
  // Neither a lock nor a lease is left of the GPU.
  ::testing::AssertionResult ComesFree(const std::string& gpu = kGpu0) const {
    return ComesTo([&] { return Locked(gpu) == 0 && Locked(gpu, "memory") == 0 && !Lease(gpu); });
  }

  Finished ResetClocks(const std::string& told = "") const {
    return RunToEnd({Program("pawl-worker"), "--reset-clocks"}, kPatienceMs, Environment(told));
  }

  const TempFolder folder_;
  const LeaseFolder leases_{folder_ / "leases"};
};

}  // namespace pawl::test
