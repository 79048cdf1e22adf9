#pragma once
// The bench of one problem on a GPU: guarded buffers that every arm is called on, at the same
// addresses. It checks calls, or times a visit and checks what its last call left. Knows no report
// and no verdict.
//
// What a kernel cannot get away with:
// - leaving an output unwritten, or returning an earlier one: outputs hold NaN, or finite values
//   every one of which is wrong, before checked calls and before a visit's last; it cannot tell
//   which of the two;
// - skipping its work where its output is still its own: before the last call on the first timed
// set
//   outputs are the call before's with one element in 128 spoilt, and the inputs are the sibling's,
//   of which they would be wrong;
// - keeping answers by its inputs: between timed calls one element of every input takes another
//   value of its array, and the last call on the first timed set sees its sibling;
// - changing its inputs: they are compared with the originals after every check and visit;
// - writing outside its outputs: guards on both sides of every buffer and scratch.
//
// A failure of the driver is given back as its status: whose fault it is, the caller knows.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schema/order.h"
#include "schema/result.h"
#include "worker/device/cuda/cupti.h"
#include "worker/device/cuda/gpu.h"
#include "worker/device/cuda/gpu_arm.h"
#include "worker/device/cuda/gpu_input_sets.h"
#include "worker/device/cuda/gpu_tools.h"

namespace pawl {

struct GpuCheck {
  DriverStatus status;
  bool passed = true;
  std::uint64_t elements = 0;
  std::uint64_t wrong = 0;
  double max_abs_error = 0;
  std::string detail;  // of the first thing that is wrong
};

struct GpuVisit {
  DriverStatus status;
  std::string problem;     // of the instrument: the visit says nothing (status is a success)
  std::vector<double> us;  // for one call
  double clock_mhz = 0;    // mean over the visit; 0: not readable
  GpuCheck check;
};

class GpuBench {
 public:
  // What a bench depends on: orders that give the same may share one.
  static Digest KeyOf(const Order& order);

  // With timing.cold_cache all buffers rotate, call by call, over copies that together exceed three
  // times the level-2 cache (at most 256 copies and half of what is free). Errors: no memory.
  static Result<std::unique_ptr<GpuBench>> Make(const Gpu& gpu, GpuTools& tools,
                                                const Order& order);

  GpuBench(const GpuBench&) = delete;
  GpuBench& operator=(const GpuBench&) = delete;
  ~GpuBench();

  // The sets and limits of the order at hand; buffers stay.
  void Use(GpuOrderSets sets, const Order& order);
  const GpuOrderSets& sets() const { return sets_; }

  // Two calls on the contents of one of sets(), over NaN and over wrong finite outputs, each
  // compared whole.
  GpuCheck Check(const GpuArm& arm, const GpuInputSet& set);

  // Calls of an arm until the clock holds still, 15 ms at most unless one call is longer: a GPU
  // that has waited for a build runs slowly at first.
  DriverStatus Settle(const GpuArm& arm);

  // Warm-up, then timed calls as the instrument wants them. `cupti`: for kernel_time, else null.
  // `calls`: of a graph, found at an arm's first visit; 0 then. `bracket`: the profiler's start and
  // stop calls round what comes after the warm-up.
  GpuVisit Run(const GpuArm& arm, std::uint32_t input_set, Instrument instrument, Cupti* cupti,
               std::uint32_t& calls, bool bracket);

 private:
  struct Copy {
    std::vector<GuardedGpuMemory> arrays;  // by buffer
    std::vector<CuAddress> addresses;
    std::vector<std::uint64_t> changed;  // by buffer: the element that holds another value
  };

  GpuBench(const Gpu& gpu, GpuTools& tools, const Order& order);

  DriverStatus LoadInputs(const GpuInputSet& set);
  DriverStatus PoisonOutputs(bool plausible);
  DriverStatus SpoilOutputs();
  DriverStatus ChangeInputs(Copy& copy);
  DriverStatus RestoreInputs();
  template <typename Choose>
  DriverStatus NudgeInputs(Copy& copy, const Choose& choose);
  DriverStatus CallOn(const GpuArm& arm, const Copy& copy) const;
  DriverStatus CallNext(const GpuArm& arm);  // on the next copy, its inputs changed before
  Copy& NextCopy();
  // Ready for a visit's last, checked call: other inputs, outputs that hold nothing right.
  DriverStatus BeforeLast(std::uint32_t input_set);
  GpuCheck Verify(const GpuArm& arm, const Copy& written);
  void Explain(const GpuArm& arm, const Copy& written, GpuCheck& check);

  DriverStatus EventSpan(const GpuArm& arm, std::uint32_t input_set, GpuVisit& visit);
  DriverStatus GraphTime(const GpuArm& arm, std::uint32_t input_set, std::uint32_t& calls,
                         GpuVisit& visit);
  DriverStatus KernelTime(const GpuArm& arm, std::uint32_t input_set, Cupti& cupti,
                          GpuVisit& visit);
  DriverStatus Events(std::size_t count);
  DriverStatus FindCalls(const GpuArm& arm, std::uint32_t& calls);

  const Gpu& gpu_;
  GpuTools& tools_;
  const std::vector<Buffer> buffers_;
  std::vector<std::size_t> buffer_bytes_;
  std::vector<std::int64_t> scalars_;
  std::vector<Copy> copies_;
  std::vector<CuEvent> events_;
  CheckPlan plan_;
  Timing timing_;
  GpuOrderSets sets_;
  std::shared_ptr<const GpuInputSet> loaded_;  // whose contents the inputs hold
  std::size_t next_copy_ = 0;
  const Copy* written_ = nullptr;  // by the last call
  std::uint64_t changes_ = 0;
  std::uint64_t poisons_ = 0;
};

}  // namespace pawl
