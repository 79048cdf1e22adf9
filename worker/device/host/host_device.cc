#include "worker/device/host/host_device.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <new>
#include <optional>

#include "worker/device/host/ahead.h"
#include "worker/device/host/bench.h"
#include "worker/device/host/compiler.h"
#include "worker/device/host/input_sets.h"
#include "worker/device/host/machine.h"
#include "worker/device/host/module.h"
#include "worker/device/host/thunk.h"
#include "worker/device/median.h"
#include "worker/device/order_rules.h"
#include "worker/device/stopwatch.h"
#include "worker/object_cache.h"

namespace pawl {
namespace {

Unit UnitOf(const SourceText& source, const std::vector<Launch>& launches,
            const std::vector<Buffer>& buffers, const std::vector<Scalar>& scalars,
            const std::vector<std::string>& options) {
  Unit unit;
  unit.text = KernelUnit(source, launches, buffers, scalars);
  unit.flags.assign(std::begin(kKernelFlags), std::end(kKernelFlags));
  unit.options = options;
  unit.options.insert(unit.options.end(), source.build_options.begin(), source.build_options.end());
  return unit;
}

// What a check's outcome depends on, beside the object.
Digest CheckKey(const Order& order) {
  Hasher hasher;
  hasher.Field("host check 2");
  AddCheck(order, hasher);
  return hasher.Finish();
}

Status Validate(const Order& order) {
  if (Status valid = ValidateArms(order, "host", "host"); !valid) return valid;
  if (Status valid = ValidateTiming(order, "host", {Instrument::kCpuTime, Instrument::kWallTime});
      !valid) {
    return valid;
  }
  for (const Arm& arm : order.arms) {
    const bool only_calls =
        std::all_of(arm.launches.begin(), arm.launches.end(),
                    [](const Launch& launch) { return launch.kind == LaunchKind::kKernel; });
    if (!arm.scratch.empty() || !only_calls) {
      return Error{
          "host: arm " + arm.label +
              (only_calls ? " wants scratch memory" : " has a launch that is no call of a kernel"),
          Advice::kReject};
    }
  }
  return {};
}

// For its buffers' copies, its input sets and their references.
std::uint64_t MemoryFor(const Order& order, std::uint64_t cache_bytes) {
  std::uint64_t buffers = 0, set = 0;
  for (const Buffer& buffer : order.buffers) {
    const auto elements = static_cast<std::uint64_t>(buffer.Elements());
    buffers += elements * SizeOf(buffer.dtype);
    set += elements * (buffer.role == BufferRole::kInput ? SizeOf(buffer.dtype) : sizeof(double));
  }
  const std::uint64_t sets = order.input_seeds.size() + 2;  // the hidden one and the sibling
  return Bench::CopiesOf(order, cache_bytes) * buffers + sets * set;
}

// What an order needs of one arm to call it.
struct LoadedArm {
  Built built;
  std::unique_ptr<Module> module;
  KernelCall call = nullptr;
};

class HostDevice final : public Device {
 public:
  HostDevice(DeviceOptions options, Machine machine, DeviceFacts facts,
             std::unique_ptr<ObjectCache> cache, std::unique_ptr<Compiler> compiler)
      : options_(std::move(options)),
        machine_(std::move(machine)),
        facts_(std::move(facts)),
        cache_(std::move(cache)),
        compiler_(std::move(compiler)),
        sets_(*compiler_, *cache_, options_.scratch, machine_.usable_cores),
        ahead_(*compiler_) {}

  DeviceFacts Facts() const override { return facts_; }
  Result<Execution> Execute(const Order& order, const Progress& progress) override;

  void Prepare(const pawl::Prepare& hint) override {
    if (hint.backend != "host" || hint.launches.size() != hint.sources.size()) return;
    std::vector<Unit> units;
    for (std::size_t i = 0; i < hint.sources.size(); ++i) {
      units.push_back(UnitOf(hint.sources[i], {hint.launches[i]}, hint.buffers, hint.scalars,
                             hint.build_options));
    }
    ahead_.Queue(std::move(units));
  }

