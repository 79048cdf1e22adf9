// A product whose sums are split along k, and a second launch that adds the parts in their order.

// pawl: knobs
constexpr int parts = 4;
// pawl: end

extern "C" __global__ void product_parts(const float* A, const float* B, float* partial, long long m,
                                         long long n, long long k) {
  const long long i = blockIdx.x * 64LL + threadIdx.x;
  if (i >= m * n) return;
  const long long row = i / n;
  const long long column = i % n;
  const long long length = k / parts;
  float sum = 0;
  for (long long kk = blockIdx.y * length; kk < (blockIdx.y + 1) * length; ++kk) {
    sum += A[row * k + kk] * B[kk * n + column];
  }
  partial[blockIdx.y * m * n + i] = sum;
}

extern "C" __global__ void product_sum(float* partial, float* C, long long m, long long n) {
  const long long i = blockIdx.x * 64LL + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0;
  for (int part = 0; part < parts; ++part) sum += partial[part * m * n + i];
  C[i] = sum;
}
