#pragma once
// A small complete package in memory, for tests that change one line of it.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "kernels/operation.h"

namespace pawl {

using PackageFiles = std::map<std::string, std::string>;

inline PackageFiles SamplePackage() {
  return {
      {"operation.toml", R"(name    = "saxpy"
summary = "Y = 2 X"
shape   = ["rows", "width"]
flops   = "rows * width"
bytes   = "8 * rows * width"

[[tensor]]
name    = "X"
role    = "input"
dtype   = "f32"
extents = ["rows", "width"]
fill    = { kind = "normal", mean = 0.0, stddev = 1.0 }

[[tensor]]
name    = "Y"
role    = "output"
dtype   = "f32"
extents = ["rows", "width"]

[check]
rtol  = 1e-5
atol  = 1e-5
exact = { low = -8, high = 8 }

[audit]
shapes = [ { rows = 8, width = 64 } ]
)"},
      {"reference.h", R"(#include <cstdint>
#ifndef PAWL_REFERENCE
#define PAWL_REFERENCE inline
#endif
PAWL_REFERENCE double reference_Y(const float* X, std::int64_t, std::int64_t width, std::int64_t i,
                                  std::int64_t j) {
  return 2.0 * X[i * width + j];
}
)"},
      {"host/chunk.toml", R"(source = "chunk.cc"
kernel = "saxpy_chunk"

[knobs]
unroll  = [1, 2, 4]
fused   = [false, true]
order   = ["rows", "columns"]
block   = { parts = ["m", "n"], values = [[8, 8], [8, 16], [4, 32]] }
threads = [1, 2]

[derived]
lanes  = "block.n / unroll"
chunks = "rows / block.m"

[start]
unroll  = 1
fused   = false
order   = "rows"
block   = "8x8"
threads = 1

[[constraint]]
need = "rows % block.m == 0"
why  = "shape: {rows} rows are not a multiple of {block.m}"

[[constraint]]
need = "order == 'rows' || unroll < 4"
why  = "unroll by 4 goes along rows only"

[[constraint]]
need = "block.m * block.n * threads <= 128"
why  = "block: {block.m * block.n * threads} elements, 128 allowed"

[[ignored]]
knob = "fused"
when = "unroll == 1"

[repair]
order   = ["rows"]
threads = [1]

[audit]
block = [[8, 8], [2, 64]]
)"},
      {"host/chunk.cc", R"(#include <cstdint>
// pawl: knobs
constexpr int unroll = 4;
constexpr bool fused = true;
enum class Order { rows, columns };
constexpr Order order = Order::rows;
constexpr int block_m = 8, block_n = 8;
constexpr int threads = 1;
constexpr int lanes = block_n / unroll;
// pawl: end

extern "C" void saxpy_chunk(const float* X, float* Y, std::int64_t rows, std::int64_t width) {
  static_assert(threads > 0 && block_m > 0 && lanes > 0);
  const std::int64_t elements = rows * width;
  if (fused || order == Order::columns) {
    for (std::int64_t i = elements; i-- > 0;) Y[i] = X[i] + X[i];
  } else {
    for (std::int64_t i = 0; i < elements; ++i) Y[i] = 2 * X[i];
  }
}
)"},
      {"host/committed.toml", R"([[committed]]
when   = "width % 4 == 0"
source = "committed.cc"
kernel = "saxpy_committed"
build_options = ["-funroll-loops"]

[[committed]]
source = "committed.cc"
kernel = "saxpy_committed"

[[rival]]
name   = "blas"
source = "blas.cc"
kernel = "saxpy_blas"
build_options = ["-lopenblas"]
)"},
      {"host/committed.cc", "// committed\n"},
      {"host/blas.cc", "// blas\n"},
  };
}

// Replaces the first `from` of a file; the test fails when it is not there.
inline void Edit(PackageFiles& files, const std::string& file, std::string_view from,
                 std::string_view to) {
  std::string& text = files.at(file);
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << file << " has no '" << from << "'";
  text.replace(at, from.size(), to);
}

// "no error", or the error's message.
inline std::string LoadMessage(const PackageFiles& files) {
  const Result<Operation> operation = LoadOperation(files, "saxpy");
  return operation ? "no error" : operation.error().message;
}

}  // namespace pawl
