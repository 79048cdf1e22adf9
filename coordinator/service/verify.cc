#include "coordinator/service/verify.h"

#include <map>

#include "coordinator/search/answers.h"
#include "coordinator/search/outlook.h"
#include "coordinator/search/settle.h"
#include "coordinator/service/resume.h"
#include "schema/codec.h"

namespace pawl {
namespace {

constexpr std::size_t kMostProblems = 20;
constexpr std::size_t kMostRendered = 1 << 16;  // digests remembered; incumbents recur

// A track as it is folded, with what it searches with.
struct Witnessed {
  Track track;
  Workshop workshop;
  std::map<Digest, Digest> rendered;  // configuration -> source
};

class Verifier {
 public:
  Verifier(const Ledger& ledger, Verification& found) : ledger_(ledger), found_(found) {}

  // False: enough problems.
  bool OnEvent(const Event& event) {
    ++found_.events;
    if (event.track == TrackId{}) {
      if (const auto why = board_.WhyNotApply(event)) {
        Problem(event, *why);
      } else {
        board_.Apply(event);
      }
      return More();
    }
    if (const auto* opened = std::get_if<TrackOpened>(&event.body)) {
      Open(event, *opened);
      return More();
    }
    const auto entry = tracks_.find(event.track);
    if (entry == tracks_.end()) return More();  // its opening was a problem already
    Witnessed& witnessed = entry->second;
    if (const auto why = WhyNotApply(witnessed.track, event)) {
      Problem(event, *why);
      tracks_.erase(entry);
      return More();
    }
    if (const auto* proposed = std::get_if<Proposed>(&event.body))
      Check(event, witnessed, *proposed);
    if (const auto* measured = std::get_if<Measured>(&event.body))
      Check(event, witnessed, *measured);
    if (const auto* decided = std::get_if<Decided>(&event.body)) Check(event, witnessed, *decided);
    if (const auto* confirmed = std::get_if<Confirmed>(&event.body))
      Check(event, witnessed, *confirmed);
    if (const auto* closed = std::get_if<TrackClosed>(&event.body))
      Check(event, witnessed, *closed);
    Apply(witnessed.track, event);
    return More();
  }

  void CompareWithSnapshot() {
    auto resumed = FoldLedger(ledger_);
    if (!resumed) {
      found_.problems.push_back(resumed.error().message);
      return;
    }
    if (resumed->board != board_) {
      found_.problems.push_back("the newest snapshot has other jobs than the fold of the events");
    }
    for (const auto& [id, witnessed] : tracks_) {
      const auto track = resumed->tracks.find(id);
      if (track == resumed->tracks.end() || track->second.state != witnessed.track.state) {
        found_.problems.push_back("track " + std::to_string(id.value) +
                                  ": the newest snapshot differs from the fold of the events");
      }
    }
  }

 private:
  bool More() const { return found_.problems.size() < kMostProblems; }

  void Problem(const Event& event, const std::string& what) {
    found_.problems.push_back("event " + std::to_string(event.seq.value) + ", track " +
                              std::to_string(event.track.value) + ": " + what);
  }

  void Open(const Event& event, const TrackOpened& opened) {
    auto operation = PackageOf(ledger_, opened.spec);
    if (!operation) return Problem(event, operation.error().message);
    auto workshop = MakeWorkshop(opened.spec, *operation);
    if (!workshop) return Problem(event, workshop.error().message);
    tracks_.emplace(event.track,
                    Witnessed{OpenTrack(event.track, opened, event.seq), *std::move(workshop), {}});
  }

  void CheckSource(const Event& event, Witnessed& witnessed, const Configuration& configuration,
                   const Digest& recorded, const std::string& whose) {
    if (recorded.IsZero() && witnessed.workshop.structure->source.empty()) return;
    const Digest key = configuration.Hash();
    auto known = witnessed.rendered.find(key);
    if (known == witnessed.rendered.end()) {
      auto digest = SourceDigest(witnessed.workshop, configuration);
      if (!digest) return Problem(event, "the " + whose + "'s source: " + digest.error().message);
      if (witnessed.rendered.size() >= kMostRendered) witnessed.rendered.clear();
      known = witnessed.rendered.emplace(key, *digest).first;
      ++found_.sources;
    }
    if (known->second != recorded) {
      Problem(event, "the " + whose + "'s source renders to " + known->second.Short() +
                         ", recorded is " + recorded.Short());
    }
  }

  void Check(const Event& event, Witnessed& witnessed, const Proposed& proposed) {
    ++found_.proposals;
    const Workshop& workshop = witnessed.workshop;
    const Outlook outlook(witnessed.track);
    const auto again = workshop.proposer->Propose(outlook.state(), *workshop.space);
    const bool same =
        again && again->candidate == proposed.candidate && again->hypothesis == proposed.hypothesis;
    // That the changes lead from the track's incumbent to the candidate, WhyNotApply has seen.
    if (same && (again->changes != proposed.changes || again->violations != proposed.violations)) {
      Problem(event, "generation " + std::to_string(proposed.generation.value) + " records " +
                         std::to_string(proposed.violations.size()) +
                         " violations and which changes were repairs otherwise than the proposer");
    }
    if (!same) {
      Problem(event, "generation " + std::to_string(proposed.generation.value) + " is " +
                         proposed.candidate.Text() + ", the proposer gives " +
                         (again ? again->candidate.Text() : "nothing"));
    }
    // What was refused was never rendered.
    if (proposed.violations.empty()) {
      CheckSource(event, witnessed, proposed.candidate, proposed.candidate_source, "candidate");
    } else if (!proposed.candidate_source.IsZero()) {
      Problem(event, "the candidate was refused and yet has the source " +
                         proposed.candidate_source.Short());
    }
    CheckSource(event, witnessed, proposed.incumbent, proposed.incumbent_source, "incumbent");
  }

