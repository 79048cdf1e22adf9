// The instruments of a bench: how a visit's calls are queued and what their times are read from.

#include <algorithm>
#include <chrono>
#include <cmath>

#include "worker/device/cuda/gpu_bench.h"

namespace pawl {
namespace {

constexpr double kGraphUs = 5'000;  // of one replay, about
constexpr std::uint32_t kMostGraphCalls = 4'096;
constexpr std::uint32_t kReplays = 4;   // at least
constexpr double kSettledShare = 0.01;  // two looks at the clock agree within this
constexpr double kLookNs = 1e6;         // of a look, at least
constexpr std::chrono::milliseconds kMostSettling(15);
constexpr std::uint32_t kMostEvents = 2'048;  // pairs that are queued before the first is read

}  // namespace

DriverStatus GpuBench::Events(std::size_t count) {
  while (events_.size() < count) {
    CuEvent event = nullptr;
    PAWL_PASS(gpu_.driver().EventCreate(&event, kCuEventDefault));
    events_.push_back(event);
  }
  return {};
}

DriverStatus GpuBench::Settle(const GpuArm& arm) {
  const auto start = std::chrono::steady_clock::now();
  PAWL_PASS(LoadInputs(*sets_.timed.front()));
  double before = 0;
  std::uint32_t calls = 1;
  while (std::chrono::steady_clock::now() - start < kMostSettling) {
    PAWL_PASS(tools_.ClearStamps());
    PAWL_PASS(tools_.Stamp(0));
    for (std::uint32_t i = 0; i < calls; ++i) PAWL_PASS(CallNext(arm));
    PAWL_PASS(tools_.Stamp(1));
    const GpuTools::Clock clock = tools_.StampedMhz();
    PAWL_PASS(clock.status);
    if (clock.mhz <= 0) return {};
    // The next look takes as long again, or twice that: it is not begun where the time is over
    // first.
    const bool longer = clock.ns < kLookNs && calls < kMostGraphCalls;
    const std::chrono::duration<double, std::nano> next((longer ? 2 : 1) * clock.ns);
    if (std::chrono::steady_clock::now() - start + next > kMostSettling) return {};
    if (longer) {
      calls *= 2;
    } else if (std::fabs(clock.mhz - before) <= kSettledShare * clock.mhz) {
      return {};
    }
    before = clock.mhz;
  }
  return {};
}

GpuVisit GpuBench::Run(const GpuArm& arm, std::uint32_t input_set, Instrument instrument,
                       Cupti* cupti, std::uint32_t& calls, bool bracket) {
  GpuVisit visit;
  const auto timed = [&]() -> DriverStatus {
    switch (instrument) {
      case Instrument::kGraphTime:
        return GraphTime(arm, input_set, calls, visit);
      case Instrument::kKernelTime:
        CHECK(cupti != nullptr);
        return KernelTime(arm, input_set, *cupti, visit);
      default:
        return EventSpan(arm, input_set, visit);
    }
  };
  const auto run = [&]() -> DriverStatus {
    PAWL_PASS(LoadInputs(*sets_.timed[input_set]));
    PAWL_PASS(PoisonOutputs(false));
    PAWL_PASS(tools_.ClearStamps());
    for (std::uint32_t i = 0; i < timing_.warmup; ++i) PAWL_PASS(CallNext(arm));
    if (!bracket) return timed();
    if (instrument == Instrument::kGraphTime) PAWL_PASS(FindCalls(arm, calls));
    PAWL_PASS(gpu_.Synchronize());
    PAWL_PASS(gpu_.driver().ProfilerStart());
    const DriverStatus status = timed();
    const DriverStatus stopped = gpu_.driver().ProfilerStop();
    return status ? stopped : status;
  };
  visit.status = run();
  if (!visit.status || !visit.problem.empty()) return visit;
  const GpuTools::Clock clock = tools_.StampedMhz();
  visit.status = clock.status;
  visit.clock_mhz = clock.mhz;
  if (visit.status) visit.check = Verify(arm, *written_);
  if (visit.status) visit.status = visit.check.status;
  return visit;
}

// A pair of events around each call; all are queued ahead, so that the GPU does not wait for us.
DriverStatus GpuBench::EventSpan(const GpuArm& arm, std::uint32_t input_set, GpuVisit& visit) {
  const Driver& driver = gpu_.driver();
  PAWL_PASS(Events(2 * std::min(timing_.iterations, kMostEvents)));
  PAWL_PASS(tools_.Stamp(0));
  std::uint32_t queued = 0;
  const auto read = [&]() -> DriverStatus {
    PAWL_PASS(gpu_.Synchronize());
    for (std::uint32_t i = 0; i < queued; ++i) {
      float ms = 0;
      PAWL_PASS(driver.EventElapsed(&ms, events_[2 * i], events_[2 * i + 1]));
      visit.us.push_back(static_cast<double>(ms) * 1e3);
    }
    queued = 0;
    return {};
  };
  for (std::uint32_t i = 0; i < timing_.iterations; ++i) {
    const bool last = i + 1 == timing_.iterations;
    if (last) PAWL_PASS(BeforeLast(input_set));
    Copy& copy = NextCopy();
    if (!last) PAWL_PASS(ChangeInputs(copy));
    PAWL_PASS(driver.EventRecord(events_[2 * queued], gpu_.stream()));
    PAWL_PASS(CallOn(arm, copy));
    PAWL_PASS(driver.EventRecord(events_[2 * queued + 1], gpu_.stream()));
    if (++queued == kMostEvents && !last) PAWL_PASS(read());
  }
  PAWL_PASS(tools_.Stamp(1));
  return read();
}

// How many calls make a graph of about kGraphUs, a whole number of turns through the copies.
DriverStatus GpuBench::FindCalls(const GpuArm& arm, std::uint32_t& calls) {
  if (calls > 0) return {};
  const Driver& driver = gpu_.driver();
  PAWL_PASS(Events(2));
  double us = 0;
  std::uint32_t tried = 2;
  for (;; tried = std::min(tried * 8, kMostGraphCalls)) {
    PAWL_PASS(driver.EventRecord(events_[0], gpu_.stream()));
    for (std::uint32_t i = 0; i < tried; ++i) PAWL_PASS(CallOn(arm, NextCopy()));
    PAWL_PASS(driver.EventRecord(events_[1], gpu_.stream()));
    PAWL_PASS(gpu_.Synchronize());
    float ms = 0;
    PAWL_PASS(driver.EventElapsed(&ms, events_[0], events_[1]));
    us = static_cast<double>(ms) * 1e3 / tried;
    if (us * tried >= kGraphUs / 8 || tried == kMostGraphCalls) break;
  }
  const auto copies = static_cast<double>(copies_.size());
  const double wanted = std::clamp(kGraphUs / std::max(us, 1e-3), 1.0, 1.0 * kMostGraphCalls);
  calls = static_cast<std::uint32_t>(std::max(1.0, std::round(wanted / copies)) * copies);
  return {};
}

DriverStatus GpuBench::GraphTime(const GpuArm& arm, std::uint32_t input_set, std::uint32_t& calls,
                                 GpuVisit& visit) {
  const Driver& driver = gpu_.driver();
  PAWL_PASS(FindCalls(arm, calls));

  // Destroyed on every way out.
  struct Made {
    const Driver& driver;
    CuGraph graph = nullptr;
    CuGraphExec ready = nullptr;
    ~Made() {
      if (ready != nullptr) static_cast<void>(driver.GraphExecDestroy(ready).code);
      if (graph != nullptr) static_cast<void>(driver.GraphDestroy(graph).code);
    }
  } made{driver};
  next_copy_ = 0;
  PAWL_PASS(driver.StreamBeginCapture(gpu_.stream(), kCuCaptureThreadLocal));
  DriverStatus queued;
  for (std::uint32_t i = 0; i < calls && queued; ++i) queued = CallOn(arm, NextCopy());
  const DriverStatus ended = driver.StreamEndCapture(gpu_.stream(), &made.graph);
  PAWL_PASS(queued);
  PAWL_PASS(ended);
  PAWL_PASS(driver.GraphInstantiate(&made.ready, made.graph, 0));
  PAWL_PASS(driver.GraphUpload(made.ready, gpu_.stream()));

  const std::uint32_t replays = std::max(kReplays, (timing_.iterations + calls - 1) / calls);
  PAWL_PASS(Events(2 * replays));
  for (std::uint32_t done = 0; done < std::max(timing_.warmup, 1u); done += calls) {
    PAWL_PASS(driver.GraphLaunch(made.ready, gpu_.stream()));
  }
  PAWL_PASS(tools_.Stamp(0));
  for (std::uint32_t i = 0; i < replays; ++i) {
    if (i + 1 == replays) {
      PAWL_PASS(BeforeLast(input_set));
    } else {
      for (Copy& copy : copies_) PAWL_PASS(ChangeInputs(copy));
    }
    PAWL_PASS(driver.EventRecord(events_[2 * i], gpu_.stream()));
    PAWL_PASS(driver.GraphLaunch(made.ready, gpu_.stream()));
    PAWL_PASS(driver.EventRecord(events_[2 * i + 1], gpu_.stream()));
  }
  PAWL_PASS(tools_.Stamp(1));
  PAWL_PASS(gpu_.Synchronize());
  for (std::uint32_t i = 0; i < replays; ++i) {
    float ms = 0;
    PAWL_PASS(driver.EventElapsed(&ms, events_[2 * i], events_[2 * i + 1]));
    visit.us.push_back(static_cast<double>(ms) * 1e3 / calls);
  }
  return {};
}

// CUPTI's records of the calls alone, in a pass that nothing else is queued in; the last, checked
// call comes after it.
DriverStatus GpuBench::KernelTime(const GpuArm& arm, std::uint32_t input_set, Cupti& cupti,
                                  GpuVisit& visit) {
  PAWL_PASS(tools_.Stamp(0));
  PAWL_PASS(gpu_.Synchronize());
  if (Status started = cupti.Start(); !started) {
    visit.problem = started.error().message;
    return {};
  }
  DriverStatus queued;
  for (std::uint32_t i = 0; i < timing_.iterations && queued; ++i) queued = CallOn(arm, NextCopy());
  if (queued) queued = gpu_.Synchronize();
  Result<Trace> trace = cupti.Stop();
  PAWL_PASS(queued);
  PAWL_PASS(tools_.Stamp(1));
  if (!trace) {
    visit.problem = trace.error().message;
    return {};
  }
  const std::size_t launches = arm.arm().launches.size();
  const std::size_t wanted = launches * timing_.iterations;
  if (trace->dropped > 0 || trace->unclear > 0 || trace->activities.size() != wanted) {
    visit.problem = "CUPTI: " + std::to_string(trace->activities.size()) + " records where " +
                    std::to_string(wanted) + " were wanted, " + std::to_string(trace->dropped) +
                    " dropped, " + std::to_string(trace->unclear) + " without a time";
    return {};
  }
  for (std::uint32_t i = 0; i < timing_.iterations; ++i) {
    std::uint64_t ns = 0;
    for (std::size_t k = 0; k < launches; ++k) {
      const Activity& activity = trace->activities[i * launches + k];
      ns += activity.end_ns - activity.start_ns;
    }
    visit.us.push_back(static_cast<double>(ns) / 1e3);
  }
  PAWL_PASS(BeforeLast(input_set));
  return CallOn(arm, NextCopy());
}

}  // namespace pawl
