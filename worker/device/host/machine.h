#pragma once
// What this machine is and can do: its name, the cores we may use, caches, and the two peaks that
// times are compared with. Read from /proc and /sys, or measured here.

#include <cstdint>
#include <string>
#include <vector>

namespace pawl {

struct Machine {
  std::string cpu;                 // "AMD EPYC 7763"
  std::string instructions;        // what -march=native depends on: family, model and flags
  std::vector<int> cores;          // that this process may run on
  std::uint32_t usable_cores = 0;  // of them, by the container's CPU quota
  std::uint64_t cache_bytes = 0;   // last level; 32 MiB when it cannot be read
  std::uint64_t memory_bytes = 0;  // of the machine or the container, whichever is less
};

// `wanted`: restrict to these cores; empty: all that are allowed.
Machine ReadMachine(const std::vector<int>& wanted);

// What a runner may take of the memory unless it is told otherwise: three quarters.
inline std::uint64_t RunnerMemory(const Machine& machine) { return machine.memory_bytes / 4 * 3; }

// "AMD EPYC 7763 64-Core Processor" -> "AMD EPYC 7763"; "Intel(R) Xeon(R) CPU @ 2.20GHz" -> "Intel
// Xeon".
std::string ShortCpuName(const std::string& name);

// float32, all usable cores at once, the best of a few short runs by CPU time: independent fused
// multiply-adds on the widest vectors of this CPU (a multiply and an add count as two).
double MeasurePeakGflops(const Machine& machine);

// Copying between arrays of four last-level caches, all usable cores at once; bytes read and
// written both count; the best of a few runs by CPU time.
double MeasurePeakGbytesPerSecond(const Machine& machine);

}  // namespace pawl
