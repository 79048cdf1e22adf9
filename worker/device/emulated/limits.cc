#include "worker/device/emulated/limits.h"

namespace pawl {
namespace {

constexpr std::uint32_t kKilobyte = 1 << 10;
constexpr std::uint32_t kClusterBlocks = 8;  // that every device with clusters takes
constexpr std::uint32_t kHopperBlocks = 16;  // that sm_90 takes where a kernel opts in

constexpr SmLimits kKnown[] = {{80, 163 * kKilobyte, 1},
                               {86, 99 * kKilobyte, 1},
                               {89, 99 * kKilobyte, 1},
                               {90, 227 * kKilobyte, kHopperBlocks},
                               {120, 99 * kKilobyte, kClusterBlocks}};

std::string NameOf(const SmLimits& limits) { return "sm_" + std::to_string(limits.sm); }

}  // namespace

std::optional<SmLimits> LimitsOf(const std::string& name) {
  for (const SmLimits& limits : kKnown) {
    if (NameOf(limits) == name) return limits;
  }
  return std::nullopt;
}

std::string KnownLimits() {
  std::string names;
  for (const SmLimits& limits : kKnown) names += (names.empty() ? "" : ", ") + NameOf(limits);
  return names;
}

std::optional<std::string> WhyNotLaunch(const SmLimits& limits, const Launch& launch,
                                        std::uint32_t static_shared_bytes) {
  const std::string sm = NameOf(limits);
  const auto say = [&](const std::string& what, std::uint64_t needed, std::uint64_t allowed) {
    return launch.kernel + ": " + what + ": " + std::to_string(needed) + " needed, " +
           std::to_string(allowed) + " allowed on " + sm;
  };
  std::uint64_t threads = 1;
  for (const std::uint32_t side : launch.block) threads *= side;
  if (threads > kBlockThreads) return say("threads of a block", threads, kBlockThreads);
  if (static_shared_bytes > kStaticSharedBytes) {
    return say("static shared memory of a block, bytes", static_shared_bytes, kStaticSharedBytes);
  }
  const std::uint64_t shared = std::uint64_t{static_shared_bytes} + launch.dynamic_shared_bytes;
  if (shared > limits.shared_bytes) {
    return say("shared memory of a block, bytes (" + std::to_string(static_shared_bytes) +
                   " static, " + std::to_string(launch.dynamic_shared_bytes) + " dynamic)",
               shared, limits.shared_bytes);
  }
  std::uint64_t blocks = 1;
  for (const std::uint32_t side : launch.cluster) blocks *= side;
  if (blocks > limits.cluster_blocks) {
    return say("blocks of a cluster", blocks, limits.cluster_blocks);
  }
  return std::nullopt;
}

}  // namespace pawl
