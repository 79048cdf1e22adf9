#include "worker/device/cuda/cuda_device.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "worker/device/cuda/builder.h"
#include "worker/device/cuda/core_share.h"
#include "worker/device/cuda/cuda_facts.h"
#include "worker/device/cuda/cupti.h"
#include "worker/device/cuda/driver.h"
#include "worker/device/cuda/gpu.h"
#include "worker/device/cuda/gpu_arm.h"
#include "worker/device/cuda/gpu_bench.h"
#include "worker/device/cuda/gpu_input_sets.h"
#include "worker/device/cuda/gpu_tools.h"
#include "worker/device/cuda/gpu_watch.h"
#include "worker/device/cuda/nvml.h"
#include "worker/device/cuda/order_rules.h"
#include "worker/device/cuda/source_text.h"
#include "worker/device/median.h"
#include "worker/device/stopwatch.h"
#include "worker/object_cache.h"

namespace pawl {
namespace {

constexpr std::size_t kMaxLogBytes = 4096;
// The highest of what visits have seen.
void Take(const DeviceConditions& seen, DeviceConditions& all) {
  all.clock_reasons |= seen.clock_reasons;
  all.memory_mhz = std::max(all.memory_mhz, seen.memory_mhz);
  all.temperature_c = std::max(all.temperature_c, seen.temperature_c);
  all.power_w = std::max(all.power_w, seen.power_w);
}

// What an order needs of one arm to call it.
struct LoadedArm {
  CudaUnit unit;
  CudaBuilt built;
  std::unique_ptr<GpuArm> arm;
  std::uint32_t graph_calls = 0;
  bool proven = false;  // a control that has passed its check on this GPU before: its health probe
};

class CudaDevice final : public Device {
 public:
  CudaDevice(std::unique_ptr<Driver> driver, std::unique_ptr<Gpu> gpu,
             std::unique_ptr<ObjectCache> cache, std::unique_ptr<Builder> builder,
             std::unique_ptr<GpuTools> tools, std::unique_ptr<Nvml> nvml, DeviceFacts facts,
             const std::vector<int>& watching_cores, bool bracket)
      : driver_(std::move(driver)),
        gpu_(std::move(gpu)),
        cache_(std::move(cache)),
        builder_(std::move(builder)),
        tools_(std::move(tools)),
        nvml_(std::move(nvml)),
        facts_(std::move(facts)),
        bracket_(bracket),
        sets_(*gpu_, *tools_, *builder_) {
    if (nvml_) handle_ = nvml_->Find(gpu_->properties().uuid);
    if (handle_ != nullptr) {
      watch_ = std::make_unique<GpuWatch>(*nvml_, handle_, watching_cores);
    }
  }

  DeviceFacts Facts() const override { return facts_; }
  Result<Execution> Execute(const Order& order, const Progress& progress) override;

  void Prepare(const pawl::Prepare& hint) override;

 private:
  // Each gives false when the order is answered: an arm has failed, and execution.report.outcome
  // says how.
  Result<bool> Build(const Order& order, const Progress& progress, Execution& execution,
                     std::vector<LoadedArm>& arms);
  Result<bool> Load(const Order& order, const Progress& progress, Execution& execution,
                    std::vector<LoadedArm>& arms);
  Result<bool> Check(const Order& order, const Progress& progress, Execution& execution,
                     std::vector<LoadedArm>& arms);
  Result<bool> Rounds(const Order& order, const Progress& progress, Execution& execution,
                      std::vector<LoadedArm>& arms);
  Outcome OutcomeOf(DriverStatus status, ArmRole role, const std::string& doing) const;
  void BlameGpu(Outcome& outcome) const;
  bool Believe(Execution& execution, const GpuCheck& check, std::size_t index, const LoadedArm& arm,
               ArmRole role, const std::string& when) const;
  void LookForOthers(Execution& execution);
  Result<bool> TakeCaptures(const Order& order, const Progress& progress, Execution& execution,
                            std::vector<LoadedArm>& arms);