 private:
  // Each gives false when the order is answered: an arm has failed, and execution.report.outcome
  // says how.
  Result<std::unique_ptr<Bench>> MakeBench(const Order& order, const Progress& progress);
  Result<bool> Build(const Order& order, const Progress& progress, Execution& execution,
                     std::vector<LoadedArm>& arms);
  Result<bool> Load(const Order& order, const Progress& progress, Execution& execution,
                    std::vector<LoadedArm>& arms);
  bool Check(const Order& order, const Progress& progress, Execution& execution,
             const std::vector<LoadedArm>& arms, Bench& bench);
  bool Rounds(const Order& order, const Progress& progress, Execution& execution,
              const std::vector<LoadedArm>& arms, Bench& bench);

  const DeviceOptions options_;
  const Machine machine_;
  const DeviceFacts facts_;
  const std::unique_ptr<ObjectCache> cache_;
  const std::unique_ptr<Compiler> compiler_;
  InputSets sets_;
  BuildAhead ahead_;
  std::map<std::pair<Digest, Digest>, CheckFacts> passed_;  // by (object, CheckKey)
};

// References come first, on behalf of the control: what they take is no candidate's fault.
Result<std::unique_ptr<Bench>> HostDevice::MakeBench(const Order& order, const Progress& progress) {
  const std::uint64_t bytes = MemoryFor(order, machine_.cache_bytes);
  const std::uint64_t allowed =
      options_.memory_bytes > 0 ? options_.memory_bytes : RunnerMemory(machine_);
  if (bytes > allowed) return TooLarge("host", order, bytes, allowed);
  const ArmRole control = order.arms.empty() ? ArmRole::kCommitted : order.arms.front().role;
  progress(Stage::kCheck, control);
  try {
    Result<OrderSets> sets = sets_.Of(order, [&] { progress(Stage::kCheck, control); });
    if (!sets) return sets.error();
    return Bench::Make(order, std::move(*sets), machine_.cache_bytes);
  } catch (const std::bad_alloc&) {
    return TooLarge("host", order, bytes,
                    allowed);  // something else has a part of what it may take
  }
}

Result<Execution> HostDevice::Execute(const Order& order, const Progress& progress) {
  if (Status valid = Validate(order); !valid) return valid.error();
  Execution execution;
  execution.report.toolchain = facts_.toolchain;
  std::vector<LoadedArm> arms(order.arms.size());
  Stopwatch watch;
  Result<bool> go_on = Build(order, progress, execution, arms);
  execution.report.build_seconds = watch.Lap();
  if (!go_on) return go_on.error();
  if (!*go_on) return execution;

  Result<std::unique_ptr<Bench>> bench = MakeBench(order, progress);
  if (!bench) return bench.error();
  go_on = Load(order, progress, execution, arms);
  if (!go_on) return go_on.error();
  bool measured = *go_on && Check(order, progress, execution, arms, **bench);
  execution.report.check_seconds = watch.Lap();
  if (measured) {
    ahead_.Stop();
    measured = Rounds(order, progress, execution, arms, **bench);
    ahead_.Continue();
    execution.report.run_seconds = watch.Lap();
  }
  // A wrong arm's time is never judged.
  if (!measured) execution.report.rounds.clear();
  for (std::size_t i = 0; i < arms.size(); ++i) {
    progress(measured ? Stage::kRun : Stage::kCheck, order.arms[i].role);  // destructors may crash
    arms[i].module.reset();
  }
  return execution;
}

Result<bool> HostDevice::Build(const Order& order, const Progress& progress, Execution& execution,
                               std::vector<LoadedArm>& arms) {
  std::map<Digest, std::size_t> built_by;  // unit key -> the first arm that has it
  for (std::size_t i = 0; i < order.arms.size(); ++i) {
    const Arm& arm = order.arms[i];
    const SourceText& source = order.sources[*arm.source];
    progress(Stage::kBuild, arm.role);
    const Unit unit =
        UnitOf(source, arm.launches, order.buffers, order.scalars, order.build_options);
    const Digest key = compiler_->KeyOf(unit);
    const auto [same, is_new] = built_by.emplace(key, i);
    if (is_new) {
      ahead_.Yield(key);
      Result<Built> built = compiler_->Build(unit);
      if (!built) return built.error();
      arms[i].built = std::move(*built);
    } else {
      arms[i].built = arms[same->second].built;
      arms[i].built.seconds = 0;
    }
    const Built& built = arms[i].built;
    BuildFacts facts;
    facts.arm = arm.role;
    facts.source = source.digest;
    facts.object = built.digest;
    facts.compiler = compiler_->version();
    facts.log = built.log;
    facts.cached = built.cached;
    facts.seconds = built.seconds;
    execution.report.builds.push_back(std::move(facts));
    if (!built.ok) {
      execution.report.outcome = {OutcomeKind::kBuildFailed, arm.role, built.problem};
      return false;
    }
  }
  return true;
}

Result<bool> HostDevice::Load(const Order& order, const Progress& progress, Execution& execution,
                              std::vector<LoadedArm>& arms) {
  for (std::size_t i = 0; i < order.arms.size(); ++i) {
    progress(Stage::kCheck, order.arms[i].role);  // its constructors may crash
    Result<std::unique_ptr<Module>> module = Module::Load(arms[i].built.object, options_.scratch);
    if (!module && module.error().advice == Advice::kRetry) return module.error();
    Result<void*> symbol = module ? (*module)->Find(kCallSymbol) : Result<void*>(module.error());
    if (!symbol) {
      execution.report.outcome = {OutcomeKind::kLaunchFailed, order.arms[i].role,
                                  symbol.error().message};
      return false;
    }
    arms[i].module = std::move(*module);
    arms[i].call = reinterpret_cast<KernelCall>(*symbol);
  }
  return true;
}

bool HostDevice::Check(const Order& order, const Progress& progress, Execution& execution,
                       const std::vector<LoadedArm>& arms, Bench& bench) {
  const Digest check_key = CheckKey(order);
  std::vector<std::pair<const InputSet*, OutputsBefore>> calls;
  for (const auto& set : bench.sets().timed) calls.emplace_back(set.get(), OutputsBefore::kNaN);
  const InputSet* const hidden = bench.sets().hidden.get();
  calls.emplace_back(hidden, OutputsBefore::kNaN);
  calls.emplace_back(hidden, OutputsBefore::kNumbers);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const ArmRole role = order.arms[i].role;
    const std::pair<Digest, Digest> key(arms[i].built.digest, check_key);
    const auto earlier = passed_.find(key);
    if (role != ArmRole::kCandidate && earlier != passed_.end()) {
      execution.report.checks.push_back(earlier->second);
      execution.report.checks.back().arm = role;
      continue;
    }
    CheckFacts facts;
    facts.arm = role;
    facts.passed = true;
    for (const auto& [set, before] : calls) {
      progress(Stage::kCheck, role);
      const CallCheck check = bench.Check(arms[i].call, *set, before);
      facts.passed = check.passed;
      facts.elements += check.elements;
      facts.wrong += check.wrong;
      facts.max_abs_error = std::max(facts.max_abs_error, check.max_abs_error);
      if (check.passed) continue;
      facts.detail = check.detail;
      if (before == OutputsBefore::kNumbers) {
        facts.detail += " (called again, over wrong numbers in its outputs)";
      } else if (set == hidden) {
        facts.detail += " (on the hidden input set)";
      }
      break;
    }
    execution.report.checks.push_back(facts);
    if (!facts.passed) {
      execution.report.outcome = {OutcomeKind::kWrongOutput, role, facts.detail};
      return false;
    }
    passed_[key] = facts;
  }
  return true;
}

bool HostDevice::Rounds(const Order& order, const Progress& progress, Execution& execution,
                        const std::vector<LoadedArm>& arms, Bench& bench) {
  for (std::uint32_t round = 0; round < order.rounds.size(); ++round) {
    const RoundPlan& plan = order.rounds[round];
    RoundMedians medians;
    for (const VisitPlan& planned : plan.visits) {
      const ArmRole role = order.arms[planned.arm].role;
      progress(Stage::kRun, role);
      Visit visit = bench.Run(arms[planned.arm].call, planned.arm, planned.input_set);
      CheckFacts& facts = execution.report.checks[planned.arm];
      facts.elements += visit.check.elements;
      facts.wrong += visit.check.wrong;
      facts.max_abs_error = std::max(facts.max_abs_error, visit.check.max_abs_error);
      if (!visit.quiet && execution.notes.empty()) {
        execution.notes.push_back("event=not_quiet arm=" + std::string(Name(role)) +
                                  " round=" + std::to_string(round + 1) +
                                  " why=\"threads of an earlier kernel still ran after 100 ms\"");
      }
      medians.visits.push_back({planned.arm, planned.input_set, Median(visit.us), visit.clock_mhz});
      execution.samples.push_back(
          {round, plan.recorded, role, planned.input_set, visit.clock_mhz, std::move(visit.us)});
      if (visit.check.passed) continue;
      facts.passed = false;
      facts.detail = visit.check.detail + " (after the last timed iteration of a visit, round " +
                     std::to_string(round + 1) + ")";
      execution.report.outcome = {OutcomeKind::kWrongOutput, role, facts.detail};
      return false;
    }
    if (plan.recorded) execution.report.rounds.push_back(std::move(medians));
  }
  return true;
}

DeviceFacts FactsOf(const Machine& machine, const Compiler& compiler) {
  DeviceFacts facts;
  facts.kind = "host";
  facts.model = machine.cpu + " (" + std::to_string(machine.usable_cores) +
                (machine.usable_cores == 1 ? " core)" : " cores)");
  facts.toolchain = compiler.version();
  for (const char* flag : kKernelFlags) facts.toolchain += std::string(" ") + flag;
  facts.backend = "host";
  facts.instruments = {Instrument::kCpuTime, Instrument::kWallTime};
  facts.cores = machine.usable_cores;
  return facts;
}

struct Peaks {
  double gflops = 0;
  double gbytes_per_s = 0;
};

// Measured once a machine: two doubles in the cache, by all that they depend on.
Peaks PeaksOf(const Machine& machine, ObjectCache& cache) {
  Hasher hasher;
  hasher.Field("host peaks 2").Field(machine.cpu).Field(machine.instructions);
  for (const int core : machine.cores) hasher.Field(std::to_string(core));
  const Digest key = hasher.Finish();
  Peaks peaks;
  if (const std::optional<std::string> known = cache.Get(key);
      known && known->size() == sizeof peaks) {
    std::memcpy(&peaks, known->data(), sizeof peaks);
    return peaks;
  }
  peaks = {MeasurePeakGflops(machine), MeasurePeakGbytesPerSecond(machine)};
  static_cast<void>(
      cache.Put(key, {reinterpret_cast<const char*>(&peaks), sizeof peaks}).has_value());
  return peaks;
}

void SetAffinity(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

// What a runner that was killed has left in its folder: builds and objects on their way.
void ClearScratch(const std::string& scratch) {
  std::error_code failed;
  std::vector<std::filesystem::path> left;
  for (std::filesystem::directory_iterator it(scratch, failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (name.rfind("build.", 0) == 0 || name.rfind("load.", 0) == 0) left.push_back(it->path());
  }
  for (const std::filesystem::path& path : left) std::filesystem::remove_all(path, failed);
}

}  // namespace

Result<std::unique_ptr<Device>> OpenHost(const DeviceOptions& options) {
  SetAffinity(options.cores);
  Machine machine = ReadMachine(options.cores);
  if (machine.cores.empty()) {
    std::string wanted;
    for (const int core : options.cores)
      wanted += (wanted.empty() ? "" : ",") + std::to_string(core);
    return Error{"host: none of the cores " + wanted + " may be used by this process",
                 Advice::kReject};
  }
  ClearScratch(options.scratch);
  Result<std::unique_ptr<ObjectCache>> cache =
      ObjectCache::Open(options.cache, options.cache_bytes);
  if (!cache) return cache.error();
  Result<std::unique_ptr<Compiler>> compiler =
      Compiler::Open(options.scratch, **cache, machine.instructions);
  if (!compiler) return compiler.error();
  DeviceFacts facts = FactsOf(machine, **compiler);
  const Peaks peaks = options.measure_peaks ? PeaksOf(machine, **cache) : Peaks{};
  facts.peak_gflops = peaks.gflops;
  facts.peak_gbytes_per_s = peaks.gbytes_per_s;
  // OpenMP sizes its team when it is first loaded; a kernel that does not say how many gets what we
  // may use.
  ::setenv("OMP_NUM_THREADS", std::to_string(machine.usable_cores).c_str(), 1);
  return std::unique_ptr<Device>(std::make_unique<HostDevice>(
      options, std::move(machine), std::move(facts), std::move(*cache), std::move(*compiler)));
}

}  // namespace pawl
