#pragma once
// Orders over the planted faults of tests/data/faults: committed `right`, and a candidate.

#include <fstream>
#include <iterator>
#include <string>

#include "schema/order.h"

namespace pawl {

inline std::string ReadTestFile(const std::string& name) {
  std::ifstream file(std::string(PAWL_TESTS_DATA) + "/" + name, std::ios::binary);
  CHECK(file.good(), name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Objects, references and the machine's peaks are the same for all tests and runs: found once a
// build folder.
inline std::string CacheOfAllTests() { return std::string(PAWL_BIN_DIR) + "/../tests/host_cache"; }

inline SourceText FaultSource(const std::string& file) {
  SourceText source;
  source.name = file;
  source.text = ReadTestFile("faults/" + file);
  source.digest = Sha256(source.text);
  return source;
}

inline Launch FaultLaunch(const std::string& kernel) {
  Launch launch;
  launch.kernel = kernel;
  launch.arguments = {
      {Argument::Kind::kBuffer, 0}, {Argument::Kind::kBuffer, 1}, {Argument::Kind::kScalar, 0}};
  return launch;
}

// Candidate `fault` (a file's stem) beside committed and incumbent `right`, two rounds on two input
// sets.
inline Order FaultOrder(const std::string& fault, std::int64_t n = 1000) {
  Order order;
  order.track = TrackId(1);
  order.generation = Generation(1);
  order.attempt = Attempt(1);
  order.backend = "host";
  order.operation = "double_plus_one";
  order.device_model = "any";
  Buffer in;
  in.name = "in";
  in.extents = {n};
  in.fill = {FillKind::kNormal, 0, 1};
  Buffer out;
  out.name = "out";
  out.role = BufferRole::kOutput;
  out.extents = {n};
  order.buffers = {in, out};
  order.scalars = {{"n", n}};
  order.sources = {FaultSource("reference.h"), FaultSource("right.cc"), FaultSource(fault + ".cc")};
  Arm committed;
  committed.role = ArmRole::kCommitted;
  committed.label = "committed";
  committed.source = 1;
  committed.launches = {FaultLaunch("right")};
  Arm candidate = committed;
  candidate.role = ArmRole::kCandidate;
  candidate.label = "candidate";
  candidate.source = 2;
  candidate.launches = {FaultLaunch(fault)};
  Arm incumbent = committed;
  incumbent.role = ArmRole::kIncumbent;
  incumbent.label = "incumbent";
  order.arms = {committed, candidate, incumbent};
  order.check.reference = 0;
  order.check.rtol = 1e-5;
  order.check.atol = 1e-6;
  order.check.hidden_seed = 77;
  order.input_seeds = {11, 22};
  order.timing.instrument = Instrument::kWallTime;
  order.timing.warmup = 2;
  order.timing.iterations = 5;
  for (std::uint32_t round = 0; round < 2; ++round) {
    RoundPlan plan;
    for (std::uint32_t arm = 0; arm < 3; ++arm)
      plan.visits.push_back({(arm + round) % 3, round % 2});
    order.rounds.push_back(plan);
  }
  return order;
}

}  // namespace pawl