  const std::unique_ptr<Driver> driver_;
  const std::unique_ptr<Gpu> gpu_;
  const std::unique_ptr<ObjectCache> cache_;
  const std::unique_ptr<Builder> builder_;
  const std::unique_ptr<GpuTools> tools_;
  const std::unique_ptr<Nvml> nvml_;  // null: not there
  Nvml::Handle handle_ = nullptr;
  std::unique_ptr<GpuWatch> watch_;  // null: nothing to read
  const DeviceFacts facts_;
  const bool bracket_;  // the timed calls, for a profiler
  GpuInputSets sets_;
  std::unique_ptr<Cupti> cupti_;  // opened when first wanted
  std::unique_ptr<GpuBench> bench_;
  Digest bench_key_;
  std::map<std::pair<Digest, Digest>, CheckFacts> passed_;  // by (object, CheckKey)
  // Of the last order, once there was one: a hint brings none.
  std::optional<std::vector<HeaderText>> headers_;
  std::optional<pawl::Prepare> early_hint_;  // came before the first order
  std::vector<std::uint32_t> told_others_;   // processes that the log knows of
};

void CudaDevice::Prepare(const pawl::Prepare& hint) {
  if (hint.backend != "cuda" || hint.launches.size() != hint.sources.size()) return;
  if (!headers_) {
    early_hint_ = hint;
    return;
  }
  std::vector<CudaUnit> units;
  for (std::size_t i = 0; i < hint.sources.size(); ++i) {
    units.push_back(KernelUnitFor(hint.sources[i], *headers_, {hint.launches[i]},
                                  hint.build_options, gpu_->properties().capability));
  }
  builder_->Hint(std::move(units));
}

Result<Execution> CudaDevice::Execute(const Order& order, const Progress& progress) {
  if (Status valid = ValidateCudaOrder(order, facts_.instruments); !valid) return valid.error();
  Execution execution;
  execution.report.toolchain = facts_.toolchain;
  std::vector<LoadedArm> arms(order.arms.size());
  headers_ = order.headers;
  if (early_hint_) Prepare(*std::exchange(early_hint_, std::nullopt));
  Stopwatch watch;
  Result<bool> go_on = Build(order, progress, execution, arms);
  execution.report.build_seconds = watch.Lap();
  if (!go_on) return go_on.error();
  if (!*go_on) return execution;

  // References come first, on behalf of the control: what they take is no candidate's fault.
  const ArmRole control = order.arms.empty() ? ArmRole::kCommitted : order.arms.front().role;
  progress(Stage::kCheck, control);
  Result<GpuOrderSets> sets = sets_.Of(order, [&] { progress(Stage::kCheck, control); });
  if (!sets) return sets.error();
  if (const Digest key = GpuBench::KeyOf(order); bench_ == nullptr || key != bench_key_) {
    bench_.reset();  // its memory is free before the next is made
    Result<std::unique_ptr<GpuBench>> bench = GpuBench::Make(*gpu_, *tools_, order);
    if (!bench) return bench.error();
    bench_ = std::move(*bench);
    bench_key_ = key;
  }
  bench_->Use(std::move(*sets), order);
  go_on = Load(order, progress, execution, arms);
  if (go_on && *go_on) go_on = Check(order, progress, execution, arms);
  execution.report.check_seconds = watch.Lap();
  if (go_on && *go_on && !order.rounds.empty()) {
    go_on = Rounds(order, progress, execution, arms);
    execution.report.run_seconds = watch.Lap();
    LookForOthers(execution);
    if (go_on && *go_on && WorthCapturing(order, execution.report, facts_.instruments)) {
      go_on = TakeCaptures(order, progress, execution, arms);
    }
  }
  if (!go_on) return go_on.error();
  if (*go_on) {
    if (std::optional<Outcome> moved = JudgeClocks(execution.report)) {
      execution.report.outcome = std::move(*moved);
    }
  }
  // A wrong arm's time is never judged.
  if (execution.report.outcome.kind != OutcomeKind::kMeasured) execution.report.rounds.clear();
  return execution;
}

Result<bool> CudaDevice::Build(const Order& order, const Progress& progress, Execution& execution,
                               std::vector<LoadedArm>& arms) {
  std::vector<CudaUnit> units;  // each once
  std::vector<std::size_t> unit_of(arms.size());
  for (std::size_t i = 0; i < order.arms.size(); ++i) {
    const Arm& arm = order.arms[i];
    arms[i].unit = KernelUnitFor(order.sources[*arm.source], order.headers, arm.launches,
                                 order.build_options, gpu_->properties().capability);
    const auto same = std::find(units.begin(), units.end(), arms[i].unit);
    unit_of[i] = static_cast<std::size_t>(same - units.begin());
    if (same == units.end()) units.push_back(arms[i].unit);
  }
  // One at a time where it is to be known whose deadline runs; the children build what comes next
  // meanwhile.
  builder_->Queue(units);
  std::vector<std::optional<CudaBuilt>> built(units.size());
  for (std::size_t i = 0; i < order.arms.size(); ++i) {
    const ArmRole role = order.arms[i].role;
    progress(Stage::kBuild, role);
    std::optional<CudaBuilt>& result = built[unit_of[i]];
    const bool again = result.has_value();
    if (!again) {
      Result<std::vector<CudaBuilt>> done = builder_->Build({units[unit_of[i]]});
      if (!done) return done.error();
      result = std::move(done->front());
    }
    arms[i].built = *result;
    const CudaObject& object = result->object;
    const ResourceUse use = ParseResourceUse(object.log);
    BuildFacts facts;
    facts.arm = role;
    facts.source = order.sources[*order.arms[i].source].digest;
    facts.object = result->digest;
    facts.compiler = "NVRTC " + builder_->version();
    facts.log = object.log.substr(0, kMaxLogBytes);
    facts.cached = result->cached;
    facts.seconds = again ? 0 : result->seconds;
    facts.registers = use.registers;
    facts.shared_bytes = use.shared_bytes;
    facts.spill_bytes = use.spill_bytes;
    execution.report.builds.push_back(std::move(facts));
    if (!object.ok) {
      execution.report.outcome = {OutcomeKind::kBuildFailed, role, object.problem};
      return false;
    }
  }
  return true;
}

// What failed has passed the same check on this GPU before: it is the GPU that has changed.
void CudaDevice::BlameGpu(Outcome& outcome) const {
  outcome.kind = OutcomeKind::kDeviceFault;
  outcome.arm.reset();
  outcome.detail =
      facts_.model + " (" + facts_.uuid +
      "): the committed kernel, which has passed its check here before, fails: " + outcome.detail;
}

Outcome CudaDevice::OutcomeOf(DriverStatus status, ArmRole role, const std::string& doing) const {
  const std::string detail = doing + ": " + driver_->Describe(status);
  switch (FaultOf(status.code)) {
    case FaultKind::kCrashed:
      return {OutcomeKind::kCrashed, role, detail};
    case FaultKind::kHung:
      return {OutcomeKind::kHung, role, detail};
    case FaultKind::kDevice:
      return {OutcomeKind::kDeviceFault, std::nullopt, detail};
    case FaultKind::kNone:
    case FaultKind::kLaunch:
      break;
  }
  return {OutcomeKind::kLaunchFailed, role, detail};
}

Result<bool> CudaDevice::Load(const Order& order, const Progress& progress, Execution& execution,
                              std::vector<LoadedArm>& arms) {
  for (std::size_t i = 0; i < order.arms.size(); ++i) {
    const ArmRole role = order.arms[i].role;
    progress(Stage::kCheck, role);
    auto loaded = GpuArm::Load(*gpu_, order.arms[i], arms[i].unit.kernels, arms[i].built.object);
    if (const ArmProblem* problem = std::get_if<ArmProblem>(&loaded)) {
      Outcome outcome{OutcomeKind::kLaunchFailed, role, problem->detail};
      if (!problem->status) {
        outcome.kind = OutcomeOf(problem->status, role, "").kind;
        if (outcome.kind == OutcomeKind::kDeviceFault) outcome.arm.reset();
      }
      execution.report.outcome = outcome;
      return false;
    }
    arms[i].arm = std::move(std::get<std::unique_ptr<GpuArm>>(loaded));
  }
  return true;
}

Result<bool> CudaDevice::Check(const Order& order, const Progress& progress, Execution& execution,
                               std::vector<LoadedArm>& arms) {
  std::vector<const GpuInputSet*> sets;
  for (const auto& set : bench_->sets().timed) sets.push_back(set.get());
  sets.push_back(bench_->sets().hidden.get());
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const ArmRole role = order.arms[i].role;
    const std::pair<Digest, Digest> key(arms[i].built.digest, CudaCheckKey(order, order.arms[i]));
    const auto before = passed_.find(key);
    if (role != ArmRole::kCandidate && before != passed_.end()) {
      execution.report.checks.push_back(before->second);
      execution.report.checks.back().arm = role;
      arms[i].proven = role == ArmRole::kCommitted;
      continue;
    }
    Hasher hasher;
    hasher.Field("cuda passed 1").Field(facts_.uuid).Field(key.first.Hex()).Field(key.second.Hex());
    const Digest marker = hasher.Finish();
    const bool proven = role == ArmRole::kCommitted && cache_->Get(marker).has_value();
    arms[i].proven = proven;
    CheckFacts facts;
    facts.arm = role;
    facts.passed = true;
    for (const GpuInputSet* set : sets) {
      progress(Stage::kCheck, role);
      const GpuCheck check = bench_->Check(*arms[i].arm, *set);
      if (!check.status) {
        execution.report.outcome = OutcomeOf(check.status, role, "while it was checked");
        if (proven) BlameGpu(execution.report.outcome);
        return false;
      }
      facts.passed = check.passed;
      facts.elements += check.elements;
      facts.wrong += check.wrong;
      facts.max_abs_error = std::max(facts.max_abs_error, check.max_abs_error);
      if (check.passed) continue;
      facts.detail = check.detail;
      if (set == sets.back()) facts.detail += " (on the hidden input set)";
      break;
    }
    execution.report.checks.push_back(facts);
    if (!facts.passed) {
      execution.report.outcome = {OutcomeKind::kWrongOutput, role, facts.detail};
      if (proven) BlameGpu(execution.report.outcome);
      return false;
    }
    passed_[key] = facts;
    // Where it cannot be kept the next failure is the kernel's own.
    if (role == ArmRole::kCommitted && !proven) {
      static_cast<void>(cache_->Put(marker, "passed").has_value());
    }
  }
  return true;
}

// Adds what a visit's last call left to the arm's check. False: it was wrong, which is the outcome.
bool CudaDevice::Believe(Execution& execution, const GpuCheck& check, std::size_t index,
                         const LoadedArm& arm, ArmRole role, const std::string& when) const {
  CheckFacts& facts = execution.report.checks[index];
  facts.elements += check.elements;
  facts.wrong += check.wrong;
  facts.max_abs_error = std::max(facts.max_abs_error, check.max_abs_error);
  if (check.passed) return true;
  facts.passed = false;
  facts.detail = check.detail + " (" + when + ")";
  execution.report.outcome = {OutcomeKind::kWrongOutput, role, facts.detail};
  if (arm.proven) BlameGpu(execution.report.outcome);
  return false;
}

Result<bool> CudaDevice::Rounds(const Order& order, const Progress& progress, Execution& execution,
                                std::vector<LoadedArm>& arms) {
  if (order.timing.instrument == Instrument::kKernelTime && cupti_ == nullptr) {
    Result<std::unique_ptr<Cupti>> cupti = Cupti::Open();
    if (!cupti) return cupti.error();
    cupti_ = std::move(*cupti);
  }
  progress(Stage::kRun, order.arms.front().role);
  // What the GPU went through before is not this order's.
  if (watch_ != nullptr) static_cast<void>(watch_->Take());
  if (DriverStatus settled = bench_->Settle(*arms.front().arm); !settled) {
    execution.report.outcome =
        OutcomeOf(settled, order.arms.front().role, "while the clock settled");
    return false;
  }
  for (std::uint32_t round = 0; round < order.rounds.size(); ++round) {
    const RoundPlan& plan = order.rounds[round];
    RoundMedians medians;
    for (const VisitPlan& planned : plan.visits) {
      const ArmRole role = order.arms[planned.arm].role;
      LoadedArm& arm = arms[planned.arm];
      progress(Stage::kRun, role);
      GpuVisit visit = bench_->Run(*arm.arm, planned.input_set, order.timing.instrument,
                                   cupti_.get(), arm.graph_calls, bracket_);
      if (!visit.status) {
        execution.report.outcome = OutcomeOf(visit.status, role, "while it was timed");
        if (arm.proven) BlameGpu(execution.report.outcome);
        return false;
      }
      if (!visit.problem.empty()) return Error{"cuda: " + visit.problem, Advice::kRetry};
      DeviceConditions seen;
      if (watch_ != nullptr) {
        seen = watch_->Take();
        Take(seen, execution.report.conditions);
        if (visit.clock_mhz <= 0) visit.clock_mhz = nvml_->SmMhz(handle_).value_or(0);
      }
      medians.visits.push_back({planned.arm, planned.input_set, Median(visit.us), visit.clock_mhz});
      execution.samples.push_back({round, plan.recorded, role, planned.input_set, visit.clock_mhz,
                                   std::move(visit.us), seen});
      const std::string when =
          "after the last timed iteration of a visit, round " + std::to_string(round + 1);
      if (!Believe(execution, visit.check, planned.arm, arm, role, when)) return false;
    }
    if (plan.recorded) execution.report.rounds.push_back(std::move(medians));
  }
  if (watch_ != nullptr) Take(watch_->TakeFresh(), execution.report.conditions);
  return true;
}

// After the rounds, since tracing changes what it traces. What cannot be captured is said in the
// log and leaves the rounds as they are.
Result<bool> CudaDevice::TakeCaptures(const Order& order, const Progress& progress,
                                      Execution& execution, std::vector<LoadedArm>& arms) {
  if (cupti_ == nullptr) {
    Result<std::unique_ptr<Cupti>> cupti = Cupti::Open();
    if (!cupti) {
      execution.notes.push_back("event=no_capture why=\"" + cupti.error().message + "\"");
      return true;
    }
    cupti_ = std::move(*cupti);
  }
  for (std::uint32_t i = 0; i < arms.size(); ++i) {
    const ArmRole role = order.arms[i].role;
    progress(Stage::kRun, role);
    GpuVisit visit =
        bench_->Run(*arms[i].arm, 0, Instrument::kKernelTime, cupti_.get(), arms[i].graph_calls,
                    /*bracket=*/false);
    if (!visit.status) {
      execution.report.outcome = OutcomeOf(visit.status, role, "while it was traced");
      if (arms[i].proven) BlameGpu(execution.report.outcome);
      return false;
    }
    if (!visit.problem.empty()) {
      execution.notes.push_back("event=no_capture why=\"" + visit.problem + "\"");
      return true;
    }
    if (!Believe(execution, visit.check, i, arms[i], role, "after it was traced")) return false;
    if (const double us = Median(visit.us); us > 0) {
      execution.report.captures.push_back({i, Instrument::kKernelTime, us});
    }
  }
  return true;
}

// Another's kernels take turns with ours on the GPU: said in the report, and once in the log.
void CudaDevice::LookForOthers(Execution& execution) {
  if (watch_ == nullptr) return;
  const std::vector<std::uint32_t> others = watch_->others();
  execution.report.conditions.foreign_processes = static_cast<std::uint32_t>(others.size());
  if (others.empty() || others == told_others_) return;
  told_others_ = others;
  std::string pids;
  for (const std::uint32_t pid : others) pids += (pids.empty() ? "" : ",") + std::to_string(pid);
  execution.notes.push_back("event=foreign_processes gpu=" + facts_.uuid + " pids=" + pids);
}

}  // namespace

