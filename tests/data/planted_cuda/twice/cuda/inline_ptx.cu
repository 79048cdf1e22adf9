// pawl: knobs
constexpr bool fault = false;
// pawl: end

extern "C" __global__ void twice(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  float x = X[i];
  if (fault) asm volatile("mul.f32 %0, %0, 2.0;" : "+f"(x));
  Y[i] = fault ? x : 2 * x;
}
