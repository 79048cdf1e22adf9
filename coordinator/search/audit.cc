#include "coordinator/search/audit.h"

#include <algorithm>
#include <set>
#include <utility>

#include "coordinator/search/seed.h"
#include "kernels/render.h"
#include "kernels/space.h"
#include "schema/codec.h"

namespace pawl {
namespace {

constexpr std::uint32_t kMostTries = 3;
constexpr std::uint32_t kLeaseMs = 600'000;
constexpr std::uint64_t kMostListed = 1'000'000;  // configurations looked at for refusals' reasons

std::string Text(const std::vector<Scalar>& shape) {
  std::string text;
  for (const Scalar& letter : shape) {
    text += (text.empty() ? "" : " ") + letter.name + "=" + std::to_string(letter.value);
  }
  return text;
}

// The lists that an audit goes through: the audit list's, or the whole space's.
std::vector<std::vector<KnobValue>> ListsOf(const Structure& structure, bool whole_space) {
  std::vector<std::vector<KnobValue>> lists;
  for (const Knob& knob : structure.knobs) {
    lists.push_back(knob.values);
    if (whole_space) continue;
    for (const auto& [name, values] : structure.audit) {
      if (name == knob.name) lists.back() = values;
    }
  }
  return lists;
}

// A violation without its figures: "shared memory" of "shared memory: 67584 B needed", "N rows are
// too many" of "64 rows are too many".
std::string Kind(const std::string& violation) {
  std::string kind;
  bool in_number = false;
  for (const char c : violation.substr(0, violation.find(':'))) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) {
      kind += c;
    } else if (!in_number) {
      kind += 'N';
    }
    in_number = digit;
  }
  return kind;
}

// What the constraints refuse of the lists at the space's shape.
void CountRefusals(const Space& space, const std::vector<std::vector<KnobValue>>& lists,
                   AuditPlan& plan) {
  Configuration configuration;
  for (const Knob& knob : space.structure().knobs) {
    configuration.settings.push_back({knob.name, knob.values.front()});
  }
  std::vector<std::size_t> digits(lists.size());
  for (std::uint64_t listed = 0; listed < kMostListed; ++listed) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      configuration.settings[i].value = lists[i][digits[i]];
    }
    const std::vector<Violation> violations = space.Validate(configuration);
    if (!violations.empty()) {
      const std::string& why = violations.front().text;
      AuditRefusal& refusal = plan.refused[Kind(why)];
      if (refusal.count++ == 0) {
        refusal.example = configuration.Text() + " at " + Text(space.shape()) + ": " + why;
      }
      ++plan.refusals;
    }
    std::size_t i = lists.size();
    while (i > 0 && ++digits[i - 1] == lists[i - 1].size()) digits[--i] = 0;
    if (i == 0) return;
  }
}

Status AddStructure(const AuditRequest& request, const Structure& structure,
                    const std::vector<Scalar>& shape, AuditPlan& plan) {
  const Result<Space> space = Space::Make(structure, shape);
  if (!space) return space.error();
  std::vector<Configuration> list;
  if (request.whole_space) {
    space->EnumerateDistinct([&](const Configuration& configuration) {
      list.push_back(configuration);
      return true;
    });
  } else {
    list = space->AuditList();
  }
  CountRefusals(*space, ListsOf(structure, request.whole_space), plan);
  if (request.sample > 0) list = PairwiseSample(list, request.sample, request.seed);
  for (Configuration& configuration : list) {
    plan.items.push_back({&structure, std::move(configuration), shape});
  }
  return {};
}

}  // namespace

std::string AuditItem::Name() const {
  const std::string at = " at " + Text(shape);
  if (structure == nullptr) return "committed" + at;
  return structure->name + ": " + configuration.Text() + at;
}

