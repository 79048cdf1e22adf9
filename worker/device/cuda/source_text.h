#pragma once
// The texts that the CUDA device compiles. Pure: text in, text out.
//
// - A kernel's source with lines behind it that hold its signature against the launches' arguments.
// - A reference's source with a kernel behind it for each output, a thread an element.
// - The device's own kernels: comparing, counting what changed, time stamps.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "schema/order.h"
#include "worker/device/cuda/nvrtc.h"

namespace pawl {

// What every unit is compiled with for an architecture such as 90 (sm_90). An arm's own options may
// name another, such as sm_90a, in its place.
std::vector<std::string> CudaOptions(int capability);

// An arm's source. Each kernel must take as many arguments as its launches give, pointers for
// buffers and scratch, whole numbers for scalars; else it does not compile.
CudaUnit KernelUnitFor(const SourceText& source, const std::vector<HeaderText>& headers,
                       const std::vector<Launch>& launches, const std::vector<std::string>& options,
                       int capability);

// For each output C a kernel pawl_reference_C(double* expected, first, last, inputs...,
// scalars...): expected[i] for flat elements i in [first, last).
std::string ReferenceKernel(const Buffer& output);
CudaUnit ReferenceUnitFor(const SourceText& source, const std::vector<HeaderText>& headers,
                          const std::vector<Buffer>& buffers, const std::vector<Scalar>& scalars,
                          int capability);

// The device's own kernels:
// - pawl_compare_f32|f64|i32|u32(const T* out, const double* expected, u64 n, double rtol,
//   double atol, Found*): elements outside their bound, and the largest error;
// - pawl_finite(const double*, u64 n, Found*): elements that are not finite;
// - pawl_words(const u32*, u64 n, u32 value, Found*): words that are not `value`;
// - pawl_bytes(const u8* a, const u8* b, u64 n, Found*): bytes that differ;
// - pawl_plausible_f32|f64|i32|u32(T* out, const double* expected, u64 n, double rtol, double atol,
//   u64 shift): finite values like those of the output, every one of them wrong;
// - pawl_spoil(u32* out, u64 n, u64 words, u64 seed): about one element of `words` words in 128,
// and
//   at least one, becomes all ones;
// - pawl_nudge(Nudges): of each array puts element `restore` back and gives `element` the value
// that
//   `from` has in the pristine one; ~0: none;
// - pawl_stamp(u64[4], u32 slot): the nanosecond timer and the clock of multiprocessor 0, into
//   [2 slot] and [2 slot + 1].
CudaUnit OwnUnit(int capability);

// As the kernels have them.
struct Nudge {
  unsigned long long data = 0, pristine = 0;  // addresses on the GPU
  unsigned long long restore = ~0ull, element = ~0ull, from = 0;
  unsigned long long size = 0;  // of an element
};
struct Nudges {
  static constexpr std::size_t kMost = 8;
  unsigned long long count = 0;
  Nudge of[kMost];
};
// What a check kernel counts.
struct Found {
  unsigned long long count = 0;
  unsigned long long max_error_bits = 0;  // of a double >= 0, or infinity
};

}  // namespace pawl
