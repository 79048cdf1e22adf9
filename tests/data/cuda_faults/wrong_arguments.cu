// Takes another list of arguments than its launch gives.
extern "C" __global__ void wrong_arguments(const float* in, float* out) {
  out[threadIdx.x] = 2 * in[threadIdx.x] + 1;
}
