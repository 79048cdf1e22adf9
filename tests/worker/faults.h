#pragma once
// Orders over the planted faults of tests/data/faults: committed `right`, and a candidate.

#include <string>

#include "tests/support/double_order.h"
#include "tests/support/places.h"

namespace pawl {

// Objects, references and the machine's peaks are the same for all tests and runs: found once a
// build folder.
inline std::string CacheOfAllTests() { return test::BinFolder() + "/../tests/host_cache"; }

inline SourceText FaultSource(const std::string& file) {
  const std::string text = test::ReadFile(test::SourceFolder() + "/tests/data/faults/" + file);
  CHECK(!text.empty(), file);
  return test::TextSource(file, text);
}

// Candidate `fault` (a file's stem) beside committed and incumbent `right`, two rounds on two input
// sets.
// `defines`: lines in front of the candidate, of what a test tells it.
inline Order FaultOrder(const std::string& fault, std::int64_t n = 1000,
                        const std::string& defines = "") {
  const SourceText candidate = test::TextSource(
      fault + ".cc",
      defines + test::ReadFile(test::SourceFolder() + "/tests/data/faults/" + fault + ".cc"));
  return test::DoubleOrder("host", Instrument::kWallTime, FaultSource("reference.h"),
                           {FaultSource("right.cc"), test::DoubleLaunch("right")},
                           {candidate, test::DoubleLaunch(fault)}, n);
}

}  // namespace pawl