std::vector<Configuration> PairwiseSample(const std::vector<Configuration>& list,
                                          std::uint64_t most, std::uint64_t seed) {
  if (list.size() <= most) return list;
  // Drawn in an order of chance; those that show something new come before those that do not.
  std::vector<std::size_t> order(list.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::uint64_t state = SeedFor(seed, "audit.sample");
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[Below(state, i)]);
  std::set<std::string> seen;
  std::vector<std::size_t> chosen, rest;
  for (const std::size_t index : order) {
    const std::vector<Setting>& settings = list[index].settings;
    bool fresh = false;
    for (std::size_t a = 0; a < settings.size(); ++a) {
      for (std::size_t b = a; b < settings.size(); ++b) {
        fresh = seen.insert(settings[a].knob + "=" + ToText(settings[a].value) + " " +
                            settings[b].knob + "=" + ToText(settings[b].value))
                    .second ||
                fresh;
      }
    }
    (fresh ? chosen : rest).push_back(index);
  }
  chosen.insert(chosen.end(), rest.begin(), rest.end());
  chosen.resize(most);
  std::sort(chosen.begin(), chosen.end());
  std::vector<Configuration> sample;
  for (const std::size_t index : chosen) sample.push_back(list[index]);
  return sample;
}

Result<AuditPlan> PlanAudit(std::shared_ptr<const Operation> operation,
                            const AuditRequest& request) {
  AuditPlan plan;
  plan.operation = std::move(operation);
  plan.backend = request.backend;
  const Backend* backend = plan.operation->FindBackend(request.backend);
  if (backend == nullptr) {
    std::string have;
    for (const Backend& known : plan.operation->backends) {
      have += (have.empty() ? "" : ", ") + known.name;
    }
    return Error{"operation " + plan.operation->name + " has no backend '" + request.backend +
                 "' (have: " + (have.empty() ? "none" : have) + ")"};
  }
  std::vector<std::vector<Scalar>> shapes = request.shapes;
  if (shapes.empty()) shapes = plan.operation->audit_shapes;
  if (shapes.empty()) {
    return Error{plan.operation->folder +
                 "/operation.toml: no [audit] shapes; name some there, or with --shapes"};
  }
  for (std::vector<Scalar>& shape : shapes) {
    Result<std::vector<Scalar>> checked = CheckShape(*plan.operation, shape, Place{});
    if (!checked) return checked.error();
    shape = *std::move(checked);
    const Result<const Committed*> committed = CommittedAt(*plan.operation, *backend, shape);
    if (committed && !(*committed)->source.empty()) plan.items.push_back({nullptr, {}, shape});
    for (const Structure& structure : backend->structures) {
      if (structure.source.empty()) continue;
      if (Status added = AddStructure(request, structure, shape, plan); !added) {
        return added.error();
      }
    }
  }
  for (const Structure& structure : backend->structures) {
    if (structure.source.empty()) plan.skipped.push_back(structure.name);
  }
  return plan;
}

Result<Order> AuditOrder(const AuditPlan& plan, std::size_t item, Attempt attempt) {
  const AuditItem& asked = plan.items[item];
  const Operation& operation = *plan.operation;
  const Backend& backend = *operation.FindBackend(plan.backend);
  Order order;
  order.kind = OrderKind::kAudit;
  order.track = TrackId(1);
  order.generation = Generation(static_cast<std::uint32_t>(item + 1));
  order.attempt = attempt;
  order.backend = plan.backend;
  order.operation = operation.name;
  order.scalars = asked.shape;
  auto buffers = BuffersAt(operation, asked.shape);
  if (!buffers) return buffers.error();
  order.buffers = *std::move(buffers);
  auto reference = ReferenceSource(operation);
  if (!reference) return reference.error();
  order.sources.push_back(*std::move(reference));
  order.headers = HeadersOf(operation, backend);
  order.check = {0, operation.rtol, operation.atol, SeedFor(1, "hidden input")};
  order.input_seeds = {SeedFor(1, "input")};
  order.timing.warmup = 0;
  order.timing.iterations = 1;
  const Result<double> flops = FlopsAt(operation, asked.shape);
  if (!flops) return flops.error();
  const Result<double> bytes = BytesAt(operation, asked.shape);
  if (!bytes) return bytes.error();
  order.deadlines = DeadlinesFor(order.deadlines, *flops, *bytes, order.timing);

  Arm arm;
  arm.source = 1;
  Result<SourceText> source = Error{""};
  Result<Launches> launches = Error{""};
  if (asked.structure == nullptr) {
    const Result<const Committed*> committed = CommittedAt(operation, backend, asked.shape);
    if (!committed) return committed.error();
    arm.role = ArmRole::kCommitted;
    source = CommittedSource(operation, **committed);
    launches = LaunchesOf(operation, **committed, asked.shape);
  } else {
    const Result<Space> space = Space::Make(*asked.structure, asked.shape);
    if (!space) return space.error();
    arm.role = ArmRole::kCandidate;
    arm.configuration = asked.configuration;
    source = Render(operation, *asked.structure, *space, asked.configuration);
    launches = LaunchesOf(operation, *asked.structure, *space, asked.configuration);
    order.build_options = asked.structure->build_options;
  }
  if (!source) return source.error();
  if (!launches) return launches.error();
  arm.label = Name(arm.role);
  arm.launches = std::move(launches->launches);
  arm.scratch = std::move(launches->scratch);
  order.sources.push_back(*std::move(source));
  order.arms.push_back(std::move(arm));
  return order;
}

