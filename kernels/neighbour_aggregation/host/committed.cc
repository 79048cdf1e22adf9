// A node's row of Y gathers the weighted rows of X edge by edge, while it stays in the level-1
// cache; the loop over the features is left to the compiler's vectoriser.
#include <cstdint>

extern "C" void neighbour_aggregation_committed(const float* __restrict x,
                                                const float* __restrict w,
                                                const std::int32_t* __restrict p,
                                                const std::int32_t* __restrict s,
                                                float* __restrict y, std::int64_t nodes,
                                                std::int64_t features, std::int64_t) {
  for (std::int64_t node = 0; node < nodes; ++node, y += features) {
    for (std::int64_t f = 0; f < features; ++f) y[f] = 0;
    for (std::int64_t e = p[node]; e < p[node + 1]; ++e) {
      const float* from = x + s[e] * features;
      const float weight = w[e];
#pragma omp simd
      for (std::int64_t f = 0; f < features; ++f) y[f] += weight * from[f];
    }
  }
}
