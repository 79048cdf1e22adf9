#pragma once
// Carries a bench out: the worker's arms through errands, the rivals' visits between them.
//
//   each arm of the worker alone: build, check, a first visit
//   ─> each rival: prepare, check on two input sets, a first visit
//   ─> the rounds (coordinator/bench/bench_rounds.h), a leg at a time: an order, or a rival's visit
//   ─> each rival's last outputs checked
//
// The worker is idle while a rival is visited, and a rival while the worker measures.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/bench/bench.h"
#include "coordinator/bench/bench_rounds.h"
#include "coordinator/bench/rival.h"
#include "coordinator/search/errands.h"
#include "coordinator/service/errand_session.h"
#include "schema/result.h"

namespace pawl {

struct BenchPlaces {
  std::string kernels;  // folder of the packages
  std::string folder;   // for the data: of its own
  std::string state;    // of the worker
};

class BenchRun {
 public:
  // What it is given must outlive it.
  BenchRun(const Bench& bench, const BenchPlaces& places, ErrandSession& session);

  // nullopt: a signal has come. Errors: no order can be made, no worker can go on.
  Result<std::optional<BenchResult>> Run();

 private:
  Result<Order> Make(std::size_t item, const DeviceFacts& device);
  void Take(const ErrandResult& answer);
  void OnTurn();
  void BeginRivals();
  void EndRivals();
  bool Stopped() const;

  const Bench& bench_;
  const BenchPlaces& places_;
  ErrandSession& session_;
  std::unique_ptr<Errands> errands_;
  std::optional<Error> problem_;  // with the orders: there will be no result
  BenchResult result_;
  std::size_t worker_arms_ = 0;  // the first of the ring
  std::size_t probed_ = 0;
  bool begun_ = false;             // the rivals have
  bool waiting_ = true;            // for the worker's answer to the leg
  std::vector<std::size_t> ring_;  // into result_.arms
  std::vector<BenchLeg> legs_;
  std::size_t next_leg_ = 0;
  std::vector<std::size_t> in_order_;  // the arms of the order that is out
  std::unique_ptr<BenchData> data_;
  RivalEnvironment environment_;
  std::vector<std::unique_ptr<RivalRun>> rivals_;
};

}  // namespace pawl
