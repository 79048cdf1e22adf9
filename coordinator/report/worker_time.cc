#include "coordinator/report/worker_time.h"

#include <algorithm>
#include <cmath>

#include "coordinator/report/text.h"

namespace pawl {

void WorkerTime::Add(const Report& report) {
  build_seconds += report.build_seconds;
  check_seconds += report.check_seconds;
  visit_seconds += report.run_seconds;
  workers.insert(report.worker);
}

std::string WorkerTimeText(const WorkerTime& time, double wall_seconds) {
  if (time.workers.empty() || wall_seconds <= 0) return "";
  const double had = wall_seconds * static_cast<double>(time.workers.size());
  const auto share = [&](double seconds) {
    return std::to_string(std::lround(std::min(100 * seconds / had, 100.0))) + " %";
  };
  return FormatDuration(wall_seconds) + " with " + std::to_string(time.workers.size()) +
         (time.workers.size() == 1 ? " worker: " : " workers: ") + share(time.visit_seconds) +
         " in visits, " + share(time.build_seconds) + " in builds, " + share(time.check_seconds) +
         " in checks";
}

}  // namespace pawl
