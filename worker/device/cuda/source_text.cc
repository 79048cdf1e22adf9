#include "worker/device/cuda/source_text.h"

#include <algorithm>

#include "worker/device/cuda/standard_headers.h"
#include "worker/device/generated_text.h"

namespace pawl {
namespace {

constexpr const char* kOwn = R"(
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned char u8;
struct Found { u64 count; u64 max_error_bits; };

__device__ double AsDouble(float x) { return x; }
__device__ double AsDouble(double x) { return x; }
__device__ double AsDouble(int x) { return x; }
__device__ double AsDouble(u32 x) { return x; }

#define FIRST (blockIdx.x * (u64)blockDim.x + threadIdx.x)
#define STEP ((u64)gridDim.x * blockDim.x)

// Whole warps call it.
__device__ void Count(Found* found, u64 count, double max_error) {
  for (int offset = 16; offset > 0; offset /= 2) {
    count += __shfl_xor_sync(~0u, count, offset);
    max_error = fmax(max_error, __shfl_xor_sync(~0u, max_error, offset));
  }
  if (threadIdx.x % 32 != 0) return;
  if (count > 0) atomicAdd(&found->count, count);
  // The bits of doubles that are not negative are in their order.
  const u64 bits = (u64)__double_as_longlong(max_error);
  if (bits > 0) atomicMax(&found->max_error_bits, bits);
}

template <class T>
__device__ void Compare(const T* out, const double* expected, u64 n, double rtol, double atol,
                        Found* found) {
  u64 wrong = 0;
  double max_error = 0;
  for (u64 i = FIRST; i < n; i += STEP) {
    const double value = AsDouble(out[i]);
    const double error = fabs(value - expected[i]);
    const double bound = atol + rtol * fabs(expected[i]);
    // False for NaN; an infinite bound allows nothing.
    const bool right = error <= bound && bound < __longlong_as_double(0x7ff0000000000000ll);
    wrong += right ? 0 : 1;
    const double seen = error == error ? error : __longlong_as_double(0x7ff0000000000000ll);
    max_error = fmax(max_error, seen);
  }
  Count(found, wrong, max_error);
}
template <class T>
__device__ void Plausible(T* out, const double* expected, u64 n, double rtol, double atol, u64 shift) {
  for (u64 i = FIRST; i < n; i += STEP) {
    const double other = expected[(i + shift) % n];
    const double right = expected[i];
    const double bound = atol + rtol * fabs(right);
    // Another element's value; moved away where that would be right here too.
    T value = (T)other;
    if (!(fabs(AsDouble(value) - right) > bound)) value = (T)(right + 4 * bound + 1);
    if (!(fabs(AsDouble(value) - right) > bound)) value = (T)(right - 4 * bound - 1);
    out[i] = value;
  }
}

extern "C" {
#define FOR(name, T)                                                                               \
  __global__ void pawl_compare_##name(const T* out, const double* expected, u64 n, double rtol,    \
                                      double atol, Found* found) {                                 \
    Compare(out, expected, n, rtol, atol, found);                                                  \
  }                                                                                                \
  __global__ void pawl_plausible_##name(T* out, const double* expected, u64 n, double rtol,        \
                                        double atol, u64 shift) {                                  \
    Plausible(out, expected, n, rtol, atol, shift);                                                \
  }
FOR(f32, float) FOR(f64, double) FOR(i32, int) FOR(u32, u32)

__global__ void pawl_finite(const double* values, u64 n, Found* found) {
  u64 bad = 0;
  for (u64 i = FIRST; i < n; i += STEP) bad += fabs(values[i]) <= 1.7976931348623157e308 ? 0 : 1;
  Count(found, bad, 0);
}
__global__ void pawl_words(const u32* words, u64 n, u32 value, Found* found) {
  u64 changed = 0;
  for (u64 i = FIRST; i < n; i += STEP) changed += words[i] == value ? 0 : 1;
  Count(found, changed, 0);
}
__global__ void pawl_bytes(const u8* a, const u8* b, u64 n, Found* found) {
  u64 changed = 0;
  const u64 quads = n / 16;
  for (u64 i = FIRST; i < quads; i += STEP) {
    const uint4 x = ((const uint4*)a)[i], y = ((const uint4*)b)[i];
    changed += x.x == y.x && x.y == y.y && x.z == y.z && x.w == y.w ? 0 : 1;
  }
  for (u64 i = quads * 16 + FIRST; i < n; i += STEP) changed += a[i] == b[i] ? 0 : 1;
  Count(found, changed, 0);
}
// About one element in 128, and at least one, becomes all ones; which, the seed says.
__global__ void pawl_spoil(u32* out, u64 n, u64 words, u64 seed) {
  for (u64 i = FIRST; i < n; i += STEP) {
    u64 x = (i + seed) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    if ((x & 127) != 0 && i != seed % n) continue;
    for (u64 k = 0; k < words; ++k) out[i * words + k] = ~0u;
  }
}
struct Nudge { u8* data; const u8* pristine; u64 restore, element, from; u64 size; };
struct Nudges { u64 count; Nudge of[8]; };
__global__ void pawl_nudge(const Nudges nudges) {
  if (threadIdx.x >= nudges.count) return;
  const Nudge nudge = nudges.of[threadIdx.x];
  for (u64 i = 0; i < nudge.size; ++i) {
    if (nudge.restore != ~0ull) {
      nudge.data[nudge.restore * nudge.size + i] = nudge.pristine[nudge.restore * nudge.size + i];
    }
    if (nudge.element != ~0ull) {
      nudge.data[nudge.element * nudge.size + i] = nudge.pristine[nudge.from * nudge.size + i];
    }
  }
}
__global__ void pawl_stamp(u64* stamps, u32 slot) {
  u32 multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor != 0) return;
  u64 ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  const u64 cycles = (u64)clock64();
  // The first block there says it, both numbers of one moment.
  if (atomicCAS(&stamps[2 * slot], 0ull, ns) == 0) stamps[2 * slot + 1] = cycles;
}
}
)";

