#pragma once
// A bench: kernels of a package and rivals side by side, for a person and never for a decision.
// What is asked, the orders for it, and what came of it. Pure.
//
// A rival is a library that the package calls in-process ([[rival]], an arm like any other) or a
// program of its own (coordinator/bench/rival.h). All read one input set.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/search/measurement.h"
#include "schema/order.h"
#include "schema/report.h"
#include "schema/result.h"

namespace pawl {

struct RivalProgram {
  std::string name;  // "pytorch_eager": the file's name without its ending
  std::string path;  // absolute
};

struct Bench {
  // Problem and terms. Its kernel, where it is a configuration, is measured beside the committed.
  Measurement measurement;
  bool of_track = false;  // that configuration is a track's
  std::vector<RivalProgram> rivals;
  std::int64_t rival_deadline_ms = 300'000;  // of each answer
};

// nullopt: the device can take the bench's orders; else why not.
std::optional<std::string> WhyNotBench(const Bench& bench, const DeviceFacts& device);

// Every arm that the worker runs: committed, the configuration, the libraries; one input set, one
// round of all of them. Errors: the package's.
Result<Order> BenchOrder(const Bench& bench, const DeviceFacts& device);

// The order of one leg: `arms` (into base.arms) stay in it, `visits` (among `arms`) are one
// recorded round. Of each role at most one, so that an outcome is told from the others' by its
// role.
Order LegOrder(const Order& base, const std::vector<std::size_t>& arms,
               const std::vector<std::size_t>& visits);

enum class ArmState { kMeasured, kAbsent, kFailed, kWrong };
const char* Name(ArmState state);  // "measured", "absent", "failed", "wrong_output"

struct BenchRound {
  std::uint32_t round = 0;  // from 0
  double us = 0;
  double clock_mhz = 0;  // 0: not readable
};

// A round in which an arm was to be visited and was not, through no fault of its own.
struct LostRound {
  std::uint32_t round = 0;  // from 0
  std::string why;          // one line
};

struct BenchArm {
  enum class Kind { kKernel, kLibrary, kProgram };

  std::string label;
  Kind kind = Kind::kKernel;
  Configuration configuration;
  std::string path;  // of a program
  std::vector<std::pair<std::string, std::string>> versions;
  std::optional<BuildFacts> build;
  std::optional<CheckFacts> check;
  ArmState state = ArmState::kMeasured;
  std::string why;                 // of the other states, one line
  std::vector<BenchRound> rounds;  // where they are fewer than another arm's, `lost` has the others
  std::vector<LostRound> lost;

  bool live() const { return state == ArmState::kMeasured; }
};
const char* Name(BenchArm::Kind kind);  // "kernel", "library", "program"

struct BenchResult {
  Order order;  // BenchOrder's
  DeviceFacts device;
  std::string toolchain;
  DeviceConditions conditions;  // the highest of all orders
  std::vector<BenchArm> arms;   // the ring: the worker's first, as in the order
};

// What the worker's answer to an arm alone says of it: its build, check and state.
void TakeProbe(const Order& order, const Report& report, BenchArm& arm);

// What the worker's answer to a leg says: times; or an arm that fails, and this round is lost to
// the others that were to be visited; or a round that is lost to all of them. `arms`: of the order,
// into `result.arms`.
void TakeLeg(const Order& order, const Report& report, const std::vector<std::size_t>& arms,
             std::uint32_t round, BenchResult& result);

// The leg got no answer: its round is lost to these of `result.arms`, and nothing else.
void LoseRound(const std::vector<std::size_t>& arms, std::uint32_t round, const std::string& why,
               BenchResult& result);

// At the end: an arm to which every round was lost has failed.
void FailUntimed(BenchResult& result);

// Of arm / committed in each round that has both, in the order of the rounds.
std::vector<double> RatiosToCommitted(const BenchResult& result, const BenchArm& arm);
// Their median. nullopt: there are none.
std::optional<double> RatioToCommitted(const BenchResult& result, const BenchArm& arm);

// An arm that is there gave no right output, no time, or not every round.
bool AnyFailed(const BenchResult& result);

}  // namespace pawl
