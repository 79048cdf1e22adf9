#pragma once
// What a test says to the stand-in driver once it is loaded, and where the stand-ins are.

#include <cstdint>

extern "C" {
// As at the start: no failure is planned. `devices`: how many there are; negative: cuInit fails.
void standin_reset(int devices);
// The call number `call` from now on fails with `code`; where the code is a kernel's fault, all
// later ones too.
void standin_fail(std::uint64_t call, int code);
std::uint64_t standin_calls();
const char* standin_failed();    // the function that was made to fail
std::uint64_t standin_memory();  // allocations that have not been given back
// Kernels and fills from now on are written down, or not. Traced: the times of number `at`, in
// nanoseconds; 0 when there are fewer.
// Launches of the kernel of that name between the profiler's start and stop.
std::uint64_t standin_profiled(const char* kernel);
void standin_trace(int on);
int standin_traced(std::uint64_t at, std::uint64_t* start_ns, std::uint64_t* end_ns);
}