LeaseKey Audit::KeyOf(std::size_t item) const {
  return {OrderKind::kAudit, TrackId(1), Generation(static_cast<std::uint32_t>(item + 1)),
          Attempt(tries_[item].attempt), 0};
}

AuditEffects Audit::OnMessage(const PeerId& peer, const Message& message, std::int64_t now_ms) {
  AuditEffects effects;
  if (const auto* hello = std::get_if<Hello>(&message)) {
    if (workers_.contains(peer)) Forget(effects, peer, "the worker started again");
    if (hello->device.backend != plan_.backend) {
      const std::string why = "the audit is of backend " + plan_.backend + ", device " +
                              hello->device.model + " runs " + hello->device.backend;
      effects.send.push_back({peer, Refuse{RefuseCode::kNotWanted, why}});
      effects.notes.push_back(why);
      return effects;
    }
    workers_[peer] = {hello->worker, 0, {}, now_ms};
    if (toolchain_.empty()) toolchain_ = hello->device.toolchain;
    effects.send.push_back({peer, Welcome{id_, Epoch(1), kBeatMs, kLostMs}});
    return effects;
  }
  const auto known = workers_.find(peer);
  if (known == workers_.end()) {
    effects.send.push_back({peer, Refuse{RefuseCode::kNotReady, "say HELLO first"}});
    return effects;
  }
  Worker& worker = known->second;
  worker.heard_ms = now_ms;
  if (const auto* ready = std::get_if<Ready>(&message)) {
    worker.places = ready->credit;
    Grant(effects, peer);
  } else if (const auto* beat = std::get_if<Beat>(&message)) {
    BeatAck answer;
    for (const LeaseKey& key : beat->held) {
      const bool ours = std::any_of(worker.holds.begin(), worker.holds.end(),
                                    [&](std::size_t item) { return KeyOf(item) == key; });
      if (!ours) answer.unknown.push_back(key);
    }
    effects.send.push_back({peer, std::move(answer)});
  } else if (const auto* report = std::get_if<ReportMessage>(&message)) {
    OnReport(effects, peer, report->report);
  } else if (const auto* release = std::get_if<Release>(&message)) {
    worker.places = 0;
    for (const std::size_t item : std::vector<std::size_t>(worker.holds)) {
      if (KeyOf(item) == release->key) GiveBack(effects, worker, item, release->why);
    }
    GrantAll(effects);
  } else if (const auto* bye = std::get_if<Bye>(&message)) {
    Forget(effects, peer, "the worker left: " + bye->why);
  }
  return effects;
}

AuditEffects Audit::OnTick(std::int64_t now_ms) {
  AuditEffects effects;
  std::vector<PeerId> silent;
  for (const auto& [peer, worker] : workers_) {
    if (now_ms - worker.heard_ms > kLostMs) silent.push_back(peer);
  }
  for (const PeerId& peer : silent) Forget(effects, peer, "the worker fell silent");
  return effects;
}

