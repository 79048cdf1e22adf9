#pragma once
// Orders for the CUDA device over out = 2 in + 1: their kernels are known to the stand-in driver by
// name, and are real ones for a real GPU.

#include <string>

#include "tests/support/double_order.h"

namespace pawl {

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
  Launch launch = test::DoubleLaunch(kernel);
  launch.block = {256, 1, 1};
  launch.grid = {static_cast<std::uint32_t>((n + 255) / 256), 1, 1};
  return launch;
}

// The candidate `kernel`, with the text `source`, beside committed and incumbent `right`: two
// rounds on two input sets.
inline Order CudaOrder(const std::string& kernel, const std::string& source,
                       std::int64_t n = 1000) {
  return test::DoubleOrder(
      "cuda", Instrument::kEventSpan, test::TextSource("reference.h", kDoubleReference),
      {test::TextSource("right.cu", ElementKernel("right", "out[i] = 2 * in[i] + 1;")),
       ElementLaunch("right", n)},
      {test::TextSource(kernel + ".cu", source), ElementLaunch(kernel, n)}, n);
}

}  // namespace pawl
