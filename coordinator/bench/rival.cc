#include "coordinator/bench/rival.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "coordinator/bench/rival_lines.h"
#include "coordinator/search/timed_arms.h"
#include "schema/codec.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDataDeadlineMs = 3'600'000;  // of a float64 reference, whatever its size
constexpr std::int64_t kQuitMs = 2'000;

std::string CoresText() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const bool read = ::sched_getaffinity(0, sizeof cores, &cores) == 0;
  return std::to_string(read ? CPU_COUNT(&cores) : 1);
}

std::vector<std::pair<std::string, std::string>> EnvironmentOf(const RivalEnvironment& given) {
  const char* const python_path = std::getenv("PYTHONPATH");
  const bool more = python_path != nullptr && *python_path != '\0';
  std::vector<std::pair<std::string, std::string>> environment = {
      {"PYTHONPATH", given.kernels + (more ? ":" + std::string(python_path) : "")},
      {"PYTHONDONTWRITEBYTECODE", "1"}};
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    environment.emplace_back("OMP_NUM_THREADS", CoresText());  // as the worker's kernels have
  }
  if (!given.device_uuid.empty()) {
    environment.emplace_back("CUDA_VISIBLE_DEVICES", given.device_uuid);
  }
  return environment;
}

RivalProgram ProgramOf(const fs::path& path) {
  return {path.stem().string(), fs::absolute(path).lexically_normal().string()};
}

}  // namespace

BenchData::BenchData(std::string worker_program, std::string folder, std::string state)
    : worker_program_(std::move(worker_program)),
      folder_(std::move(folder)),
      state_(std::move(state)) {}

Status BenchData::Make(const Order& order, const LineProcess::Idle& idle) {
  order_ = order;
  const std::string path = folder_ + "/order";
  const std::string bytes = EncodeOrder(order);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) return Error{"cannot write " + path};
  auto outside = LineProcess::Start(
      {{worker_program_, "--outside", path, folder_, state_}, {}, Log("outside")});
  if (!outside) return outside.error();
  outside_ = *std::move(outside);
  const auto answer = outside_->Ask("inputs\n", kDataDeadlineMs, idle);
  if (!answer) return Error{"its inputs could not be made: pawl-worker " + answer.error().message};
  return {};
}

void BenchData::RemoveOutputs(const std::string& set) const {
  for (const Buffer& buffer : order_.buffers) {
    if (buffer.role != BufferRole::kOutput) continue;
    std::error_code ignored;
    fs::remove(OutputFile(buffer, Set(set)), ignored);
  }
}

Result<CheckFacts> BenchData::Check(const std::string& set, const LineProcess::Idle& idle) {
  const auto answer = outside_->Ask("check " + set + "\n", kDataDeadlineMs, idle);
  if (!answer) {
    return Error{"its outputs could not be checked: pawl-worker " + answer.error().message};
  }
  const auto json = nlohmann::json::parse(*answer, nullptr, false);
  if (!json.is_object() || !json.contains("passed")) {
    return Error{"its outputs could not be checked: pawl-worker said '" + Quotable(*answer) + "'"};
  }
  CheckFacts check;
  check.arm = ArmRole::kRival;
  check.passed = json.value("passed", false);
  check.elements = json.value("elements", std::uint64_t{0});
  check.wrong = json.value("wrong", std::uint64_t{0});
  const auto error = json.find("max_abs_error");
  check.max_abs_error = error != json.end() && error->is_number()
                            ? error->get<double>()
                            : std::numeric_limits<double>::infinity();
  check.detail = json.value("detail", "");
  return check;
}

RivalRun::RivalRun(const RivalProgram& program, const RivalEnvironment& environment,
                   BenchData& data, std::int64_t deadline_ms, LineProcess::Idle idle, BenchArm& arm)
    : program_(program),
      environment_(environment),
      data_(data),
      deadline_ms_(deadline_ms),
      idle_(std::move(idle)),
      arm_(arm) {}

void RivalRun::Fail(ArmState state, const std::string& why) {
  arm_.state = state;
  arm_.why = why;
  arm_.rounds.clear();
  process_.reset();
}

