#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/cuda/standin.h"
#include "tests/cuda/standin_state.h"
#include "worker/device/cuda/source_text.h"

namespace pawl {
namespace {

template <typename T>
T Take(void** arguments, int index) {
  T value;
  std::memcpy(&value, arguments[index], sizeof value);
  return value;
}
template <typename T>
T* Pointer(void** arguments, int index) {
  return reinterpret_cast<T*>(Take<CuAddress>(arguments, index));
}

void Count(Found* found, std::uint64_t count, double error = 0) {
  found->count += count;
  unsigned long long bits = 0;
  std::memcpy(&bits, &error, sizeof bits);
  found->max_error_bits = std::max(found->max_error_bits, bits);
}

}  // namespace

std::function<void()> StandinKernel(CuFunction function, void** a) {
  const std::string& name = function->name;
  const CuModule module = function->module;
  const auto after = [](double us, std::function<void()> work) {
    return [us, work = std::move(work)] {
      work();
      The().Advance(us);
    };
  };
  if (name == "pawl_compare_f32") {
    return after(
        1, [out = Pointer<float>(a, 0), ref = Pointer<double>(a, 1), n = Take<std::uint64_t>(a, 2),
            rtol = Take<double>(a, 3), atol = Take<double>(a, 4), found = Pointer<Found>(a, 5)] {
          for (std::uint64_t i = 0; i < n; ++i) {
            double error = std::fabs(out[i] - ref[i]);
            const bool right = error <= atol + rtol * std::fabs(ref[i]);
            if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
            Count(found, right ? 0 : 1, error);
          }
        });
  }
  if (name == "pawl_plausible_f32") {
    return after(1, [out = Pointer<float>(a, 0), ref = Pointer<double>(a, 1),
                     n = Take<std::uint64_t>(a, 2)] {
      for (std::uint64_t i = 0; i < n; ++i)
        out[i] = static_cast<float>(ref[i] + 1 + std::fabs(ref[i]));
    });
  }
  if (name == "pawl_spoil") {
    return after(1, [out = Pointer<std::uint32_t>(a, 0), n = Take<std::uint64_t>(a, 1),
                     words = Take<std::uint64_t>(a, 2), seed = Take<std::uint64_t>(a, 3)] {
      for (std::uint64_t i = seed % 128; i < n; i += 128) {
        std::fill_n(out + i * words, words, ~0u);
      }
      std::fill_n(out + seed % n * words, words, ~0u);
    });
  }
  if (name == "pawl_finite") {
    return after(1, [values = Pointer<double>(a, 0), n = Take<std::uint64_t>(a, 1),
                     found = Pointer<Found>(a, 2)] {
      for (std::uint64_t i = 0; i < n; ++i) Count(found, std::isfinite(values[i]) ? 0 : 1);
    });
  }
  if (name == "pawl_words") {
    return after(1, [words = Pointer<std::uint32_t>(a, 0), n = Take<std::uint64_t>(a, 1),
                     value = Take<std::uint32_t>(a, 2), found = Pointer<Found>(a, 3)] {
      for (std::uint64_t i = 0; i < n; ++i) Count(found, words[i] == value ? 0 : 1);
    });
  }
  if (name == "pawl_bytes") {
    return after(1, [x = Pointer<char>(a, 0), y = Pointer<char>(a, 1),
                     n = Take<std::uint64_t>(a, 2), found = Pointer<Found>(a, 3)] {
      for (std::uint64_t i = 0; i < n; ++i) Count(found, x[i] == y[i] ? 0 : 1);
    });
  }
  if (name == "pawl_nudge") {
    return after(1, [nudges = Take<Nudges>(a, 0)] {
      for (std::uint64_t i = 0; i < nudges.count; ++i) {
        const Nudge& nudge = nudges.of[i];
        char* const data = reinterpret_cast<char*>(nudge.data);
        const char* const pristine = reinterpret_cast<const char*>(nudge.pristine);
        if (nudge.restore != ~0ull) {
          std::memcpy(data + nudge.restore * nudge.size, pristine + nudge.restore * nudge.size,
                      nudge.size);
        }
        if (nudge.element != ~0ull) {
          std::memcpy(data + nudge.element * nudge.size, pristine + nudge.from * nudge.size,
                      nudge.size);
        }
      }
    });
  }
  if (name == "pawl_stamp") {
    return after(1, [stamps = Pointer<std::uint64_t>(a, 0), slot = Take<std::uint32_t>(a, 1)] {
      const auto ns = static_cast<std::uint64_t>(1e6 + The().us * 1e3);
      stamps[2 * slot] = ns;
      stamps[2 * slot + 1] = static_cast<std::uint64_t>(1e6 + The().kilocycles * 1e3);
    });
  }
  if (name == "pawl_reference_out") {
    return after(1, [expected = Pointer<double>(a, 0), first = Take<std::int64_t>(a, 1),
                     last = Take<std::int64_t>(a, 2), in = Pointer<float>(a, 3)] {
      for (std::int64_t i = first; i < last; ++i) expected[i] = 2.0 * in[i] + 1;
    });
  }
  // The kernels of the tests: out = 2 in + 1 in their various ways.
  float* const in = Pointer<float>(a, 0);
  float* const out = Pointer<float>(a, 1);
  const auto n = Take<std::int64_t>(a, 2);
  const auto right = [in, out, n] {
    for (std::int64_t i = 0; i < n; ++i) out[i] = 2 * in[i] + 1;
  };
  if (name == "right") return after(10, right);
  if (name == "slow") return after(50, right);
  if (name == "wrong_value") {
    return after(10, [=] {
      right();
      out[3] += 1;
    });
  }
  if (name == "unwritten") {
    return after(10, [=] {
      const float kept = out[n - 1];
      right();
      out[n - 1] = kept;
    });
  }
  if (name == "changes_input") {
    return after(10, [=] {
      right();
      in[5] += 1;
    });
  }
  if (name == "one_past_end") {
    return after(10, [=] {
      right();
      out[n] = 1;
    });
  }
  if (name == "before_start") {
    return after(10, [=] {
      right();
      out[-1] = 1;
    });
  }
  if (name == "stale") {  // computes only when its first input has changed
    return after(10, [=] {
      if (module->has_remembered && module->remembered == in[0]) return;
      module->has_remembered = true;
      module->remembered = in[0];
      right();
    });
  }
  if (name == "throttled") {  // the GPU slows down while it runs
    return [=] {
      right();
      The().Advance(10, 1200);
    };
  }
  if (name == "skips_its_own") {  // an element that still holds what it gave last
    return after(10, [=] {
      std::vector<float>& kept = module->kept;
      kept.resize(static_cast<std::size_t>(n), std::nanf(""));
      for (std::int64_t i = 0; i < n; ++i) {
        if (out[i] != kept[i]) kept[i] = out[i] = 2 * in[i] + 1;
      }
    });
  }
  if (name == "skips_unless_nan") {
    return after(10, [=] {
      if (std::isnan(out[0])) right();
    });
  }
  if (name == "skips_if_nan") {
    return after(10, [=] {
      if (!std::isnan(out[0])) right();
    });
  }
  if (name == "breaks") {
    return after(10, [] { The().sticky = kCuIllegalAddress; });
  }
  return after(10, [name] { The().log.push_back("no kernel " + name); });
}

}  // namespace pawl
