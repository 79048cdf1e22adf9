#pragma once
// What an architecture allows one launch: the figures of the CUDA C++ Programming Guide, "Technical
// specifications per compute capability". Registers are not modelled.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "schema/order.h"

namespace pawl {

struct SmLimits {
  std::uint32_t sm = 0;              // 89: compute capability 8.9
  std::uint32_t shared_bytes = 0;    // of a block, static and dynamic together
  std::uint32_t cluster_blocks = 1;  // 1: no clusters
};

inline constexpr std::uint32_t kStaticSharedBytes = 48 << 10;  // of a block, every architecture
inline constexpr std::uint32_t kBlockThreads = 1024;

// Of "sm_89"; nullopt: not known.
std::optional<SmLimits> LimitsOf(const std::string& name);
std::string KnownLimits();  // "sm_80, sm_86, ..."

// Why the architecture cannot run the launch, with the figures; nullopt: it can.
std::optional<std::string> WhyNotLaunch(const SmLimits& limits, const Launch& launch,
                                        std::uint32_t static_shared_bytes);

}  // namespace pawl
