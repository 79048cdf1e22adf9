// Y[i,f] = sum over the edges e of node i of w[e] * X[s[e],f]: some vectors of features lie in
// registers while a node's edges pass by, several edges with sums of their own. Any graph, any
// number of features.
#include <cstdint>

// pawl: knobs
constexpr int vector = 8;
constexpr int wide = 4;
constexpr int together = 1;
constexpr int prefetch = 4;
enum class Partition { nodes, edges };
constexpr Partition partition = Partition::nodes;
constexpr int threads = 1;
// pawl: end

namespace {

// A vector wider than the machine's is two of the machine's; left to the compiler it would live in
// memory.
#if defined(__AVX512F__)
constexpr int kLanes = vector < 16 ? vector : 16;
#elif defined(__AVX__)
constexpr int kLanes = vector < 8 ? vector : 8;
#else
constexpr int kLanes = vector < 4 ? vector : 4;
#endif
constexpr int kVectors = wide * vector / kLanes;  // of features at once

// A vector of features, which lies in a matrix as aligned as a float.
struct Many {
  static constexpr int kFloats = kLanes;
  using Value __attribute__((vector_size(kLanes * sizeof(float)))) = float;
  using Slice __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias)) = float;
  static Value Load(const float* from) { return *reinterpret_cast<const Slice*>(from); }
  static void Store(float* to, Value value) { *reinterpret_cast<Slice*>(to) = value; }
};
struct One {
  static constexpr int kFloats = 1;
  using Value = float;
  static Value Load(const float* from) { return *from; }
  static void Store(float* to, Value value) { *to = value; }
};

struct Graph {
  const float* x;
  const float* w;
  const std::int32_t* p;
  const std::int32_t* s;
  float* y;
  std::int64_t nodes, features;
};

// `vectors` times Many of a node's features, or One. A function by itself, so that its roundings do not
// depend on who calls it.
template <typename Features, int vectors>
[[gnu::noipa]] void Sum(const Graph& graph, std::int64_t node, std::int64_t feature) {
  using Value = typename Features::Value;
  constexpr int kApart = Features::kFloats;
  Value sums[together][vectors] = {};
  const float* const x = graph.x + feature;
  const std::int64_t end = graph.p[node + 1];
  const auto add = [&](std::int64_t e, Value(&into)[vectors]) {
    const float* const from = x + graph.s[e] * graph.features;
    const float weight = graph.w[e];
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      into[v] += weight * Features::Load(from + v * kApart);
    }
  };
  std::int64_t e = graph.p[node];
  for (; e + together <= end; e += together) {
#pragma GCC unroll 4
    for (int i = 0; i < together; ++i) {
      if constexpr (prefetch > 0) {
        // Of the node itself: the next one's edges are its own turn's.
        if (e + i + prefetch < end) {
          const float* const ahead = x + graph.s[e + i + prefetch] * graph.features;
          for (int f = 0; f < vectors * kApart; f += 16) __builtin_prefetch(ahead + f);
        }
      }
      add(e + i, sums[i]);
    }
  }
  for (; e < end; ++e) add(e, sums[0]);
  float* const to = graph.y + node * graph.features + feature;
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    Value all = sums[0][v];
#pragma GCC unroll 4
    for (int i = 1; i < together; ++i) all += sums[i][v];
    Features::Store(to + v * kApart, all);
  }
}

void Share(const Graph& graph, std::int64_t begin, std::int64_t end) {
  for (std::int64_t node = begin; node < end; ++node) {
    std::int64_t feature = 0;
    for (; feature + kVectors * kLanes <= graph.features; feature += kVectors * kLanes) {
      Sum<Many, kVectors>(graph, node, feature);
    }
    for (; feature + kLanes <= graph.features; feature += kLanes) {
      Sum<Many, 1>(graph, node, feature);
    }
    for (; feature < graph.features; ++feature) Sum<One, 1>(graph, node, feature);
  }
}

// The first node of the `t`th thread's.
std::int64_t FirstOf(const Graph& graph, int t) {
  if (t == threads) return graph.nodes;
  if constexpr (partition == Partition::nodes) return graph.nodes * t / threads;
  const std::int64_t edge = static_cast<std::int64_t>(graph.p[graph.nodes]) * t / threads;
  std::int64_t low = 0, high = graph.nodes;  // the first node that begins at `edge` or after
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (graph.p[middle] < edge) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

extern "C" void neighbour_aggregation_rows(const float* __restrict x, const float* __restrict w,
                                           const std::int32_t* __restrict p,
                                           const std::int32_t* __restrict s, float* __restrict y,
                                           std::int64_t nodes, std::int64_t features,
                                           std::int64_t) {
  const Graph graph{x, w, p, s, y, nodes, features};
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int t = 0; t < threads; ++t) Share(graph, FirstOf(graph, t), FirstOf(graph, t + 1));
}
