#pragma once
// The host's instruments, the clock frequency, and waiting until it is quiet.

#include <cstdint>

#include "schema/order.h"

namespace pawl {

// Now, in nanoseconds: CPU time of all threads of this process (kCpuTime), or the raw monotonic
// clock (kWallTime). Only differences mean something.
std::int64_t ReadInstrument(Instrument instrument);

// The shortest span that is timed at once: shorter kernels are called in a loop and the time
// divided. About a thousand times what reading the instrument costs.
std::int64_t ShortestSpanNs(Instrument instrument);

// The frequency this core runs at now: a chain of dependent additions takes one cycle each. The
// best of three short runs, 0.1 ms in all; 0 where that is not known of the CPU.
double MeasureClockMhz();

// Waits until the process's other threads use less than a tenth of a core, at most 100 ms: those of
// the kernel that ran before may still spin for their next task. false: they still do.
bool WaitUntilQuiet();

}  // namespace pawl
