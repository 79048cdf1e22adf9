#include "coordinator/search/audit.h"

#include <algorithm>
#include <set>
#include <utility>

#include "coordinator/search/problem.h"
#include "coordinator/search/seed.h"
#include "kernels/space.h"

namespace pawl {
namespace {

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

// What the constraints refuse of the lists at the space's shape: every combination is looked at,
// a few microseconds each. `own`: the structure's.
void CountRefusals(const Space& space, const std::vector<std::vector<KnobValue>>& lists,
                   AuditRefusal& own, AuditPlan& plan) {
  Configuration configuration;
  for (const Knob& knob : space.structure().knobs) {
    configuration.settings.push_back({knob.name, knob.values.front()});
  }
  std::vector<std::size_t> digits(lists.size());
  while (true) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      configuration.settings[i].value = lists[i][digits[i]];
    }
    const std::vector<Violation> violations = space.Validate(configuration);
    if (!violations.empty()) {
      const Violation& why = violations.front();
      const std::string example =
          configuration.Text() + " at " + Text(space.shape()) + ": " + why.text;
      own.Add(example);
      (why.broken ? plan.broken : plan.refused)[Kind(why.text)].Add(
          why.broken ? space.structure().name + ": " + example : example);
      ++(why.broken ? plan.breaks : plan.refusals);
    }
    std::size_t i = lists.size();
    while (i > 0 && ++digits[i - 1] == lists[i - 1].size()) digits[--i] = 0;
    if (i == 0) return;
  }
}

Status AddStructure(const AuditRequest& request, const Structure& structure,
                    const std::vector<Scalar>& shape, AuditRefusal& own, AuditPlan& plan) {
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
  CountRefusals(*space, ListsOf(structure, request.whole_space), own, plan);
  if (request.sample > 0) list = PairwiseSample(list, request.sample, request.seed);
  for (Configuration& configuration : list) {
    plan.items.push_back({&structure, std::move(configuration), shape, false});
  }
  return {};
}

// Every sum of such inputs is a whole number that float32 holds, in any order.
void MakeExact(const Fill& integers, Order& order) {
  for (Buffer& buffer : order.buffers) {
    const bool real = buffer.dtype == DType::kF32 || buffer.dtype == DType::kF64;
    if (real && buffer.role == BufferRole::kInput) buffer.fill = integers;
  }
  order.check.rtol = 0;
  order.check.atol = 0;
}

}  // namespace

std::string AuditItem::Kernel() const {
  return structure == nullptr ? "committed" : structure->name + ": " + configuration.Text();
}

std::string AuditItem::Name() const { return Kernel() + " at " + Text(shape); }

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
  plan.deadlines = request.deadlines;
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
  std::map<std::string, AuditRefusal> refused;  // by structure
  for (std::vector<Scalar>& shape : shapes) {
    Result<std::vector<Scalar>> checked = CheckShape(*plan.operation, shape, Place{});
    if (!checked) return checked.error();
    shape = *std::move(checked);
    const Result<const Committed*> committed = CommittedAt(*plan.operation, *backend, shape);
    if (committed && !(*committed)->source.empty())
      plan.items.push_back({nullptr, {}, shape, false});
    for (const Structure& structure : backend->structures) {
      if (structure.source.empty()) continue;
      if (Status added = AddStructure(request, structure, shape, refused[structure.name], plan);
          !added) {
        return added.error();
      }
    }
  }
  if (plan.operation->exact) {
    for (AuditItem& item : plan.items) {
      const auto at = std::find(shapes.begin(), shapes.end(), item.shape) - shapes.begin();
      item.exact = (SeedFor(1, item.Kernel()) + static_cast<std::uint64_t>(at)) % 2 == 1;
    }
  }
  for (const Structure& structure : backend->structures) {
    if (structure.source.empty()) {
      plan.skipped.push_back(structure.name);
    } else if (std::none_of(plan.items.begin(), plan.items.end(),
                            [&](const AuditItem& item) { return item.structure == &structure; })) {
      plan.gaps.push_back({structure.name, refused[structure.name]});
    }
  }
  return plan;
}

Result<Order> AuditOrder(const AuditPlan& plan, std::size_t item, Attempt attempt) {
  const AuditItem& asked = plan.items[item];
  const Backend& backend = *plan.operation->FindBackend(plan.backend);
  ProblemTerms terms;
  terms.seed = 1;
  terms.input_sets = 1;
  terms.timing.warmup = 0;
  terms.timing.iterations = 1;
  terms.deadlines = plan.deadlines;
  Result<Order> order = OrderOver(*plan.operation, backend, asked.shape, terms);
  if (!order) return order.error();
  order->kind = OrderKind::kAudit;
  order->track = TrackId(1);
  order->generation = Generation(static_cast<std::uint32_t>(item + 1));
  order->attempt = attempt;
  if (asked.exact) MakeExact(*plan.operation->exact, *order);
  const ArmRole role = asked.structure == nullptr ? ArmRole::kCommitted : ArmRole::kCandidate;
  const Kernel kernel{asked.structure, asked.configuration};
  if (Status added =
          AddKernel(*order, *plan.operation, backend, kernel, role, std::string(Name(role)));
      !added) {
    return added.error();
  }
  return order;
}

ErrandList AuditErrands(const AuditPlan& plan) {
  ErrandList list;
  list.kind = OrderKind::kAudit;
  list.count = plan.items.size();
  list.make = [&plan](std::size_t item, Attempt attempt, const DeviceFacts&) {
    return AuditOrder(plan, item, attempt);
  };
  list.why_not = [&plan](const DeviceFacts& device) -> std::optional<std::string> {
    if (device.backend == plan.backend) return std::nullopt;
    return "the audit is of backend " + plan.backend + ", device " + device.model + " runs " +
           device.backend;
  };
  return list;
}

AuditResult JudgeAudit(const ErrandResult& result) {
  AuditResult audited;
  audited.item = result.item;
  audited.why = result.why;
  audited.given_up = result.given_up;
  if (!result.report) return audited;
  const Report& report = *result.report;
  audited.outcome = report.outcome;
  for (const CheckFacts& check : report.checks) audited.elements += check.elements;
  if (!report.builds.empty()) audited.build = report.builds.front();
  audited.seconds = report.build_seconds + report.check_seconds;
  if (!result.answered()) return audited;
  const bool measured = report.outcome.kind == OutcomeKind::kMeasured;
  audited.passed = measured && audited.elements > 0;
  if (audited.passed) return audited;
  audited.why = measured ? "nothing was compared" : std::string(Name(report.outcome.kind));
  if (!report.outcome.detail.empty()) audited.why += ": " + report.outcome.detail;
  return audited;
}

}  // namespace pawl
