#pragma once
// An audit: every configuration of a package's audit list at its audit shapes, built and checked by
// workers, each as an order of its own. Pure, like core: no socket, disk or clock.
//
// A check is nobody's search: nothing is written to a ledger, and the same audit asks the same of
// any number of workers.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/search/core.h"
#include "kernels/operation.h"
#include "schema/message.h"
#include "schema/order.h"
#include "schema/report.h"

namespace pawl {

struct AuditRequest {
  std::string backend;
  std::vector<std::vector<Scalar>> shapes;  // none: the operation's audit shapes
  bool whole_space = false;                 // in place of the audit list
  std::uint64_t sample = 0;                 // at most so many configurations a structure; 0: all
  std::uint64_t seed = 1;                   // of the sample
};

// One kernel at one shape.
struct AuditItem {
  const Structure* structure = nullptr;  // nullptr: the committed kernel
  Configuration configuration;
  std::vector<Scalar> shape;

  std::string Name() const;  // "tiled: transpose_a=false ... at m=256 n=256 k=128"
};

// Configurations that a constraint refuses at a shape, and one such reason.
struct AuditRefusal {
  std::uint64_t count = 0;
  std::string example;
};

struct AuditPlan {
  std::shared_ptr<const Operation> operation;
  std::string backend;
  std::vector<AuditItem> items;
  std::map<std::string, AuditRefusal> refused;  // by what the reason is about: "shape"
  std::uint64_t refusals = 0;
  std::vector<std::string> skipped;  // structures that have no source
};

// Errors: no such backend, nothing in it that can be built, a shape that is none.
Result<AuditPlan> PlanAudit(std::shared_ptr<const Operation> operation,
                            const AuditRequest& request);

// At most `most` of `list`, in its order: first those that show a pair of values that none before
// showed, then any. The same for the same seed.
std::vector<Configuration> PairwiseSample(const std::vector<Configuration>& list,
                                          std::uint64_t most, std::uint64_t seed);

// What a worker is asked for an item; `number` counts from 1.
Result<Order> AuditOrder(const AuditPlan& plan, std::size_t item, Attempt attempt);

struct AuditResult {
  std::size_t item = 0;
  bool passed = false;
  std::string why;  // when it did not
  Outcome outcome;
  BuildFacts build;  // of its kernel
  std::uint64_t elements = 0;
  double seconds = 0;  // build and check
};

struct AuditEffects {
  std::vector<Outgoing> send;
  std::vector<AuditResult> results;
  std::vector<std::string> notes;
};

class Audit {
 public:
  Audit(AuditPlan plan, LedgerId id) : plan_(std::move(plan)), id_(std::move(id)) {
    tries_.resize(plan_.items.size());
    for (std::size_t i = 0; i < plan_.items.size(); ++i) open_.push_back(i);
  }

  AuditEffects OnMessage(const PeerId& peer, const Message& message, std::int64_t now_ms);
  AuditEffects OnTick(std::int64_t now_ms);

  // Every item has its result; workers have been told to drain.
  bool Done() const { return done_ == plan_.items.size(); }
  std::size_t done() const { return done_; }
  std::size_t workers() const { return workers_.size(); }
  const AuditPlan& plan() const { return plan_; }
  // Of the first worker: what compiled and checked; empty before there is one.
  const std::string& toolchain() const { return toolchain_; }

  static constexpr std::uint32_t kBeatMs = 1'000;
  static constexpr std::uint32_t kLostMs = 20'000;

 private:
  struct Worker {
    WorkerId id;
    std::uint32_t places = 0;
    std::vector<std::size_t> holds;  // items
    std::int64_t heard_ms = 0;
  };
  // How often an item has been asked for, and whether it is answered.
  struct Tries {
    std::uint32_t attempt = 0;
    bool answered = false;
  };

  void Grant(AuditEffects& effects, const PeerId& peer);
  void GrantAll(AuditEffects& effects);
  void OnReport(AuditEffects& effects, const PeerId& peer, const Report& report);
  void GiveBack(AuditEffects& effects, Worker& worker, std::size_t item, const std::string& why);
  void Finish(AuditEffects& effects, AuditResult result);
  void Forget(AuditEffects& effects, const PeerId& peer, const std::string& why);
  LeaseKey KeyOf(std::size_t item) const;

  const AuditPlan plan_;
  const LedgerId id_;
  std::vector<std::size_t> open_;  // items to be granted, the next one first
  std::vector<Tries> tries_;
  std::map<PeerId, Worker> workers_;
  std::size_t done_ = 0;
  std::string toolchain_;
};

}  // namespace pawl
