#include "coordinator/report/worker_time.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

Report ReportOf(const std::string& worker, double build, double check, double run) {
  Report report;
  report.worker = WorkerId(worker);
  report.build_seconds = build;
  report.check_seconds = check;
  report.run_seconds = run;
  return report;
}

TEST(WorkerTime, IsSharedOutOverTheWallTimeOfAllItsWorkers) {
  WorkerTime time;
  time.Add(ReportOf("a", 1, 2, 5));
  EXPECT_EQ(WorkerTimeText(time, 20),
            "20 s with 1 worker: 25 % in visits, 5 % in builds, 10 % in checks");
  time.Add(ReportOf("b", 3, 0, 15));
  time.Add(ReportOf("a", 0, 0, 0));
  EXPECT_EQ(WorkerTimeText(time, 20),
            "20 s with 2 workers: 50 % in visits, 10 % in builds, 5 % in checks");
}

TEST(WorkerTime, SaysNothingOfARunThatMeasuredNothing) {
  EXPECT_EQ(WorkerTimeText(WorkerTime{}, 20), "");
  WorkerTime time;
  time.Add(ReportOf("a", 1, 1, 1));
  EXPECT_EQ(WorkerTimeText(time, 0), "");
}

TEST(WorkerTime, GivesNoShareAboveTheWhole) {
  WorkerTime time;  // a report of work that began before the run that took it
  time.Add(ReportOf("a", 0, 0, 30));
  EXPECT_EQ(WorkerTimeText(time, 20),
            "20 s with 1 worker: 100 % in visits, 0 % in builds, 0 % in checks");
}

}  // namespace
}  // namespace pawl
