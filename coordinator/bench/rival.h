#pragma once
// One rival that is a program of its own: started, prepared on an input set, run, its outputs
// written to files. It lives from its first visit to its last; the first thing that goes wrong ends
// it, and is said in one line.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/bench/bench.h"
#include "coordinator/bench/line_process.h"
#include "schema/order.h"
#include "schema/report.h"
#include "schema/result.h"

namespace pawl {

// Where the data of a bench lies, and who makes and checks it: a `pawl-worker --outside`
// (worker/outside.h) that stays, so that a rival's inputs and its outputs' check are those of any
// arm.
class BenchData {
 public:
  // `folder`: its own. `state`: of the worker's cache.
  BenchData(std::string worker_program, std::string folder, std::string state);

  // Writes the order and both sets' inputs.
  Status Make(const Order& order, const LineProcess::Idle& idle);

  const Order& order() const { return order_; }
  std::string Set(const std::string& set) const { return folder_ + "/" + set; }
  std::string Log(const std::string& name) const { return folder_ + "/" + name + ".log"; }
  // Gone before each write, so that what is there afterwards was written then.
  void RemoveOutputs(const std::string& set) const;
  // Errors: the check itself could not be made.
  Result<CheckFacts> Check(const std::string& set, const LineProcess::Idle& idle);

 private:
  const std::string worker_program_, folder_, state_;
  Order order_;
  std::unique_ptr<LineProcess> outside_;
};

struct RivalEnvironment {
  std::string kernels;      // folder of pawl_rival.py, absolute
  std::string device_uuid;  // of the GPU; empty: none
};

class RivalRun {
 public:
  // `arm` is told what becomes of it.
  RivalRun(const RivalProgram& program, const RivalEnvironment& environment, BenchData& data,
           std::int64_t deadline_ms, LineProcess::Idle idle, BenchArm& arm);

  // Starts it, checks it on the hidden input set and on the timed one, and runs a visit that is not
  // recorded.
  void Begin();
  // One visit of a round.
  void Visit(std::uint32_t round);
  // Checks what its last timed run has left, and lets it go.
  void End();

  bool interrupted() const { return interrupted_; }

 private:
  // Of a request; nullopt: the arm has failed, or a signal came.
  std::optional<std::string> Ask(const std::string& request);
  bool CheckSet(const std::string& set);
  bool Prepare(const std::string& set);
  std::optional<std::vector<double>> Run(std::uint32_t warmup, std::uint32_t iterations);
  void Fail(ArmState state, const std::string& why);

  const RivalProgram& program_;
  const RivalEnvironment& environment_;
  BenchData& data_;
  const std::int64_t deadline_ms_;
  const LineProcess::Idle idle_;
  BenchArm& arm_;
  std::unique_ptr<LineProcess> process_;
  bool interrupted_ = false;
};

// The programs in the package's folder `rivals`, by name: *.py and what may be executed, but for
// names that begin with '_' or '.'.
std::vector<RivalProgram> RivalsIn(const std::string& folder);
// One by its path. Errors: there is no such file.
Result<RivalProgram> RivalAt(const std::string& path);

}  // namespace pawl
