#pragma once
// Orders for the CUDA device over out = 2 in + 1: their kernels are known to the stand-in driver by
// name, and are real ones for a real GPU.

#include <string>

#include "schema/order.h"

namespace pawl {

inline SourceText CudaSource(const std::string& name, const std::string& text) {
  SourceText source;
  source.name = name;
  source.text = text;
  source.digest = Sha256(text);
  return source;
}

inline constexpr const char* kDoubleReference =
    "#include <cstdint>\n"
    "PAWL_REFERENCE double reference_out(const float* in, std::int64_t n, std::int64_t i) {\n"
    "  static_cast<void>(n);\n"
    "  return 2 * static_cast<double>(in[i]) + 1;\n"
    "}\n";

// `body`: of a thread with its element's number in i, below n.
inline std::string ElementKernel(const std::string& name, const std::string& body) {
  return "extern \"C\" __global__ void " + name +
         "(const float* in, float* out, long long n) {\n"
         "  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
         "  if (i >= n) return;\n  " +
         body + "\n}\n";
}

inline Launch ElementLaunch(const std::string& kernel, std::int64_t n) {
  Launch launch;
  launch.kernel = kernel;
  launch.block = {256, 1, 1};
  launch.grid = {static_cast<std::uint32_t>((n + 255) / 256), 1, 1};
  launch.arguments = {
      {Argument::Kind::kBuffer, 0}, {Argument::Kind::kBuffer, 1}, {Argument::Kind::kScalar, 0}};
  return launch;
}

// The candidate `kernel`, with the text `source`, beside committed and incumbent `right`: two
// rounds on two input sets.
inline Order CudaOrder(const std::string& kernel, const std::string& source,
                       std::int64_t n = 1000) {
  Order order;
  order.track = TrackId(1);
  order.generation = Generation(1);
  order.attempt = Attempt(1);
  order.backend = "cuda";
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
  order.sources = {CudaSource("reference.h", kDoubleReference),
                   CudaSource("right.cu", ElementKernel("right", "out[i] = 2 * in[i] + 1;")),
                   CudaSource(kernel + ".cu", source)};
  Arm committed;
  committed.role = ArmRole::kCommitted;
  committed.label = "committed";
  committed.source = 1;
  committed.launches = {ElementLaunch("right", n)};
  Arm candidate = committed;
  candidate.role = ArmRole::kCandidate;
  candidate.label = "candidate";
  candidate.source = 2;
  candidate.launches = {ElementLaunch(kernel, n)};
  Arm incumbent = committed;
  incumbent.role = ArmRole::kIncumbent;
  incumbent.label = "incumbent";
  order.arms = {committed, candidate, incumbent};
  order.check.reference = 0;
  order.check.rtol = 1e-5;
  order.check.atol = 1e-6;
  order.check.hidden_seed = 77;
  order.input_seeds = {11, 22};
  order.timing.instrument = Instrument::kEventSpan;
  order.timing.warmup = 2;
  order.timing.iterations = 5;
  for (std::uint32_t round = 0; round < 2; ++round) {
    RoundPlan plan;
    for (std::uint32_t arm = 0; arm < 3; ++arm) {
      plan.visits.push_back({(arm + round) % 3, round % 2});
    }
    order.rounds.push_back(plan);
  }
  return order;
}

}  // namespace pawl
