#pragma once
// How a watched word remembers who has touched it, in 16 bits: 0-9 the thread in its block, 10-13
// the block's rank in its cluster. With kSeveral the low ones are a group of lanes of one warp
// (warp_clock.h), or all of the rank, or all ranks. kByAtomic marks a writer's read-modify-write,
// kInFlight a copy that has not been waited for.

#include <cstdint>
#include <string>

#include "worker/device/emulated/kernel_abi.h"

namespace pawl {

inline constexpr std::uint16_t kInFlight = 0x8000;  // writers
inline constexpr std::uint16_t kSeveral = 0x4000;   // readers
inline constexpr std::uint16_t kByAtomic = 0x4000;  // writers
inline constexpr std::uint16_t kLow = 0x3ff;
inline constexpr unsigned kRankShift = 10;
// Group 0 of a warp is none.
inline constexpr std::uint16_t kSeveralWarps = 0;
inline constexpr std::uint16_t kSeveralRanks = 32;

inline std::uint16_t RankOf(std::uint16_t who) { return who >> kRankShift & 15; }

// "(1,0,0)".
std::string IndexText(const PawlIndex& index);

}  // namespace pawl
