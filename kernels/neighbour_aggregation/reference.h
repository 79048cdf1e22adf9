// Neighbour aggregation in float64: what every kernel of this operation is checked against, an
// element at a time.
#include <cstdint>

#ifndef PAWL_REFERENCE
#define PAWL_REFERENCE inline
#endif

// Y[node,feature] = sum over e from p[node] to p[node+1]-1 of w[e] * X[s[e],feature]; 0 for a node
// without edges. X is nodes x features, row major; p has nodes + 1 elements, w and s have `edges`.
PAWL_REFERENCE double reference_Y(const float* X, const float* w, const std::int32_t* p,
                                  const std::int32_t* s, std::int64_t nodes, std::int64_t features,
                                  std::int64_t edges, std::int64_t node, std::int64_t feature) {
  static_cast<void>(nodes);
  static_cast<void>(edges);
  double sum = 0;
  for (std::int64_t e = p[node]; e < p[node + 1]; ++e) {
    sum += static_cast<double>(w[e]) * static_cast<double>(X[s[e] * features + feature]);
  }
  return sum;
}
