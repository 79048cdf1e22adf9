// Correct kernels give what a plain float32 loop of the same order of operations gives, to the last
// bit: watched or not, in either order.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/emulated/emulated_kernel.h"

namespace pawl::test {
namespace {

const std::vector<RunOrder>& AllOrders() {
  static const std::vector<RunOrder> orders = {
      {false, false, true}, {true, true, true}, {false, true, false}, {true, false, false}};
  return orders;
}

void ExpectSameBits(const std::vector<float>& is, const std::vector<float>& wanted) {
  ASSERT_EQ(is.size(), wanted.size());
  for (std::size_t i = 0; i < is.size(); ++i) {
    ASSERT_EQ(std::memcmp(&is[i], &wanted[i], sizeof(float)), 0)
        << "element " << i << " is " << is[i] << ", wanted " << wanted[i];
  }
}

struct Extents {
  std::size_t m, n, k;
};

// parts == 1: the order of k.
std::vector<float> Product(const std::vector<float>& A, const std::vector<float>& B,
                           const Extents& extents, std::size_t parts) {
  std::vector<float> C(extents.m * extents.n);
  const std::size_t length = extents.k / parts;
  for (std::size_t i = 0; i < extents.m; ++i) {
    for (std::size_t j = 0; j < extents.n; ++j) {
      float total = 0;
      for (std::size_t part = 0; part < parts; ++part) {
        float sum = 0;
        for (std::size_t kk = part * length; kk < (part + 1) * length; ++kk) {
          sum += A[i * extents.k + kk] * B[kk * extents.n + j];
        }
        total = parts == 1 ? sum : total + sum;
      }
      C[i * extents.n + j] = total;
    }
  }
  return C;
}

void ExpectProduct(const std::string& package, const std::string& structure,
                   const std::string& settings, const Extents& extents, std::size_t parts) {
  SCOPED_TRACE(structure + " " + settings);
  const std::vector<Scalar> shape = {{"m", static_cast<std::int64_t>(extents.m)},
                                     {"n", static_cast<std::int64_t>(extents.n)},
                                     {"k", static_cast<std::int64_t>(extents.k)}};
  const Order order = OrderFor(LoadPackage(package), structure, settings, shape);
  for (const RunOrder& run : AllOrders()) {
    const Ran ran = RunLaunches(order, run);
    ASSERT_EQ(ran.finding, std::nullopt);
    ExpectSameBits(ran.buffers.at("C"),
                   Product(ran.buffers.at("A"), ran.buffers.at("B"), extents, parts));
  }
}

TEST(ExactKernels, ATiledProductWithThreeStagesOfAsynchronousCopies) {
  const std::string package = "tests/data/exact_cuda/product";
  ExpectProduct(package, "three_stages", "k_step=16 stages=3", {64, 32, 96}, 1);
  ExpectProduct(package, "three_stages", "k_step=8 stages=4", {32, 64, 16}, 1);
}

TEST(ExactKernels, ASplitProductWithAReductionPass) {
  ExpectProduct("tests/data/exact_cuda/product", "split_k", "parts=4", {33, 17, 96}, 4);
}

TEST(ExactKernels, TheShippedProductInEachStaging) {
  for (const char* settings :
       {"staging=shared k_step=64", "staging=exact k_step=32", "staging=guarded k_step=16",
        "staging=pipeline k_step=32", "staging=pipeline k_step=32 transpose_a=false",
        "staging=guarded transpose_a=false quad_stage=false block=32x64 k_step=32"}) {
    ExpectProduct("kernels/matmul", "tiled", settings, {64, 128, 128}, 1);
  }
}

// The sums of a row as its threads and the shuffles between them make them.
std::vector<float> LayerNorm(const std::map<std::string, std::vector<float>>& buffers,
                             std::size_t rows, std::size_t width, std::size_t warps) {
  const std::vector<float>& X = buffers.at("X");
  const std::vector<float>& gamma = buffers.at("gamma");
  const std::vector<float>& beta = buffers.at("beta");
  std::vector<float> Y(rows * width);
  const auto row_sum = [&](const auto& quad_value) {
    float total = 0;
    for (std::size_t warp = 0; warp < warps; ++warp) {
      std::array<float, 32> lanes{};
      for (std::size_t lane = 0; lane < 32; ++lane) {
        for (std::size_t i = warp * 32 + lane; i < width / 4; i += 32 * warps) {
          lanes[lane] += quad_value(i);
        }
      }
      for (std::size_t distance = 16; distance > 0; distance /= 2) {
        const std::array<float, 32> before = lanes;
        for (std::size_t lane = 0; lane < 32; ++lane) lanes[lane] += before[lane ^ distance];
      }
      total = warps == 1 ? lanes[0] : total + lanes[0];
    }
    return total;
  };
  for (std::size_t row = 0; row < rows; ++row) {
    const float* x = X.data() + row * width;
    const float mean = row_sum([&](std::size_t i) {
                         return (x[4 * i] + x[4 * i + 1]) + (x[4 * i + 2] + x[4 * i + 3]);
                       }) /
                       static_cast<float>(width);
    const float variance = row_sum([&](std::size_t i) {
                             const float a = x[4 * i] - mean, b = x[4 * i + 1] - mean,
                                         c = x[4 * i + 2] - mean, d = x[4 * i + 3] - mean;
                             return (a * a + b * b) + (c * c + d * d);
                           }) /
                           static_cast<float>(width);
    const float scale = 1.0f / std::sqrt(variance + 1e-5f);
    for (std::size_t i = 0; i < width; ++i) {
      Y[row * width + i] = (x[i] - mean) * scale * gamma[i] + beta[i];
    }
  }
  return Y;
}

TEST(ExactKernels, TheShippedLayerNormWithItsShuffles) {
  const auto package = LoadPackage("kernels/layer_norm");
  for (const std::size_t warps : {1, 2, 4, 8}) {
    SCOPED_TRACE(std::to_string(warps) + " warps a row");
    const Order order =
        OrderFor(package, "split", "threads=256 warps_per_row=" + std::to_string(warps),
                 {{"rows", 8}, {"width", 132}});
    for (const RunOrder& run : AllOrders()) {
      const Ran ran = RunLaunches(order, run);
      ASSERT_EQ(ran.finding, std::nullopt);
      ExpectSameBits(ran.buffers.at("Y"), LayerNorm(ran.buffers, 8, 132, warps));
    }
  }
}

// The sums of a row's products where `blocks` have a part of k each and in them `slices` take
// turns: each in the order of k, then added in order.
std::vector<float> Contraction(const std::vector<float>& A, const std::vector<float>& B,
                               std::size_t n, std::size_t c, std::size_t blocks, std::size_t k_part,
                               std::size_t slices) {
  std::vector<float> O(n * n * c);
  for (std::size_t element = 0; element < O.size(); ++element) {
    const std::size_t i = element / c / n, j = element / c % n, channel = element % c;
    float total = 0;
    for (std::size_t part = 0; part < blocks * slices; ++part) {
      float sum = 0;
      const std::size_t first = part / slices * k_part;
      for (std::size_t k = first + part % slices; k < std::min(n, first + k_part); k += slices) {
        sum = std::fma(A[(i * n + k) * c + channel], B[(j * n + k) * c + channel], sum);
      }
      total = blocks * slices == 1 ? sum : total + sum;
    }
    O[element] = total;
  }
  return O;
}

TEST(ExactKernels, TheShippedContractionInEachStagingWithSlicesAndClusters) {
  const auto package = LoadPackage("kernels/triangle_contraction");
  struct Case {
    const char* settings;
    std::size_t n, c, blocks, k_part, slices;
  };
  for (const Case& one :
       {Case{"staging=pipeline channels=4 copy=4 tile=16x16x8 k_step=4 stages=3", 16, 8, 1, 16, 1},
        Case{"staging=pipeline channels=4 copy=4 tile=16x16x8 k_step=4 stages=3 slices=2 cluster=2",
             19, 12, 2, 12, 2},
        Case{"staging=shared channels=2 copy=1 tile=16x16x8 k_step=4 cluster=4", 7, 5, 4, 4, 1},
        Case{"staging=direct channels=4 tile=16x16x8 slices=4", 18, 6, 1, 18, 4}}) {
    SCOPED_TRACE(one.settings);
    const Order order = OrderFor(
        package, "tiled", one.settings,
        {{"n", static_cast<std::int64_t>(one.n)}, {"c", static_cast<std::int64_t>(one.c)}});
    for (const RunOrder& run : AllOrders()) {
      const Ran ran = RunLaunches(order, run);
      ASSERT_EQ(ran.finding, std::nullopt);
      ExpectSameBits(ran.buffers.at("O"),
                     Contraction(ran.buffers.at("A"), ran.buffers.at("B"), one.n, one.c, one.blocks,
                                 one.k_part, one.slices));
    }
  }
}

}  // namespace
}  // namespace pawl::test
