// Core among workers that crash, fall silent, lose, double, delay and reorder messages, and a
// coordinator that is killed at any moment. One seed is one run, the same every time.
//
// What must hold in each: what was acknowledged is in the ledger; a report is taken at most once an
// attempt; no generation is settled twice; core's tracks are the ledger's fold after every call
// (CoreBench); once the faults end the search ends; and, where answers depend on what is asked
// alone, the proposals and decisions are those of an undisturbed run.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "coordinator/search/core.h"
#include "coordinator/search/outlook.h"
#include "coordinator/search/seed.h"
#include "coordinator/search/settle.h"
#include "schema/check.h"
#include "schema/codec.h"
#include "tests/search/core_bench.h"

namespace pawl {
namespace {

using fakes::CopySpec;
using fakes::CoreBench;
using fakes::KeyOf;

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Below(std::uint64_t limit) { return pawl::Below(state_, limit); }
  bool OneIn(std::uint64_t count) { return Below(count) == 0; }

 private:
  std::uint64_t state_;
};

// What a configuration takes, as it is: what a report says is the ratio of two of these. The start
// is slow, so that many of the first ones are faster.
double TrueTime(const Configuration& configuration, std::uint64_t seed) {
  if (configuration == CopySpec().start) return 200;
  const Digest drawn = Hasher().Field(configuration.Text()).Field(std::to_string(seed)).Finish();
  return 60 + static_cast<double>(drawn.Prefix64() % 100);
}

Report AnswerByTrueTime(const Order& order, const WorkerId& worker, std::uint64_t seed) {
  if (order.kind == OrderKind::kConfirm) return fakes::Answer(order, worker, 0.9);
  return fakes::Answer(
      order, worker,
      TrueTime(order.arms[1].configuration, seed) / TrueTime(order.arms[2].configuration, seed));
}

// What a worker reports: a function of the question alone.
Report AnswerByQuestion(const Order& order, const WorkerId& worker) {
  if (order.kind == OrderKind::kConfirm) return fakes::Answer(order, worker, 0.9);
  Hasher hasher;
  for (const Arm& arm : order.arms) hasher.Field(arm.configuration.Text());
  const std::uint64_t drawn = hasher.Field(std::to_string(order.track.value)).Finish().Prefix64();
  switch (drawn % 16) {
    case 0:
      return fakes::Failure(order, worker, OutcomeKind::kCrashed, ArmRole::kCandidate);
    case 1:
      return fakes::Failure(order, worker, OutcomeKind::kBuildFailed, ArmRole::kCandidate);
    case 2:
      return fakes::Failure(order, worker, OutcomeKind::kThrottled);
    case 3:
      return fakes::Answer(order, worker, 0.97);
    default:
      return fakes::Answer(order, worker, 1.0 + static_cast<double>(drawn % 7) / 100);
  }
}

struct SimWorker {
  WorkerId id;
  int boot = 0;
  int connection = 0;
  bool silent = false;  // does nothing, as if stopped
  std::uint64_t units = 0;
  std::vector<Order> held;
  std::map<Digest, Report> spool;
  std::deque<Message> out;
  std::deque<Message> in;

  PeerId peer() const { return id.value + "#" + std::to_string(connection); }
  Hello Greeting() const {
    Hello hello = fakes::HelloOf(id.value, "boot " + std::to_string(boot));
    for (const Order& order : held) hello.held.push_back(KeyOf(order));
    return hello;
  }
};

class Simulation {
 public:
  // in_flight: above 1, times are as they are, so that every keep is known to be right or wrong.
  Simulation(std::uint64_t seed, bool random_answers, std::uint32_t max_lost,
             std::uint32_t in_flight = 1)
      : seed_(seed),
        chance_(seed),
        random_answers_(random_answers),
        in_flight_(in_flight),
        options_(CoreBench::DefaultOptions()) {
    options_.max_lost = max_lost;
    options_.max_unsettled = 200;
    bench_.Restart(options_);
    for (const char* label : {"one", "two", "three"}) {
      TrackSpec spec = CopySpec();
      spec.label = label;
      spec.confirm = true;
      spec.budget.generations = 24;
      bench_.Open(spec, label[0] == 't' ? TwoBatches : CoreBench::PlainWorkshop);
      if (in_flight > 1) bench_.InFlight(bench_.core().tracks().rbegin()->first, in_flight);
    }
    for (std::uint32_t i = 0; i < 3 * std::min(in_flight, 2U); ++i) {
      workers_.emplace_back();
      workers_.back().id = WorkerId("w" + std::to_string(i));
      Connect(workers_.back());
    }
  }