  void Check(const Event& event, const Witnessed& witnessed, const Measured& measured) {
    const Report& report = measured.report;
    const std::string text = std::string(Name(report.kind)) + " report of generation " +
                             std::to_string(report.generation.value) + " ";
    if (const Digest digest = Sha256(EncodeReport(report)); digest != measured.digest) {
      Problem(event,
              text + "has digest " + digest.Short() + ", recorded is " + measured.digest.Short());
    }
    const Track& track = witnessed.track;
    const bool measure = report.kind == OrderKind::kMeasure;
    const OpenAttempt& granted =
        track.Find(report.kind, report.generation)->Find(report.attempt)->grant;
    if (report.order != granted.order || report.worker != granted.worker) {
      Problem(event, text + "answers order " + report.order.Short() + " of " + report.worker.value +
                         ", granted was " + granted.order.Short() + " to " + granted.worker.value);
    }
    const Workshop& workshop = witnessed.workshop;
    const OrderPlan plan =
        measure ? MeasurePlan(workshop, track.state.spec, report.generation, report.batch)
                : ConfirmPlanOf(workshop, track, report);
    if (const auto why = WhyNotAnswer(plan, report)) Problem(event, text + *why);
  }

  void Check(const Event& event, Witnessed& witnessed, const Confirmed& confirmed) {
    ++found_.decisions;
    const auto next = NextConfirmStep(witnessed.workshop, witnessed.track, SettleLimits{});
    const auto* again = std::get_if<Confirmed>(&next);
    if (again == nullptr && !confirmed.valid && IsWithoutOrder(confirmed.detail)) return;
    if (again != nullptr && *again == confirmed) return;
    const auto text = [](const Confirmed& one) {
      return one.valid ? "a gain of " + std::to_string(one.gain) : "no figure (" + one.detail + ")";
    };
    Problem(event, "confirmation " + std::to_string(confirmed.number) + " has " + text(confirmed) +
                       ", its report gives " +
                       (again == nullptr ? std::string("another attempt") : text(*again)));
  }

  // The words of a track's end, as core_search.cc gives them.
  void Check(const Event& event, const Witnessed& witnessed, const TrackClosed& closed) {
    const TrackState& state = witnessed.track.state;
    const Workshop& workshop = witnessed.workshop;
    std::string why;
    if (witnessed.track.at_end) {
      why = AtEndOfReplay(*witnessed.track.at_end);
    } else if (auto ends = WhyEnds(state, state.spec.budget)) {
      why = *std::move(ends);
    } else if (!workshop.proposer->Propose(state, *workshop.space)) {
      why = kNothingLeft;
    } else {
      why = "nothing that ends it";
    }
    if (why != closed.why) {
      Problem(event, "the track is closed (" + closed.why + "), its events give " + why);
    }
  }

  void Check(const Event& event, Witnessed& witnessed, const Decided& decided) {
    ++found_.decisions;
    const Track& track = witnessed.track;
    const OpenGeneration& open = track.generations.at(decided.generation);
    const auto next = NextStep(track, open, *witnessed.workshop.policy, SettleLimits{});
    const auto* again = std::get_if<Decided>(&next);
    if (again == nullptr && IsWithoutOrder(decided.decision.detail) && !decided.again &&
        decided.decision.reason == Reason::kDeviceFault) {
      return;
    }
    if (again == nullptr || *again != decided) {
      Problem(event, "generation " + std::to_string(decided.generation.value) + " was decided " +
                         std::string(Name(decided.decision.verdict)) + " (" +
                         decided.decision.detail + "), its reports give " +
                         (again == nullptr ? std::string("another attempt")
                                           : std::string(Name(again->decision.verdict)) + " (" +
                                                 again->decision.detail + ")"));
    }
  }

  const Ledger& ledger_;
  Verification& found_;
  std::map<TrackId, Witnessed> tracks_;
  JobBoard board_;
};

}  // namespace

Result<Verification> VerifyLedger(const Ledger& ledger,
                                  const std::function<void(Seq done, Seq total)>& progress) {
  Verification found;
  auto chain = ledger.VerifyChain(progress);
  if (!chain) return chain.error();
  if (!chain->ok()) {
    found.events = chain->events.value;
    found.problems.push_back(chain->problem);
    return found;
  }
  Verifier verifier(ledger, found);
  if (Status scanned =
          ledger.Scan(Seq{1}, [&](const Event& event) { return verifier.OnEvent(event); });
      !scanned) {
    return scanned.error();
  }
  if (found.ok()) verifier.CompareWithSnapshot();
  return found;
}

}  // namespace pawl
