// Threads share a row, which stays in their registers; a block holds several rows, or goes on to
// more (persistent). Each warp finds mean and squared distances of what it holds; the warps of a
// row join theirs by Chan's formula behind one barrier.

// pawl: knobs
constexpr int threads_per_row = 96;
constexpr int rows_per_block = 2;
constexpr int vector = 4;
enum class Statistics { two_pass, shifted, squares };
constexpr Statistics statistics = Statistics::two_pass;
constexpr int persistent_blocks = 0;
enum class Root { approximate, refined };
constexpr Root root = Root::approximate;
constexpr int threads = 192;
constexpr int chunks = 192, held = 2;
// pawl: end

namespace {

constexpr int warps_per_row = threads_per_row / 32;
constexpr int row_floats = chunks * vector;
constexpr bool persistent = persistent_blocks > 0;
constexpr bool ragged = chunks % threads_per_row != 0;  // some threads hold a chunk less
constexpr float eps = 1e-5f;

// Moved as one.
struct __align__(4 * vector) Chunk {
  float at[vector];
};

__device__ __forceinline__ Chunk Load(const float* from) {
  return *reinterpret_cast<const Chunk*>(from);
}

// By name: an assignment here is compiled to stores of floats.
__device__ __forceinline__ void Store(float* to, const Chunk& chunk) {
  if constexpr (vector == 4) {
    const float4 quad = {chunk.at[0], chunk.at[1 % vector], chunk.at[2 % vector],
                         chunk.at[3 % vector]};
    __stwb(reinterpret_cast<float4*>(to), quad);
  } else if constexpr (vector == 2) {
    const float2 pair = {chunk.at[0], chunk.at[1 % vector]};
    __stwb(reinterpret_cast<float2*>(to), pair);
  } else {
    *to = chunk.at[0];
  }
}

__device__ __forceinline__ float WarpSum(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  return value;
}

// The i-th chunk of a row's thread, and whether the row goes that far.
__device__ __forceinline__ int ChunkOf(int thread, int i) { return thread + i * threads_per_row; }
__device__ __forceinline__ bool Holds(int thread, int i) {
  return !ragged || ChunkOf(thread, i) < chunks;
}

// Elements that a warp of a row holds.
__device__ __forceinline__ float HeldBy(int warp) {
  int elements = 0;
#pragma unroll
  for (int i = 0; i < held; ++i) {
    elements += max(0, min(32, chunks - ChunkOf(warp * 32, i))) * vector;
  }
  return static_cast<float>(elements);
}

struct Moments {
  float mean;
  float squares;  // of the distances from it, summed up
};

// Of what a warp holds, in each of its lanes. `first`: the row's first element.
__device__ __forceinline__ Moments MomentsOf(const Chunk (&x)[held], int thread, float elements,
                                             const float* first) {
  const float divisor = fmaxf(elements, 1.0f);
  float sum = 0;
  float squares = 0;
  if constexpr (statistics == Statistics::two_pass) {
#pragma unroll
    for (int i = 0; i < held; ++i) {
#pragma unroll
      for (int j = 0; j < vector; ++j) sum += x[i].at[j];  // what is not held is 0
    }
    const float mean = WarpSum(sum) / divisor;
#pragma unroll
    for (int i = 0; i < held; ++i) {
      if (!Holds(thread, i)) continue;
#pragma unroll
      for (int j = 0; j < vector; ++j) {
        const float distance = x[i].at[j] - mean;
        squares = fmaf(distance, distance, squares);
      }
    }
    return {mean, WarpSum(squares)};
  } else {
    const float from = statistics == Statistics::shifted ? *first : 0.0f;
#pragma unroll
    for (int i = 0; i < held; ++i) {
      if (!Holds(thread, i)) continue;
#pragma unroll
      for (int j = 0; j < vector; ++j) {
        const float distance = x[i].at[j] - from;
        sum += distance;
        squares = fmaf(distance, distance, squares);
      }
    }
    sum = WarpSum(sum);
    squares = WarpSum(squares);
    const float mean = sum / divisor;
    return {from + mean, fmaxf(squares - sum * mean, 0.0f)};
  }
}

__device__ __forceinline__ float ReciprocalRoot(float value) {
  const float estimate = rsqrtf(value);
  if constexpr (root == Root::approximate) return estimate;
  return estimate * (1.5f - 0.5f * value * estimate * estimate);  // a step of Newton's
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    layer_norm_rows(const float* __restrict__ X, const float* __restrict__ gamma,
                    const float* __restrict__ beta, float* __restrict__ Y, long long rows,
                    long long width) {
  // In turns: a row's moments are read while the next one's are written.
  __shared__ Moments parts[2][rows_per_block][warps_per_row];
  const int thread = threadIdx.x % threads_per_row;
  const int row_in_block = threadIdx.x / threads_per_row;
  const int warp = thread / 32;
  Chunk scale[persistent ? held : 1];
  Chunk shift[persistent ? held : 1];
  if constexpr (persistent) {
#pragma unroll
    for (int i = 0; i < held; ++i) {
      if (!Holds(thread, i)) continue;
      scale[i] = Load(gamma + ChunkOf(thread, i) * vector);
      shift[i] = Load(beta + ChunkOf(thread, i) * vector);
    }
  }
  const float own = HeldBy(warp);
  int turn = 0;
  const long long step = static_cast<long long>(gridDim.x) * rows_per_block;
  for (long long from = static_cast<long long>(blockIdx.x) * rows_per_block; from < rows;
       from += step, turn ^= 1) {
    const long long row = from + row_in_block;
    // Threads without a row go along with the last one, for the barrier.
    const float* x_row = X + (row < rows ? row : rows - 1) * row_floats;
    Chunk x[held];
#pragma unroll
    for (int i = 0; i < held; ++i) {
      x[i] = {};
      if (Holds(thread, i)) x[i] = Load(x_row + ChunkOf(thread, i) * vector);
    }
    Moments moments = MomentsOf(x, thread, own, x_row);
    if constexpr (warps_per_row > 1) {
      if (thread % 32 == 0) parts[turn][row_in_block][warp] = moments;
      __syncthreads();
      moments = {0, 0};
#pragma unroll
      for (int i = 0; i < warps_per_row; ++i) {
        moments.mean += parts[turn][row_in_block][i].mean * (HeldBy(i) / row_floats);
      }
#pragma unroll
      for (int i = 0; i < warps_per_row; ++i) {
        const Moments part = parts[turn][row_in_block][i];
        const float distance = part.mean - moments.mean;
        moments.squares += fmaf(distance * distance, HeldBy(i), part.squares);
      }
    }
    const float reciprocal = ReciprocalRoot(moments.squares * (1.0f / row_floats) + eps);
    if (row < rows) {
      float* y_row = Y + row * row_floats;
#pragma unroll
      for (int i = 0; i < held; ++i) {
        if (!Holds(thread, i)) continue;
        const int at = ChunkOf(thread, i) * vector;
        const Chunk g = persistent ? scale[persistent ? i : 0] : Load(gamma + at);
        const Chunk b = persistent ? shift[persistent ? i : 0] : Load(beta + at);
        Chunk y;
#pragma unroll
        for (int j = 0; j < vector; ++j) {
          y.at[j] = fmaf((x[i].at[j] - moments.mean) * reciprocal, g.at[j], b.at[j]);
        }
        Store(y_row + at, y);
      }
    }
    if constexpr (!persistent) break;
  }
}