std::string_view CudaType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kI32:
      return "int";
    case DType::kU32:
      return "unsigned int";
  }
  CHECK(false, static_cast<int>(dtype));
}

void AddHeaders(CudaUnit& unit, const std::vector<HeaderText>& headers) {
  for (const StandardHeader& header : StandardHeaders()) {
    unit.headers.emplace_back(header.name, header.text);
  }
  for (const HeaderText& header : headers) unit.headers.emplace_back(header.name, header.text);
}

// Compile-time looks at a kernel's type; nothing of it is code.
constexpr const char* kSignatureTools = R"(
namespace pawl_signature {
template <class... A> struct Of {};
template <class T> struct Is { static constexpr bool pointer = false, number = false; };
template <class T> struct Is<T*> { static constexpr bool pointer = true, number = false; };
template <> struct Is<int> { static constexpr bool pointer = false, number = true; };
template <> struct Is<unsigned> { static constexpr bool pointer = false, number = true; };
template <> struct Is<long> { static constexpr bool pointer = false, number = true; };
template <> struct Is<unsigned long> { static constexpr bool pointer = false, number = true; };
template <> struct Is<long long> { static constexpr bool pointer = false, number = true; };
template <> struct Is<unsigned long long> { static constexpr bool pointer = false, number = true; };
template <class F> struct Kernel;
template <class... A> struct Kernel<void(A...)> {
  static constexpr int count = sizeof...(A);
  __device__ static constexpr bool Takes(const char* kinds) {
    if (count == 0) return true;
    const bool pointers[] = {Is<A>::pointer..., false}, numbers[] = {Is<A>::number..., false};
    for (int i = 0; i < count; ++i) {
      if (kinds[i] == 'p' ? !pointers[i] : !numbers[i]) return false;
    }
    return true;
  }
};
}
)";

}  // namespace

std::vector<std::string> CudaOptions(int capability) {
  return {"--gpu-architecture=sm_" + std::to_string(capability), "--std=c++20",
          "--ptxas-options=-v"};
}

