#pragma once
// Core with a ledger in memory and a clock that the test turns: every effect is carried out as the
// service does, and after each call core's tracks must be what a fold of the ledger from its start
// gives.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/search/core.h"
#include "tests/search/search_fakes.h"

namespace pawl::fakes {

// Effects in short, whole: events as "+ proposed g1", messages as "p1 < GRANT t1 g1 a1 b0", in
// order.
std::vector<std::string> Told(const Effects& effects);

// A worker's HELLO with Bench()'s facts.
Hello HelloOf(const std::string& worker, const std::string& boot = "boot 1");

class CoreBench {
 public:
  using MakeWorkshopOf = std::function<Workshop(const TrackSpec&)>;

  explicit CoreBench(CoreOptions options = DefaultOptions());
  static CoreOptions DefaultOptions();
  // With the same reports, three rounds each and every configuration in order.
  static Workshop PlainWorkshop(const TrackSpec& spec);

  std::int64_t now_ms = 1'000'000;

  Core& core() { return *core_; }
  const Core& core() const { return *core_; }
  const std::vector<Event>& log() const { return log_; }
  const Track& track(std::uint32_t id = 1) const { return core_->tracks().at(TrackId(id)).track; }

  Effects Open(const TrackSpec& spec = CopySpec(), MakeWorkshopOf make = PlainWorkshop);
  Effects InFlight(TrackId id, std::uint32_t most);  // also after a restart
  Effects Send(const PeerId& peer, const Message& message);
  Effects Report(const PeerId& peer, const pawl::Report& report) {
    return Send(peer, ReportMessage{report});
  }
  Effects Tick(std::int64_t forward_ms = 0);
  Effects Carry(Effects effects);  // of a call to core()

  // HELLO and READY; the worker is named as its peer. The effects of READY.
  Effects Join(const std::string& name, std::uint32_t credit = 1);
  // The order of the newest GRANT.
  const Order& granted() const { return granted_; }
  const Grant& grant() const { return grant_; }

  // As after kill -9: a new core on the ledger's fold, in the next epoch. Peers are gone.
  void Restart(CoreOptions options = DefaultOptions());

 private:
  void Start(CoreOptions options);

  std::unique_ptr<Core> core_;
  std::uint32_t epoch_ = 0;
  std::vector<Event> log_;
  std::map<TrackId, Track> folded_;  // event by event, apart from core
  JobBoard board_;                   // likewise
  std::map<TrackId, MakeWorkshopOf> makers_;
  std::map<TrackId, std::uint32_t> in_flight_;
  Order granted_;
  Grant grant_;
};

}  // namespace pawl::fakes
