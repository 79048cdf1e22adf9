#include "worker/device/emulated/emulated_device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "worker/device/compare.h"
#include "worker/device/emulated/arm_memory.h"
#include "worker/device/emulated/emulator.h"
#include "worker/device/emulated/gpu_compile.h"
#include "worker/device/emulated/kernel_object.h"
#include "worker/device/emulated/limits.h"
#include "worker/device/emulated/unit_text.h"
#include "worker/device/host/compiler.h"
#include "worker/device/host/input_sets.h"
#include "worker/device/host/machine.h"
#include "worker/device/order_rules.h"
#include "worker/object_cache.h"

namespace pawl {
namespace {

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

Status Validate(const Order& order, const std::string& name) {
  if (Status valid = ValidateArms(order, name, "cuda"); !valid) return valid;
  if (order.kind == OrderKind::kAudit && order.rounds.empty()) return {};
  return Error{name +
                   ": the emulated device checks kernels and never times them; it takes audit "
                   "orders, this is a " +
                   std::string(Name(order.kind)) + " order",
               Advice::kReject};
}

class EmulatedDevice final : public Device {
 public:
  EmulatedDevice(DeviceOptions options, SmLimits limits, bool watched, DeviceFacts facts,
                 std::unique_ptr<ObjectCache> cache, std::unique_ptr<Compiler> compiler,
                 std::unique_ptr<GpuCompile> gpu_compile, const Machine& machine)
      : options_(std::move(options)),
        limits_(limits),
        watched_(watched),
        facts_(std::move(facts)),
        cache_(std::move(cache)),
        compiler_(std::move(compiler)),
        gpu_compile_(std::move(gpu_compile)),
        memory_bytes_(options_.memory_bytes > 0 ? options_.memory_bytes : RunnerMemory(machine)),
        sets_(*compiler_, *cache_, options_.scratch, machine.usable_cores) {}

  DeviceFacts Facts() const override { return facts_; }
  Result<Execution> Execute(const Order& order, const Progress& progress) override;
  void Prepare(const pawl::Prepare&) override {}  // it serves audits, which send no hints

 private:
  struct Try {
    const InputSet* set = nullptr;
    RunOrder order;
    bool repeats = false;  // the try before, in another order
    // Each byte of outputs and scratch, beforehand. As a float not a number, or a large one; a
    // right output may be all ones, but not the other too.
    int poison = 0xff;
  };

  Result<std::unique_ptr<KernelObject>> Build(const Order& order, const Arm& arm,
                                              Execution& execution);
  Status CheckAll(const Order& order, const Progress& progress,
                  const std::vector<std::unique_ptr<KernelObject>>& kernels, Report& report);
  struct Wrong {
    std::string text;
    OutcomeKind kind = OutcomeKind::kWrongOutput;
  };
  // The arm's check under one try; what is wrong with it, or nothing.
  Result<std::optional<Wrong>> Check(const Order& order, const Arm& arm, const Try& run,
                                     KernelObject& kernel, ArmMemory& memory,
                                     std::vector<std::vector<std::byte>>& outputs,
                                     CheckFacts& facts);
  std::string Text(const Finding& found, const std::string& launch,
                   const KernelObject& kernel) const;

