#pragma once
// Errands: a list of orders, each answered once by some worker and written to no ledger. Pure, like
// core: no socket, disk or clock.
//
// An order that a worker gives back, loses, or answers with what is nobody's fault (a device fault,
// a throttled clock) goes out again, to whoever has a place, up to kMostTries times. What is not
// recorded is not recorded at the next try either. The first valid report of an order counts, also
// when it is late; the same report again is acknowledged and changes nothing.
//
// A list may be left open: more items are added while it runs, so that something else can happen
// between one order and the next (`pawl bench`). Workers are told to drain once it is closed.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/search/core.h"
#include "coordinator/search/orders.h"
#include "schema/message.h"
#include "schema/order.h"
#include "schema/report.h"
#include "schema/result.h"

namespace pawl {

struct ErrandList {
  OrderKind kind = OrderKind::kAudit;
  std::size_t count = 0;
  bool open = false;  // items may be added until it is closed
  // The order of an item, made when a worker has a place for it. Its kind, track, generation and
  // attempt are set by Errands. An error is the item's result.
  std::function<Result<Order>(std::size_t item, Attempt attempt, const DeviceFacts& device)> make;
  // nullopt: the device may take orders of this list; else why not, in one line.
  std::function<std::optional<std::string>(const DeviceFacts& device)> why_not;
};

struct ErrandResult {
  std::size_t item = 0;
  std::string
      why;  // empty: answered; else why not: "could not be answered in 3 tries: no compiler"
  // The answer; where there is none, the last report of what was nobody's fault, if one came.
  std::optional<Report> report;
  std::optional<Order> order;  // that the report answers
  DeviceFacts device;          // that it comes from
  std::uint32_t tries = 0;
  bool given_up = false;  // unanswered because no worker could: nothing is said of the order

  bool answered() const { return why.empty(); }
};

struct ErrandEffects {
  std::vector<Outgoing> send;
  std::vector<ErrandResult> results;
  std::vector<std::string> notes;  // why a worker was sent away
};

class Errands {
 public:
  // `id` names the list to the workers, as a ledger's names a ledger.
  Errands(ErrandList list, LedgerId id);

  ErrandEffects OnMessage(const PeerId& peer, const Message& message, std::int64_t now_ms);
  // A frame that is no message: of a worker of another protocol version, which is told so, or
  // damage.
  ErrandEffects OnUndecodable(const PeerId& peer, const std::string& why, bool other_version);
  ErrandEffects OnTick(std::int64_t now_ms);

  // Of an open list. What is added is granted at the next tick.
  void Add(std::size_t count);
  ErrandEffects Close();

  // Every item has its result and none can be added; workers have been told to drain.
  bool Done() const { return !open_ended_ && done_ == items_.size(); }
  std::size_t done() const { return done_; }
  std::size_t count() const { return items_.size(); }
  std::size_t workers() const { return workers_.size(); }
  // Of the first worker: what compiled and checked; empty before there is one.
  const std::string& toolchain() const { return toolchain_; }

  static constexpr std::uint32_t kMostTries = 3;
  static constexpr std::uint32_t kBeatMs = 1'000;
  static constexpr std::uint32_t kLostMs = 20'000;

 private:
  struct Worker {
    DeviceFacts device;
    std::uint32_t places = 0;
    std::vector<std::size_t> holds;  // items
    std::int64_t heard_ms = 0;
  };
  // An attempt at an item.
  struct Granted {
    Order order;
    Digest digest;  // of its bytes
    DeviceFacts device;
  };
  struct Item {
    std::vector<Granted> granted;  // by attempt, from 1; empty again once answered
    std::uint32_t tries = 0;
    bool answered = false;
    // What was nobody's fault: the last such report, and the attempt that it answers.
    std::optional<Report> fault;
  };

  void Grant(ErrandEffects& effects, const PeerId& peer);
  void GrantAll(ErrandEffects& effects);
  void OnHello(ErrandEffects& effects, const PeerId& peer, const Hello& hello, std::int64_t now_ms);
  void OnBeat(ErrandEffects& effects, const PeerId& peer, const Beat& beat);
  void OnReport(ErrandEffects& effects, const PeerId& peer, const Report& report);
  void Take(ErrandEffects& effects, std::size_t item, const Report& report, const std::string& why);
  void GiveBack(ErrandEffects& effects, Worker& worker, std::size_t item, const std::string& why);
  void Finish(ErrandEffects& effects, ErrandResult result);
  void DrainWhenDone(ErrandEffects& effects);
  void Forget(ErrandEffects& effects, const PeerId& peer, const std::string& why);
  LeaseKey KeyOf(std::size_t item) const;  // of its last attempt

  const ErrandList list_;
  const LedgerId id_;
  bool open_ended_;
  std::vector<std::size_t> open_;  // items to be granted, the next one last
  std::vector<Item> items_;
  std::map<PeerId, Worker> workers_;
  std::size_t done_ = 0;
  std::string toolchain_;
};

}  // namespace pawl
