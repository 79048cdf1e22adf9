// One deliberate mistake for each value of the knob; the others are right.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

// pawl: knobs
enum class Fault { none, segfault };
constexpr Fault fault = Fault::none;
// pawl: end

extern "C" void planted(const float* X, float* Y, std::int64_t n) {
  const auto add_one = [&] {
    for (std::int64_t i = 0; i < n; ++i) Y[i] = X[i] + 1.0f;
  };
  if constexpr (fault == Fault::segfault) {
    *static_cast<volatile int*>(nullptr) = 1;
  } else if constexpr (fault == Fault::spin) {
    for (volatile bool on = true; on;) {
    }
  } else if constexpr (fault == Fault::wrong_value) {
    add_one();
    Y[n / 2] += 0.5f;
  } else if constexpr (fault == Fault::past_end) {
    add_one();
    Y[n] = 1.0f;
  } else if constexpr (fault == Fault::before_start) {
    add_one();
    Y[-1] = 1.0f;
  } else if constexpr (fault == Fault::modifies_input) {
    add_one();
    const_cast<float*>(X)[n - 1] = 0.0f;
  } else if constexpr (fault == Fault::stale) {
    // Keeps its first result and gives it back ever after.
    static std::vector<float> kept;
    if (kept.empty()) {
      add_one();
      kept.assign(Y, Y + n);
    }
    for (std::int64_t i = 0; i < n; ++i) Y[i] = kept[i];
  } else if constexpr (fault == Fault::unwritten) {
    for (std::int64_t i = 0; i + 1 < n; ++i) Y[i] = X[i] + 1.0f;
  } else if constexpr (fault == Fault::skips_unless_poisoned) {
    static int calls = 0;  // a check makes fewer
    if (++calls <= 16 || std::isnan(Y[0])) add_one();
  } else if constexpr (fault == Fault::skips_when_poisoned) {
    static int calls = 0;
    if (++calls <= 16 || !std::isnan(Y[0])) add_one();
  } else if constexpr (fault == Fault::aborts) {
    std::abort();
  } else if constexpr (fault == Fault::exits) {
    std::exit(0);
  } else if constexpr (fault == Fault::not_finite) {
    add_one();
    Y[0] = INFINITY;
  } else if constexpr (fault == Fault::no_such_function) {
    extern void pawl_no_such_function(float*);
    pawl_no_such_function(Y);
  } else {
    add_one();
  }
}
