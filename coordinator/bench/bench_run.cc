#include "coordinator/bench/bench_run.h"

#include <algorithm>

#include "coordinator/service/worker_process.h"
#include "schema/check.h"

namespace pawl {

BenchRun::BenchRun(const Bench& bench, const BenchPlaces& places, ErrandSession& session)
    : bench_(bench), places_(places), session_(session) {
  ErrandList list;
  list.kind = OrderKind::kMeasure;
  list.count = 1;
  list.open = true;
  list.make = [this](std::size_t item, Attempt, const DeviceFacts& device) {
    return Make(item, device);
  };
  list.why_not = [this](const DeviceFacts& device) { return WhyNotBench(bench_, device); };
  errands_ = std::make_unique<Errands>(std::move(list), ErrandSession::NewId());
}

// The first items are the worker's arms, each alone; the others the legs that are the worker's.
Result<Order> BenchRun::Make(std::size_t item, const DeviceFacts& device) {
  if (result_.arms.empty()) {
    auto order = BenchOrder(bench_, device);
    if (!order) return order.error();
    result_.order = *std::move(order);
    result_.device = device;
    for (const Arm& arm : result_.order.arms) {
      BenchArm::Kind kind =
          arm.role == ArmRole::kRival ? BenchArm::Kind::kLibrary : BenchArm::Kind::kKernel;
      result_.arms.push_back({arm.label, kind, arm.configuration, "", {}, {}, {}, {}, "", {}, {}});
    }
    worker_arms_ = result_.arms.size();
    for (const RivalProgram& rival : bench_.rivals) {
      result_.arms.push_back(
          {rival.name, BenchArm::Kind::kProgram, {}, rival.path, {}, {}, {}, {}, "", {}, {}});
    }
  }
  if (item < worker_arms_) return LegOrder(result_.order, {item}, {item});
  return LegOrder(result_.order, in_order_, legs_[next_leg_].arms);
}

void BenchRun::Take(const ErrandResult& answer) {
  waiting_ = false;
  if (result_.arms.empty()) {
    problem_ = Error{answer.why};
    return;
  }
  if (answer.report && result_.toolchain.empty()) result_.toolchain = answer.report->toolchain;
  if (answer.item < worker_arms_) {
    BenchArm& arm = result_.arms[answer.item];
    probed_ = answer.item + 1;
    if (answer.answered()) {
      TakeProbe(*answer.order, *answer.report, arm);
    } else {
      arm.state = ArmState::kFailed;
      arm.why = answer.why;
    }
    return;
  }
  const BenchLeg& leg = legs_[next_leg_++];
  if (answer.answered()) {
    TakeLeg(*answer.order, *answer.report, in_order_, leg.round, result_);
    return;
  }
  LoseRound(leg.arms, leg.round, answer.why, result_);
}

bool BenchRun::Stopped() const {
  return std::any_of(rivals_.begin(), rivals_.end(),
                     [](const auto& rival) { return rival->interrupted(); });
}

void BenchRun::BeginRivals() {
  begun_ = true;
  const LineProcess::Idle idle = [this] {
    return session_.Serve(*errands_, [](const ErrandResult&) { CHECK(false); });
  };
  data_ = std::make_unique<BenchData>(WorkerProgram(), places_.folder, places_.state);
  environment_ = {places_.kernels, result_.device.uuid};
  const Status made = bench_.rivals.empty() ? Status() : data_->Make(result_.order, idle);
  for (std::size_t i = 0; i < bench_.rivals.size() && !Stopped(); ++i) {
    BenchArm& arm = result_.arms[worker_arms_ + i];
    rivals_.push_back(std::make_unique<RivalRun>(bench_.rivals[i], environment_, *data_,
                                                 bench_.rival_deadline_ms, idle, arm));
    if (made) {
      rivals_.back()->Begin();
    } else {
      arm.state = ArmState::kFailed;
      arm.why = made.error().message;
    }
  }
  std::vector<BenchArm::Kind> kinds;
  for (std::size_t arm = 0; arm < result_.arms.size(); ++arm) {
    if (!result_.arms[arm].live()) continue;
    ring_.push_back(arm);
    kinds.push_back(result_.arms[arm].kind);
  }
  legs_ = BenchLegs(kinds, bench_.measurement.rounds);
  for (BenchLeg& leg : legs_) {
    for (std::size_t& arm : leg.arms) arm = ring_[arm];
  }
}

void BenchRun::EndRivals() {
  for (const auto& rival : rivals_) {
    if (!Stopped()) rival->End();
  }
  FailUntimed(result_);
  session_.Close(*errands_);
  waiting_ = true;
}

void BenchRun::OnTurn() {
  if (waiting_) return;
  if (problem_) {
    session_.Close(*errands_);
    waiting_ = true;
    return;
  }
  if (probed_ < worker_arms_) {
    errands_->Add(1);
    waiting_ = true;
    return;
  }
  if (!begun_) BeginRivals();
  while (next_leg_ < legs_.size() && !Stopped()) {
    BenchLeg& leg = legs_[next_leg_];
    std::erase_if(leg.arms, [this](std::size_t arm) { return !result_.arms[arm].live(); });
    if (leg.arms.empty()) {
      ++next_leg_;
      continue;
    }
    if (leg.worker) {
      in_order_.clear();
      for (std::size_t arm = 0; arm < worker_arms_; ++arm) {
        const bool kernel = result_.arms[arm].kind == BenchArm::Kind::kKernel;
        const bool visited = std::find(leg.arms.begin(), leg.arms.end(), arm) != leg.arms.end();
        if (result_.arms[arm].live() && (kernel || visited)) in_order_.push_back(arm);
      }
      errands_->Add(1);
      waiting_ = true;
      return;
    }
    rivals_[leg.arms.front() - worker_arms_]->Visit(leg.round);
    ++next_leg_;
  }
  EndRivals();
}

Result<std::optional<BenchResult>> BenchRun::Run() {
  const auto end = session_.Run(
      *errands_, [this](const ErrandResult& answer) { Take(answer); }, [this] { OnTurn(); });
  if (!end) return end.error();
  if (*end == SessionEnd::kInterrupted || Stopped()) return std::optional<BenchResult>();
  if (problem_) return *problem_;
  return std::optional<BenchResult>(std::move(result_));
}

}  // namespace pawl
