#pragma once
// A small operation package in memory, scripted policies and proposers, and a worker's answers:
// what the tests of orders and of core are made of.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/search/orders.h"
#include "coordinator/search/policy.h"
#include "coordinator/search/proposer.h"
#include "schema/event.h"
#include "schema/message.h"
#include "schema/report.h"

namespace pawl::fakes {

// y = x over n elements: backend host with structures `strip` (buildable) and `paper` (space only),
// a committed kernel and the rival `memcpy`. Knobs: width 1, 2, 4, 8; unroll 1, 2, 4, 8 with width
// * unroll <= 16; mode plain, stream.
std::map<std::string, std::string> CopyFiles();
std::shared_ptr<const Operation> CopyOperation();

// A track of it on "bench", at n = 64, structure strip.
TrackSpec CopySpec();
Configuration CopyKnobs(std::int64_t width, std::int64_t unroll, const std::string& mode);

// The same package with another structure that has a source, `whole` (one knob: down), and a track
// of it and strip as one, strip first.
std::map<std::string, std::string> TwoWayFiles();
std::shared_ptr<const Operation> TwoWayOperation();
TrackSpec TwoWaySpec();

// Facts of a worker that can serve CopySpec().
DeviceFacts Bench();

// Plans `rounds` rounds of all arms. Decides by the median of candidate/incumbent over all reports:
// keep below 0.99; void control_drift when the committed arm's times differ; asks for more until it
// has `batches` reports.
class PlainPolicy : public Policy {
 public:
  explicit PlainPolicy(std::uint32_t rounds = 3, std::uint32_t batches = 1)
      : rounds_(rounds), batches_(batches) {}
  std::vector<RoundPlan> Rounds(std::uint64_t seed, Generation generation, std::uint32_t batch,
                                Arms arms, std::uint32_t input_sets) const override;
  std::variant<Decision, AskMore> Decide(const std::vector<Report>& reports) const override;
  Parameters Effective() const override { return {}; }

 private:
  const std::uint32_t rounds_;
  const std::uint32_t batches_;
};

// Says what a function says.
class FunctionProposer : public Proposer {
 public:
  using Rule = std::function<std::optional<Proposal>(const TrackState&, const Space&)>;
  explicit FunctionProposer(Rule rule) : rule_(std::move(rule)) {}
  std::optional<Proposal> Propose(const TrackState& track, const Space& space) const override {
    return rule_(track, space);
  }
  Parameters Effective() const override { return {}; }

 private:
  const Rule rule_;
};

// Every configuration in order, except those tried; invalid ones too, with their violations.
FunctionProposer::Rule Everything();
// Always the same single change of one knob.
Proposal ChangeOf(const Configuration& incumbent, const std::string& knob, KnobValue to);

// MakeWorkshop of a spec over CopyOperation with these in place of what the spec names.
Workshop CopyWorkshop(const TrackSpec& spec, std::unique_ptr<Policy> policy,
                      FunctionProposer::Rule rule);

// A measured report of an order: committed and incumbent take 100 us, the candidate (in a
// confirmation the incumbent) 100 * ratio. One second of building, half of checking, a quarter of
// running.
Report Answer(const Order& order, const WorkerId& worker, double ratio);
// One that ended otherwise.
Report Failure(const Order& order, const WorkerId& worker, OutcomeKind kind,
               std::optional<ArmRole> arm = std::nullopt);

LeaseKey KeyOf(const Order& order);
LeaseKey KeyOf(const Report& report);

}  // namespace pawl::fakes