  void Disturb(int steps) {
    for (int i = 0; i < steps && !bench_.core().Done(); ++i) {
      switch (chance_.Below(40)) {
        case 0:
          Reboot(Any());
          break;
        case 1:
          Connect(Any());
          break;
        case 2:
          Any().silent = !chance_.OneIn(3);
          break;
        case 3:
          ReleaseOne(Any());
          break;
        case 4:
          Leave(Any());
          break;
        case 5:
          if (chance_.OneIn(2)) KillCoordinator();
          break;
        case 6:
          Deliver(bench_.Tick(static_cast<std::int64_t>(chance_.Below(40'000))));
          break;
        case 7:
          Stall();
          break;
        case 8:
        case 9:
          SayBeat(Any());
          break;
        default:
          Work(Any(), true);
          break;
      }
    }
  }

  // No more faults: true once the search has ended.
  bool Settle(int steps) {
    for (SimWorker& worker : workers_) {
      worker.silent = false;
      Connect(worker);
    }
    for (int i = 0; i < steps; ++i) {
      if (bench_.core().Done()) return true;
      for (SimWorker& worker : workers_) {
        for (int j = 0; j < 4; ++j) Work(worker, false);
        SayBeat(worker);
      }
      Deliver(bench_.Tick(1'000));
    }
    return bench_.core().Done();
  }

  // What was proposed and decided for each track, in order.
  std::map<TrackId, std::vector<std::string>> Story() const {
    std::map<TrackId, std::vector<std::string>> story;
    for (const Event& event : bench_.log()) {
      if (const auto* proposed = std::get_if<Proposed>(&event.body)) {
        story[event.track].push_back(proposed->candidate.Text());
      }
      if (const auto* decided = std::get_if<Decided>(&event.body)) {
        story[event.track].push_back(std::string(Name(decided->decision.reason)) +
                                     (decided->again ? " again" : ""));
      }
    }
    return story;
  }

  void CheckLedger() const {
    std::set<LeaseKey> granted, measured;
    std::set<std::pair<TrackId, Generation>> settled;
    for (const Event& event : bench_.log()) {
      if (const auto* grant = std::get_if<Granted>(&event.body)) {
        EXPECT_TRUE(
            granted
                .insert({grant->kind, event.track, grant->generation, grant->attempt, grant->batch})
                .second);
      }
      if (const auto* report = std::get_if<Measured>(&event.body)) {
        EXPECT_TRUE(granted.contains(KeyOf(report->report)));
        EXPECT_TRUE(measured.insert(KeyOf(report->report)).second);
      }
      if (const auto* decided = std::get_if<Decided>(&event.body); decided && !decided->again) {
        EXPECT_TRUE(settled.insert({event.track, decided->generation}).second);
      }
    }
    EXPECT_GE(measured.size(), acknowledged_.size());
  }

  // Every proposal, decision and end follows from what is before it; candidates in flight at once
  // are distinct, no more than allowed and within the budget; every keep is of a faster kernel.
  void CheckDerived() const {
    std::map<TrackId, Track> tracks;
    const SettleLimits limits{options_.max_voids, options_.max_lost};
    for (const Event& event : bench_.log()) {
      if (event.track == TrackId(0)) continue;
      if (const auto* opened = std::get_if<TrackOpened>(&event.body)) {
        tracks.emplace(event.track, OpenTrack(event.track, *opened, event.seq));
        continue;
      }
      Track& track = tracks.at(event.track);
      const Workshop& workshop = bench_.core().tracks().at(event.track).workshop;
      SCOPED_TRACE("event " + std::to_string(event.seq.value));
      if (const auto* proposed = std::get_if<Proposed>(&event.body)) {
        const Outlook outlook(track);
        const auto again = workshop.proposer->Propose(outlook.state(), *workshop.space);
        ASSERT_TRUE(again && again->candidate == proposed->candidate);
        EXPECT_FALSE(WhyEnds(outlook.state(), outlook.state().spec.budget));
        for (const auto& [generation, open] : track.generations) {
          EXPECT_NE(open.proposed.candidate, proposed->candidate);
        }
        EXPECT_LT(track.generations.size(), in_flight_);
      }
      if (const auto* decided = std::get_if<Decided>(&event.body)) {
        const OpenGeneration& open = track.generations.at(decided->generation);
        const auto next = NextStep(track, open, *workshop.policy, limits);
        const auto* again = std::get_if<Decided>(&next);
        EXPECT_TRUE(again != nullptr && *again == *decided);
        superseded_ += decided->decision.reason == Reason::kSuperseded ? 1 : 0;
        if (in_flight_ > 1 && decided->decision.verdict == Verdict::kKeep) {
          EXPECT_LT(TrueTime(open.proposed.candidate, seed_),
                    TrueTime(track.state.incumbent, seed_));
          EXPECT_EQ(open.Evidence()->incumbent, track.state.incumbent);
        }
      }
      Apply(track, event);
      if (in_flight_ > 1) {
        EXPECT_LT(track.last_applied.value - track.Settled().settled.value, 1'200U);
      }
    }
    for (const auto& [id, track] : tracks) EXPECT_EQ(track, bench_.track(id.value));
  }

  int superseded() const { return superseded_; }
  std::size_t acknowledged() const { return acknowledged_.size(); }
  int kills() const { return kills_; }
  const CoreBench& bench() const { return bench_; }

 private:
  static Workshop TwoBatches(const TrackSpec& spec) {
    return fakes::CopyWorkshop(spec, std::make_unique<fakes::PlainPolicy>(2, 2),
                               fakes::Everything());
  }

  SimWorker& Any() { return workers_[chance_.Below(workers_.size())]; }

  void Connect(SimWorker& worker) {
    ++worker.connection;
    worker.out.clear();
    worker.in.clear();
    worker.out.push_back(worker.Greeting());
  }

  void Reboot(SimWorker& worker) {
    ++worker.boot;
    worker.units = 0;
    worker.held.clear();
    Connect(worker);
  }

  void Leave(SimWorker& worker) {
    worker.out.push_back(Bye{"stopped"});
    worker.held.clear();
  }

  void ReleaseOne(SimWorker& worker) {
    if (worker.held.empty()) return;
    worker.out.push_back(Release{KeyOf(worker.held.back()), "preempted"});
    worker.held.pop_back();
    worker.out.push_back(Ready{1});
  }

  void SayBeat(SimWorker& worker) {
    if (worker.silent) return;
    Beat beat;
    for (const Order& order : worker.held) beat.held.push_back(KeyOf(order));
    beat.units_done = worker.units;
    beat.runner_alive = true;
    worker.out.push_back(beat);
  }

  void Stall() {
    const auto stalled = static_cast<std::int64_t>(chance_.Below(100'000));
    bench_.now_ms += stalled;
    bench_.core().OnStall(stalled);
  }

  // One thing that a worker may do: measure, read, or have a message of its own arrive.
  void Work(SimWorker& worker, bool faults) {
    if (worker.silent) return;
    if (!worker.held.empty() && chance_.OneIn(3)) return Finish(worker);
    if (!worker.in.empty() && chance_.OneIn(2)) {
      const Message message = Take(worker.in, faults);
      Read(worker, message);
    } else if (!worker.out.empty()) {
      const Message message = Take(worker.out, faults);
      if (faults && chance_.OneIn(50)) return;  // lost on the way
      Arrive(worker, message, faults);
    }
  }

  // Mostly the first message; with faults sometimes a later one, and sometimes it stays to come
  // again.
  Message Take(std::deque<Message>& queue, bool faults) {
    const std::size_t index = faults && chance_.OneIn(10) ? chance_.Below(queue.size()) : 0;
    Message message = queue[index];
    if (!faults || !chance_.OneIn(20))
      queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(index));
    return message;
  }

  void Finish(SimWorker& worker) {
    const Order order = worker.held.front();
    worker.held.erase(worker.held.begin());
    ++worker.units;
    Report report = in_flight_ > 1 ? AnswerByTrueTime(order, worker.id, seed_)
                                   : AnswerByQuestion(order, worker.id);
    if (random_answers_) {
      if (chance_.OneIn(6)) {
        report = fakes::Failure(order, worker.id, OutcomeKind::kHung,
                                chance_.OneIn(2) ? ArmRole::kCandidate : ArmRole::kIncumbent);
      } else if (chance_.OneIn(30)) {
        report.rounds.clear();  // measured, it says
      }
    }
    worker.spool.emplace(Sha256(EncodeReport(report)), report);
    worker.out.push_back(ReportMessage{report});
    worker.out.push_back(Ready{1});
  }

  void Read(SimWorker& worker, const Message& message) {
    const auto drop = [&](const LeaseKey& key) {
      for (std::size_t i = 0; i < worker.held.size(); ++i) {
        if (KeyOf(worker.held[i]) == key)
          worker.held.erase(worker.held.begin() + static_cast<std::ptrdiff_t>(i--));
      }
    };
    if (std::holds_alternative<Welcome>(message)) {
      for (const auto& [digest, report] : worker.spool) worker.out.push_back(ReportMessage{report});
      worker.out.push_back(Ready{1});
    } else if (const auto* refuse = std::get_if<Refuse>(&message)) {
      EXPECT_EQ(refuse->code, RefuseCode::kNotReady) << refuse->why;
      Connect(worker);
    } else if (const auto* grant = std::get_if<Grant>(&message)) {
      drop(KeyOf(grant->order));  // a doubled grant is one order
      worker.held.push_back(grant->order);
    } else if (const auto* cancel = std::get_if<Cancel>(&message)) {
      drop(cancel->key);
    } else if (const auto* beat = std::get_if<BeatAck>(&message)) {
      for (const LeaseKey& key : beat->unknown) drop(key);
    } else if (const auto* ack = std::get_if<Ack>(&message)) {
      EXPECT_TRUE(InLedger(ack->key, ack->report)) << "acknowledged and not in the ledger";
      acknowledged_.insert(ack->report);
      worker.spool.erase(ack->report);
    } else if (const auto* reject = std::get_if<RejectMessage>(&message)) {
      worker.spool.erase(reject->report);
    }
  }

  bool InLedger(const LeaseKey& key, const Digest& digest) const {
    for (const Event& event : bench_.log()) {
      const auto* measured = std::get_if<Measured>(&event.body);
      if (measured && measured->digest == digest && KeyOf(measured->report) == key) return true;
    }
    return false;
  }

  void Arrive(const SimWorker& worker, const Message& message, bool faults) {
    if (faults && chance_.OneIn(200)) {
      // Killed before the append: whatever core decided never was.
      (void)bench_.core().OnMessage(worker.peer(), message, bench_.now_ms);
      return KillCoordinator();
    }
    Effects effects = bench_.Send(worker.peer(), message);
    if (faults && chance_.OneIn(200)) return KillCoordinator();  // after it, before anyone is told
    Deliver(effects);
  }

  void Deliver(const Effects& effects) {
    for (const Outgoing& outgoing : effects.send) {
      for (SimWorker& worker : workers_) {
        if (worker.peer() == outgoing.peer) worker.in.push_back(outgoing.message);
      }
    }
  }

  void KillCoordinator() {
    ++kills_;
    bench_.Restart(options_);
    for (SimWorker& worker : workers_) {
      worker.in.clear();
      worker.out.clear();
      if (chance_.OneIn(2))
        Connect(worker);  // the others notice when they are refused
      else
        SayBeat(worker);
    }
  }

  const std::uint64_t seed_;
  Chance chance_;
  const bool random_answers_;
  const std::uint32_t in_flight_;
  CoreOptions options_;
  CoreBench bench_;
  std::vector<SimWorker> workers_;
  std::set<Digest> acknowledged_;
  int kills_ = 0;
  mutable int superseded_ = 0;
};

std::map<TrackId, std::vector<std::string>> UndisturbedStory() {
  Simulation calm(1, false, 1'000);
  CHECK(calm.Settle(2'000));
  return calm.Story();
}

TEST(CoreSimulation, DisturbedSearchesEndWithTheSameProposalsAndDecisions) {
  const auto undisturbed = UndisturbedStory();
  ASSERT_EQ(undisturbed.size(), 3u);
  int kills = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation simulation(seed, false, 1'000);
    simulation.Disturb(4'000);
    ASSERT_TRUE(simulation.Settle(2'000)) << "the search does not end";
    simulation.CheckLedger();
    EXPECT_EQ(simulation.Story(), undisturbed);
    kills += simulation.kills();
  }
  EXPECT_GT(kills, 400) << "the run is hardly disturbed";
}

TEST(CoreSimulation, SeveralInFlightAreNeverKeptWronglyInWhateverOrderTheirReportsCome) {
  int superseded = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation simulation(seed, seed % 2 == 0, 1'000, 2 + seed % 5);
    simulation.Disturb(4'000);
    ASSERT_TRUE(simulation.Settle(2'000)) << "the search does not end";
    simulation.CheckLedger();
    simulation.CheckDerived();
    for (const auto& [id, entry] : simulation.bench().core().tracks()) {
      EXPECT_NE(entry.track.state.status, TrackStatus::kSearching);
      EXPECT_LE(entry.track.state.last, Generation(24));
    }
    superseded += simulation.superseded();
  }
  EXPECT_GT(superseded, 20) << "keeps hardly meet what is in flight";
}

TEST(CoreSimulation, SearchesEndWhateverWorkersAnswer) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation simulation(seed, true, 4);
    simulation.Disturb(4'000);
    ASSERT_TRUE(simulation.Settle(2'000)) << "the search does not end";
    simulation.CheckLedger();
    for (const auto& [id, entry] : simulation.bench().core().tracks()) {
      EXPECT_NE(entry.track.state.status, TrackStatus::kSearching);
    }
  }
}

}  // namespace
}  // namespace pawl