void Audit::Forget(AuditEffects& effects, const PeerId& peer, const std::string& why) {
  const auto known = workers_.find(peer);
  if (known == workers_.end()) return;
  Worker worker = std::move(known->second);
  workers_.erase(known);
  for (const std::size_t item : std::vector<std::size_t>(worker.holds)) {
    GiveBack(effects, worker, item, why);
  }
  GrantAll(effects);
}

void Audit::GiveBack(AuditEffects& effects, Worker& worker, std::size_t item,
                     const std::string& why) {
  std::erase(worker.holds, item);
  if (tries_[item].answered) return;
  if (tries_[item].attempt < kMostTries) {
    open_.insert(open_.begin(), item);
    return;
  }
  AuditResult result;
  result.item = item;
  result.why = "could not be checked in " + std::to_string(kMostTries) + " tries: " + why;
  Finish(effects, std::move(result));
}

void Audit::GrantAll(AuditEffects& effects) {
  std::vector<PeerId> peers;
  for (const auto& [peer, worker] : workers_) peers.push_back(peer);
  for (const PeerId& peer : peers) Grant(effects, peer);
}

void Audit::Grant(AuditEffects& effects, const PeerId& peer) {
  Worker& worker = workers_.at(peer);
  while (worker.places > worker.holds.size() && !open_.empty()) {
    const std::size_t item = open_.front();
    open_.erase(open_.begin());
    ++tries_[item].attempt;
    Result<Order> order = AuditOrder(plan_, item, Attempt(tries_[item].attempt));
    if (!order) {
      AuditResult result;
      result.item = item;
      result.why = order.error().message;
      Finish(effects, std::move(result));
      continue;
    }
    worker.holds.push_back(item);
    effects.send.push_back({peer, pawl::Grant{*std::move(order), Epoch(1), kLeaseMs}});
  }
}

void Audit::Finish(AuditEffects& effects, AuditResult result) {
  if (std::exchange(tries_[result.item].answered, true)) return;
  effects.results.push_back(std::move(result));
  if (++done_ < plan_.items.size()) return;
  for (const auto& [peer, worker] : workers_) effects.send.push_back({peer, Drain{}});
}

void Audit::OnReport(AuditEffects& effects, const PeerId& peer, const Report& report) {
  Worker& worker = workers_.at(peer);
  const LeaseKey key{report.kind, report.track, report.generation, report.attempt, report.batch};
  const Digest digest = Sha256(EncodeReport(report));
  const std::size_t item = report.generation.value - 1;
  if (report.kind != OrderKind::kAudit || item >= plan_.items.size()) {
    effects.send.push_back({peer, RejectMessage{key, digest, RejectCode::kUnknownAttempt,
                                                "this audit never asked for it", false}});
    return;
  }
  // There is no ledger; the head says that this audit is where the report lies.
  const LedgerHead head{id_, Seq(1), Sha256(id_.value)};
  effects.send.push_back({peer, Ack{key, digest, head}});
  const bool held = std::find(worker.holds.begin(), worker.holds.end(), item) != worker.holds.end();
  std::erase(worker.holds, item);
  const OutcomeKind outcome = report.outcome.kind;
  const bool nobodys = outcome == OutcomeKind::kDeviceFault || outcome == OutcomeKind::kThrottled ||
                       outcome == OutcomeKind::kNoData;
  if (nobodys && held) {
    GiveBack(effects, worker, item, report.outcome.detail);
  } else if (!nobodys) {
    std::erase(open_, item);  // asked for again when this came late
    AuditResult result;
    result.item = item;
    result.outcome = report.outcome;
    for (const CheckFacts& check : report.checks) result.elements += check.elements;
    if (!report.builds.empty()) result.build = report.builds.front();
    result.seconds = report.build_seconds + report.check_seconds;
    result.passed = outcome == OutcomeKind::kMeasured && result.elements > 0;
    if (!result.passed) {
      result.why = std::string(Name(outcome)) +
                   (report.outcome.detail.empty() ? "" : ": " + report.outcome.detail);
      if (outcome == OutcomeKind::kMeasured) result.why = "nothing was compared";
    }
    Finish(effects, std::move(result));
  }
  Grant(effects, peer);
}

}  // namespace pawl