Result<std::unique_ptr<Device>> OpenCuda(const std::string& which, const DeviceOptions& options) {
  Result<std::unique_ptr<Driver>> driver = Driver::Open();
  if (!driver) return Error{"cuda: " + driver.error().message, Advice::kReject};
  Result<std::vector<GpuProperties>> gpus = ListGpus(**driver);
  if (!gpus) return gpus.error();
  const auto chosen = std::find_if(gpus->begin(), gpus->end(), [&](const GpuProperties& gpu) {
    return which.empty() || which == std::to_string(gpu.index) || which == gpu.uuid;
  });
  if (chosen == gpus->end()) {
    std::string have;
    for (const GpuProperties& gpu : *gpus) {
      have +=
          (have.empty() ? "" : ", ") + std::to_string(gpu.index) + " " + gpu.name + " " + gpu.uuid;
    }
    return Error{"cuda: no GPU '" + which + "' (have: " + (have.empty() ? "none" : have) + ")",
                 Advice::kReject};
  }
  const CoreShare cores =
      ShareCores(options.cores, static_cast<std::size_t>(chosen->index), gpus->size());
  if (cores.building.empty()) {
    return Error{"cuda: none of the cores that are named may be used by this process",
                 Advice::kReject};
  }
  Result<std::unique_ptr<ObjectCache>> cache =
      ObjectCache::Open(options.cache, options.cache_bytes);
  if (!cache) return cache.error();
  BuilderOptions builder_options;
  builder_options.cores = cores.building;
  builder_options.children = cores.builders;
  builder_options.memory_bytes = options.memory_bytes;
  Result<std::unique_ptr<Builder>> builder = Builder::Open(**cache, builder_options);
  if (!builder) return Error{"cuda: " + builder.error().message, builder.error().advice};
  if (Status able = CanBuildFor(*chosen, (*builder)->version(), (*builder)->architectures());
      !able) {
    return able.error();
  }
  Result<std::vector<CudaBuilt>> own = (*builder)->Build({OwnUnit(chosen->capability)});
  if (!own) return own.error();
  if (!own->front().object.ok) {
    return Error{"cuda: pawl's own kernels do not compile: " + own->front().object.problem,
                 Advice::kReject};
  }
  Result<std::unique_ptr<Gpu>> gpu = Gpu::Open(**driver, *chosen);
  if (!gpu) return gpu.error();
  Result<std::unique_ptr<GpuTools>> tools = GpuTools::Open(**gpu, own->front().object);
  if (!tools) return tools.error();
  std::unique_ptr<Nvml> nvml;
  if (Result<std::unique_ptr<Nvml>> opened = Nvml::Open()) nvml = std::move(*opened);
  DeviceFacts facts = FactsOf(*chosen, **driver, nvml.get(), (*builder)->version());
  std::unique_ptr<Device> device =
      std::make_unique<CudaDevice>(std::move(*driver), std::move(*gpu), std::move(*cache),
                                   std::move(*builder), std::move(*tools), std::move(nvml),
                                   std::move(facts), cores.building, options.profiler_bracket);
  if (cores.measuring) {
    // After all libraries have started their own threads, which go where they like.
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(*cores.measuring, &set);
    ::sched_setaffinity(0, sizeof set, &set);
  }
  return device;
}

}  // namespace pawl
