#pragma once
// Where the workers' wall time went: how much of it was measuring.

#include <cstdint>
#include <set>
#include <string>

#include "schema/report.h"

namespace pawl {

struct WorkerTime {
  double build_seconds = 0;  // that orders waited for; builds ahead of an order take none
  double check_seconds = 0;
  double visit_seconds = 0;  // the rounds: warm-ups, timed iterations and what lies between them
  std::set<WorkerId> workers;

  void Add(const Report& report);
};

// "41 s with 1 worker: 38 % in visits, 40 % in builds, 8 % in checks"; empty where nothing was
// measured or no time went by. `wall_seconds`: of the run, which each worker had.
std::string WorkerTimeText(const WorkerTime& time, double wall_seconds);

}  // namespace pawl