CudaUnit KernelUnitFor(const SourceText& source, const std::vector<HeaderText>& headers,
                       const std::vector<Launch>& launches, const std::vector<std::string>& options,
                       int capability) {
  CudaUnit unit;
  unit.name = source.name;
  AddHeaders(unit, headers);
  for (const auto* given : {&options, &source.build_options}) {
    unit.options.insert(unit.options.end(), given->begin(), given->end());
  }
  const bool own_architecture =
      std::any_of(unit.options.begin(), unit.options.end(), [](const std::string& option) {
        return option.rfind("--gpu-architecture", 0) == 0 || option.rfind("-arch", 0) == 0;
      });
  const std::vector<std::string> ours = CudaOptions(capability);
  unit.options.insert(unit.options.begin(), ours.begin() + (own_architecture ? 1 : 0), ours.end());
  unit.text =
      LineMark(source.name) + source.text + "\n" + LaunchMark(source.name) + kSignatureTools;
  for (const Launch& launch : launches) {
    if (launch.kind != LaunchKind::kKernel) continue;
    if (std::find(unit.kernels.begin(), unit.kernels.end(), launch.kernel) == unit.kernels.end()) {
      unit.kernels.push_back(launch.kernel);
    }
    std::string kinds;
    for (const Argument& argument : launch.arguments) {
      kinds += argument.kind == Argument::Kind::kScalar ? 'n' : 'p';
    }
    const std::string type = "pawl_signature::Kernel<decltype(" + launch.kernel + ")>";
    unit.text += "static_assert(" + type + "::count == " + std::to_string(kinds.size()) +
                 ", \"the launch gives " + launch.kernel + " " + std::to_string(kinds.size()) +
                 " arguments\");\n";
    unit.text += "static_assert(" + type + "::count != " + std::to_string(kinds.size()) + " || " +
                 type + "::Takes(\"" + kinds +
                 "\"), \"the launch gives pointers for buffers and whole numbers for scalars\");\n";
  }
  return unit;
}

std::string ReferenceKernel(const Buffer& output) { return "pawl_reference_" + output.name; }

CudaUnit ReferenceUnitFor(const SourceText& source, const std::vector<HeaderText>& headers,
                          const std::vector<Buffer>& buffers, const std::vector<Scalar>& scalars,
                          int capability) {
  CudaUnit unit;
  unit.name = source.name;
  AddHeaders(unit, headers);
  unit.options = CudaOptions(capability);
  // The same value whatever the compiler makes of a multiply and an add.
  unit.options.insert(unit.options.end(), {"--fmad=false", "--device-as-default-execution-space"});
  unit.text = "#define PAWL_REFERENCE __device__ inline\n" + LineMark(source.name) + source.text +
              "\n" + LineMark("reference kernel") + "#include <cstdint>\n";
  for (const Buffer& output : buffers) {
    if (output.role != BufferRole::kOutput) continue;
    std::string parameters, values;
    for (const Buffer& buffer : buffers) {
      if (buffer.role != BufferRole::kInput) continue;
      const std::string name = "pawl_in_" + buffer.name;
      parameters += ", const " + std::string(CudaType(buffer.dtype)) + "* " + name;
      AppendItem(values, name);
    }
    for (const Scalar& scalar : scalars) {
      const std::string name = "pawl_scalar_" + scalar.name;
      parameters += ", std::int64_t " + name;
      AppendItem(values, name);
    }
    AppendPlace(values, output);
    unit.kernels.push_back(ReferenceKernel(output));
    unit.text += "extern \"C\" __global__ void " + ReferenceKernel(output) +
                 "(double* expected, std::int64_t first, std::int64_t last" + parameters +
                 ") {\n"
                 "  const std::int64_t flat = first + blockIdx.x * (std::int64_t)blockDim.x + "
                 "threadIdx.x;\n"
                 "  if (flat >= last) return;\n"
                 "  std::int64_t rest = flat;\n";
    unit.text += PlaceStatements(output, "  ");
    unit.text += "  static_cast<void>(rest);\n  expected[flat] = reference_" + output.name + "(" +
                 values + ");\n}\n";
  }
  return unit;
}

CudaUnit OwnUnit(int capability) {
  CudaUnit unit;
  unit.name = "pawl_own.cu";
  unit.text = kOwn;
  unit.options = CudaOptions(capability);
  for (const char* type : {"f32", "f64", "i32", "u32"}) {
    unit.kernels.push_back("pawl_compare_" + std::string(type));
    unit.kernels.push_back("pawl_plausible_" + std::string(type));
  }
  for (const char* kernel :
       {"pawl_finite", "pawl_words", "pawl_bytes", "pawl_spoil", "pawl_nudge", "pawl_stamp"}) {
    unit.kernels.emplace_back(kernel);
  }
  return unit;
}

}  // namespace pawl