  const DeviceOptions options_;
  const SmLimits limits_;
  const bool watched_;
  const DeviceFacts facts_;
  const std::unique_ptr<ObjectCache> cache_;
  const std::unique_ptr<Compiler> compiler_;
  const std::unique_ptr<GpuCompile> gpu_compile_;
  const std::uint64_t memory_bytes_;  // that a runner may take
  InputSets sets_;
};

Result<std::unique_ptr<KernelObject>> EmulatedDevice::Build(const Order& order, const Arm& arm,
                                                            Execution& execution) {
  const auto failed = [&](OutcomeKind kind, const std::string& why) {
    execution.report.outcome = {kind, arm.role, why};
    return std::unique_ptr<KernelObject>();
  };
  const SourceText& source = order.sources[*arm.source];
  BuildFacts facts;
  facts.arm = arm.role;
  facts.source = source.digest;
  facts.compiler = compiler_->version();
  const Result<Unit> unit = EmulatedUnit(order, arm, limits_, watched_);
  if (!unit) {
    execution.report.builds.push_back(std::move(facts));
    return failed(OutcomeKind::kBuildFailed, unit.error().message);
  }
  Result<Built> built = compiler_->Build(*unit);
  if (!built) return built.error();
  facts.object = built->digest;
  facts.log = built->log;
  facts.cached = built->cached;
  facts.seconds = built->seconds;
  if (!built->ok) {
    execution.report.builds.push_back(std::move(facts));
    return failed(OutcomeKind::kBuildFailed, built->problem);
  }
  std::vector<bool> kernels;
  for (const Launch& launch : arm.launches) {
    kernels.push_back(launch.kind == LaunchKind::kKernel);
  }
  auto kernel = KernelObject::Load(built->object, options_.scratch, kernels);
  if (!kernel && kernel.error().advice == Advice::kRetry) return kernel.error();
  if (kernel) facts.shared_bytes = (*kernel)->most_shared_bytes();
  const std::optional<GpuCompile::Answer> gpu = gpu_compile_->Compile(order, arm);
  if (gpu) {
    facts.registers = gpu->use.registers;
    facts.spill_bytes = gpu->use.spill_bytes;
  }
  execution.report.builds.push_back(std::move(facts));
  if (gpu && !gpu->problem.empty()) return failed(OutcomeKind::kBuildFailed, gpu->problem);
  if (!kernel) return failed(OutcomeKind::kLaunchFailed, kernel.error().message);
  for (std::size_t i = 0; i < arm.launches.size(); ++i) {
    const Launch& launch = arm.launches[i];
    if (launch.kind != LaunchKind::kKernel) continue;
    if (const auto why = WhyNotLaunch(limits_, launch, (*kernel)->shared_bytes(i))) {
      return failed(OutcomeKind::kLaunchFailed, *why);
    }
  }
  return kernel;
}

std::string EmulatedDevice::Text(const Finding& found, const std::string& launch,
                                 const KernelObject& kernel) const {
  std::string where = kernel.LineOf(found.from);
  if (where.empty() && found.site.file != nullptr) {
    where = std::string(found.site.file) + ":" + std::to_string(found.site.line);
  }
  return launch + (where.empty() ? "" : " at " + where) + ": " + found.text;
}

Result<std::optional<EmulatedDevice::Wrong>> EmulatedDevice::Check(
    const Order& order, const Arm& arm, const Try& run, KernelObject& kernel, ArmMemory& memory,
    std::vector<std::vector<std::byte>>& outputs, CheckFacts& facts) {
  const auto wrong = [](std::string text, OutcomeKind kind = OutcomeKind::kWrongOutput) {
    return std::optional<Wrong>({std::move(text), kind});
  };
  for (std::size_t i = 0; i < memory.ranges.size(); ++i) {
    GlobalRange& range = memory.ranges[i];
    if (range.writable) {
      std::memset(range.data, run.poison, range.bytes);
    } else {
      std::memcpy(range.data, run.set->contents[i].data(), range.bytes);
    }
  }
  std::vector<std::int64_t> scalars;
  for (const Scalar& scalar : order.scalars) scalars.push_back(scalar.value);
  Emulator emulator(memory.ranges);
  std::string wrote;  // who wrote what is compared below, by the last launch
  for (std::size_t i = 0; i < arm.launches.size(); ++i) {
    const Launch& launch = arm.launches[i];
    if (launch.kind == LaunchKind::kMemset) {
      emulator.Memset(launch);
      continue;
    }
    const auto found = emulator.Run(kernel, launch, i, scalars, run.order);
    if (!found) return found.error();
    if (*found) {
      return wrong(Text(**found, launch.kernel, kernel),
                   (*found)->refused ? OutcomeKind::kLaunchFailed : OutcomeKind::kWrongOutput);
    }
  }
  const std::string kernels = arm.launches.back().kernel;
  for (std::size_t i = 0; i < memory.ranges.size(); ++i) {
    const GlobalRange& range = memory.ranges[i];
    const std::optional<std::int64_t> touched = memory.guarded[i].Touched();
    if (touched) return wrong(kernels + ": " + DescribeTouch(range.buffer, *touched));
    if (!range.writable && std::memcmp(range.data, run.set->contents[i].data(), range.bytes) != 0) {
      return wrong(kernels + ": changed its input " + range.buffer.name);
    }
  }
  for (std::size_t i = 0; i < order.buffers.size(); ++i) {
    const GlobalRange& range = memory.ranges[i];
    if (order.buffers[i].role != BufferRole::kOutput) continue;
    const Comparison compared = Compare(range.buffer, range.data, run.set->expected[i].data(),
                                        order.check.rtol, order.check.atol);
    facts.elements += compared.elements;
    facts.wrong += compared.wrong;
    facts.max_abs_error = std::max(facts.max_abs_error, compared.max_abs_error);
    if (compared.wrong > 0) {
      const std::string writer =
          watched_ ? emulator.watch().WriterOf(emulator.watch().ranges[i], compared.worst) : "";
      return wrong(kernels + ": " + compared.detail +
                   (writer.empty() ? "" : "; written by " + writer));
    }
    if (watched_) {
      const std::int64_t unwritten = emulator.watch().UnwrittenIn(emulator.watch().ranges[i]);
      if (unwritten >= 0) {
        return wrong(kernels + ": " + ElementName(range.buffer, unwritten) + " was left unwritten");
      }
    }
    if (run.repeats) {
      const std::byte* const now = range.data;
      const auto differs = std::mismatch(outputs[i].begin(), outputs[i].end(), now).first;
      if (differs != outputs[i].end()) {
        const auto element = (differs - outputs[i].begin()) /
                             static_cast<std::ptrdiff_t>(SizeOf(range.buffer.dtype));
        return wrong(kernels + ": not deterministic: " + ElementName(range.buffer, element) +
                     " depends on the order in which blocks, warps or asynchronous copies run, "
                     "which CUDA leaves open");
      }
    }
    outputs[i].assign(range.data, range.data + range.bytes);
  }
  return std::optional<Wrong>();
}

Result<Execution> EmulatedDevice::Execute(const Order& order, const Progress& progress) {
  if (Status valid = Validate(order, facts_.model); !valid) return valid.error();
  Execution execution;
  Report& report = execution.report;
  report.toolchain = facts_.toolchain;
  for (const Arm& arm : order.arms) report.arms.push_back(arm.role);

  auto start = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<KernelObject>> kernels;
  for (const Arm& arm : order.arms) {
    progress(Stage::kBuild, arm.role);
    Result<std::unique_ptr<KernelObject>> kernel = Build(order, arm, execution);
    if (!kernel) return kernel.error();
    report.build_seconds = Seconds(start);
    if (*kernel == nullptr) return execution;
    kernels.push_back(std::move(*kernel));
  }
  start = std::chrono::steady_clock::now();
  const std::uint64_t bytes = MemoryFor(order, watched_);
  if (bytes > memory_bytes_) return TooLarge("emulated", order, bytes, memory_bytes_);
  try {
    if (Status checked = CheckAll(order, progress, kernels, report); !checked) {
      return checked.error();
    }
  } catch (const std::bad_alloc&) {
    return TooLarge("emulated", order, bytes, memory_bytes_);  // others have a part of it
  }
  report.check_seconds = Seconds(start);
  return execution;
}

// Until an arm fails, which is the report's outcome.
Status EmulatedDevice::CheckAll(const Order& order, const Progress& progress,
                                const std::vector<std::unique_ptr<KernelObject>>& kernels,
                                Report& report) {
  const ArmRole control = order.arms.front().role;
  progress(Stage::kCheck, control);
  Result<OrderSets> sets = sets_.Of(order, [&] { progress(Stage::kCheck, control); });
  if (!sets) return sets.error();
  const RunOrder upwards{false, false, watched_};
  const RunOrder downwards{true, true, watched_};
  for (std::size_t i = 0; i < order.arms.size(); ++i) {
    const Arm& arm = order.arms[i];
    Result<ArmMemory> memory = ArmMemory::Allocate(order, arm);
    if (!memory) return memory.error();
    CheckFacts facts;
    facts.arm = arm.role;
    facts.passed = true;
    std::vector<std::vector<std::byte>> outputs(order.buffers.size());
    for (const Try& run : {Try{sets->timed.front().get(), upwards, false},
                           Try{sets->timed.front().get(), downwards, true, 0x7f},
                           Try{sets->hidden.get(), downwards, false}}) {
      progress(Stage::kCheck, arm.role);
      const auto wrong = Check(order, arm, run, *kernels[i], *memory, outputs, facts);
      if (!wrong) return wrong.error();
      if (!*wrong) continue;
      facts.passed = false;
      facts.detail = (*wrong)->text;
      report.outcome = {(*wrong)->kind, arm.role, facts.detail};
      break;
    }
    report.checks.push_back(facts);
    if (!facts.passed) break;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Device>> OpenEmulated(const std::string& argument,
                                             const DeviceOptions& options) {
  const std::size_t question = argument.find('?');
  std::string name = argument.substr(0, question);
  if (name.empty()) name = "sm_89";
  const std::optional<SmLimits> limits = LimitsOf(name);
  if (!limits) {
    return Error{"emulated: architecture '" + name + "' is not known (have: " + KnownLimits() + ")",
                 Advice::kReject};
  }
  bool watched = true;
  if (question != std::string::npos) {
    const std::string option = argument.substr(question + 1);
    if (option != "checks=off" && option != "checks=on") {
      return Error{"emulated: option '" + option + "' is not known (have: checks=on, checks=off)",
                   Advice::kReject};
    }
    watched = option == "checks=on";
  }
  const Machine machine = ReadMachine(options.cores);
  Result<std::unique_ptr<ObjectCache>> cache =
      ObjectCache::Open(options.cache, options.cache_bytes);
  if (!cache) return cache.error();
  Result<std::unique_ptr<Compiler>> compiler =
      Compiler::Open(options.scratch, **cache, machine.instructions);
  if (!compiler) return compiler.error();
  DeviceFacts facts;
  facts.kind = "emulated";
  facts.model = "emulated " + name + (watched ? "" : " (checks off)");
  auto gpu_compile = std::make_unique<GpuCompile>(**cache, static_cast<int>(limits->sm));
  facts.toolchain = (*compiler)->version() + "; " + gpu_compile->note();
  facts.backend = "cuda";
  facts.cores = 1;
  return std::unique_ptr<Device>(std::make_unique<EmulatedDevice>(
      options, *limits, watched, std::move(facts), std::move(*cache), std::move(*compiler),
      std::move(gpu_compile), machine));
}

}  // namespace pawl