std::optional<std::string> RivalRun::Ask(const std::string& request) {
  if (!process_) return std::nullopt;
  auto answer = process_->Ask(request, deadline_ms_, idle_);
  if (answer) return *std::move(answer);
  interrupted_ = process_->interrupted();
  Fail(ArmState::kFailed, answer.error().message);
  return std::nullopt;
}

bool RivalRun::Prepare(const std::string& set) {
  const auto answer = Ask(PrepareLine(data_.order(), data_.Set(set)));
  if (!answer) return false;
  const auto prepared = ParsePrepared(*answer);
  if (!prepared) {
    Fail(ArmState::kFailed, prepared.error().message);
    return false;
  }
  if (const auto* absent = std::get_if<RivalAbsent>(&*prepared)) {
    Fail(ArmState::kAbsent, absent->why);
    return false;
  }
  arm_.versions = std::get<RivalPrepared>(*prepared).versions;
  return true;
}

std::optional<std::vector<double>> RivalRun::Run(std::uint32_t warmup, std::uint32_t iterations) {
  const auto answer = Ask(RunLine(warmup, iterations));
  if (!answer) return std::nullopt;
  auto times = ParseTimes(*answer, iterations);
  if (times) return *std::move(times);
  Fail(ArmState::kFailed, times.error().message);
  return std::nullopt;
}

bool RivalRun::CheckSet(const std::string& set) {
  data_.RemoveOutputs(set);
  const auto answer = Ask(WriteLine(data_.order(), data_.Set(set)));
  if (!answer) return false;
  if (Status written = ParseWritten(*answer); !written) {
    Fail(ArmState::kFailed, written.error().message);
    return false;
  }
  const auto check = data_.Check(set, [this] {
    const bool go_on = idle_();
    interrupted_ = interrupted_ || !go_on;
    return go_on;
  });
  if (!check) {
    Fail(ArmState::kFailed, check.error().message);
    return false;
  }
  CheckFacts all = *check;
  if (arm_.check) {
    all.elements += arm_.check->elements;
    all.wrong += arm_.check->wrong;
    all.max_abs_error = std::max(all.max_abs_error, arm_.check->max_abs_error);
  }
  if (!all.passed && set == "hidden") all.detail += " (on the hidden input set)";
  arm_.check = all;
  if (all.passed) return true;
  Fail(ArmState::kWrong, "wrong_output: " + all.detail);
  return false;
}

void RivalRun::Begin() {
  LineCommand command;
  if (program_.path.ends_with(".py")) command.arguments.push_back("python3");
  command.arguments.push_back(program_.path);
  command.environment = EnvironmentOf(environment_);
  command.log = data_.Log("rival-" + program_.name);
  command.most_line = kMostRivalLine;
  auto started = LineProcess::Start(command);
  if (!started) return Fail(ArmState::kAbsent, started.error().message);
  process_ = *std::move(started);
  const Timing& timing = data_.order().timing;
  if (!Prepare("hidden") || !Run(0, 1) || !CheckSet("hidden")) return;
  if (!Prepare("timed") || !Run(timing.warmup, timing.iterations)) return;
  static_cast<void>(CheckSet("timed"));
}

void RivalRun::Visit(std::uint32_t round) {
  const Timing& timing = data_.order().timing;
  if (auto times = Run(timing.warmup, timing.iterations)) {
    arm_.rounds.push_back({round, MedianOf(*std::move(times)), 0});
  }
}

void RivalRun::End() {
  if (!process_ || !CheckSet("timed")) return;
  process_->Quit(QuitLine(), kQuitMs);
  process_.reset();
}

std::vector<RivalProgram> RivalsIn(const std::string& folder) {
  std::vector<RivalProgram> programs;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const fs::path& path = entry->path();
    const std::string name = path.filename().string();
    std::error_code unreadable;
    if (!entry->is_regular_file(unreadable) || name.front() == '_' || name.front() == '.') continue;
    if (path.extension() != ".py" && ::access(path.c_str(), X_OK) != 0) continue;
    programs.push_back(ProgramOf(path));
  }
  std::sort(programs.begin(), programs.end(),
            [](const RivalProgram& a, const RivalProgram& b) { return a.name < b.name; });
  return programs;
}

Result<RivalProgram> RivalAt(const std::string& path) {
  std::error_code failed;
  if (fs::is_regular_file(path, failed)) return ProgramOf(path);
  return Error{"--rival " + path + ": no such file"};
}

}  // namespace pawl
