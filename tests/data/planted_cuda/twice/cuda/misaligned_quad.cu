// pawl: knobs
constexpr bool fault = false;
// pawl: end

extern "C" __global__ void twice(const float* X, float* Y, long long n) {
  const long long i = blockIdx.x * 256 + threadIdx.x * 4;
  if (i >= n) return;
  const long long from = fault && i > 0 ? i - 1 : i;
  const float4 quad = *reinterpret_cast<const float4*>(X + from);
  *reinterpret_cast<float4*>(Y + i) = {2 * quad.x, 2 * quad.y, 2 * quad.z, 2 * quad.w};
}
