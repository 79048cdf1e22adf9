#pragma once
// An audit: every configuration of a package's audit list at its audit shapes, built and checked by
// workers, each as an errand of its own (coordinator/search/errands.h). Pure.
//
// A check is nobody's search: nothing is written to a ledger, and the same audit asks the same of
// any number of workers.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/search/errands.h"
#include "kernels/operation.h"
#include "schema/order.h"
#include "schema/report.h"

namespace pawl {

struct AuditRequest {
  std::string backend;
  std::vector<std::vector<Scalar>> shapes;  // none: the operation's audit shapes
  bool whole_space = false;                 // in place of the audit list
  std::uint64_t sample = 0;                 // at most so many configurations a structure; 0: all
  std::uint64_t seed = 1;                   // of the sample
  Deadlines deadlines;                      // of each item, for a problem of no size
};

// One kernel at one shape. Of an operation that has exact integers ([check] exact), a kernel is
// filled with those and compared to the last bit at every second shape, from the first or the
// second one on as its name draws; at the others it has the operation's own fills and tolerance. So
// what a tolerance hides and what integers hide are both looked for, at about the cost of one.
struct AuditItem {
  const Structure* structure = nullptr;  // nullptr: the committed kernel
  Configuration configuration;
  std::vector<Scalar> shape;
  bool exact = false;

  std::string Kernel() const;  // "tiled: transpose_a=false ..."
  std::string Name() const;    // "tiled: transpose_a=false ... at m=256 n=256 k=128"
};

// Configurations that are not checked at a shape, for a constraint that refuses them or for an
// expression that fails there, and one such reason.
struct AuditRefusal {
  std::uint64_t count = 0;
  std::string example;

  void Add(const std::string& one) {
    if (count++ == 0) example = one;
  }
};

// A structure of which there is nothing to check at any shape.
struct AuditGap {
  std::string structure;
  AuditRefusal refused;
};

struct AuditPlan {
  std::shared_ptr<const Operation> operation;
  std::string backend;
  std::vector<AuditItem> items;
  Deadlines deadlines;
  std::map<std::string, AuditRefusal> refused;  // by what the reason is about: "shape"
  std::uint64_t refusals = 0;
  // Those at which an expression of the package fails, by what it says: each has failed.
  std::map<std::string, AuditRefusal> broken;
  std::uint64_t breaks = 0;
  std::vector<AuditGap> gaps;
  std::vector<std::string> skipped;  // structures that have no source
};

// Errors: no such backend, nothing in it that can be built, a shape that is none.
Result<AuditPlan> PlanAudit(std::shared_ptr<const Operation> operation,
                            const AuditRequest& request);

// At most `most` of `list`, in its order: first those that show a pair of values that none before
// showed, then any. The same for the same seed.
std::vector<Configuration> PairwiseSample(const std::vector<Configuration>& list,
                                          std::uint64_t most, std::uint64_t seed);

// What a worker is asked for an item; `number` counts from 1.
Result<Order> AuditOrder(const AuditPlan& plan, std::size_t item, Attempt attempt);

struct AuditResult {
  std::size_t item = 0;
  bool passed = false;
  bool given_up = false;           // no worker could try it: neither passed nor failed
  std::string why;                 // when it did not pass
  std::optional<Outcome> outcome;  // none: no worker has reported
  BuildFacts build;                // of its kernel
  std::uint64_t elements = 0;
  double seconds = 0;  // build and check
};

// The plan's items as errands, in their order. `plan` must outlive them.
ErrandList AuditErrands(const AuditPlan& plan);

// What an item's errand says of it: passed when its kernel was built, run and compared with the
// reference, and nothing was wrong.
AuditResult JudgeAudit(const ErrandResult& result);

}  // namespace pawl
