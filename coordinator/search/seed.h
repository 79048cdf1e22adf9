#pragma once
// Where all that looks like chance comes from: a track's seed, a purpose and a number. The same on
// every machine and standard library.

#include <cstdint>
#include <string_view>

namespace pawl {

// A number of 64 even bits for one purpose ("field_note.mirror", "random") and occasion.
std::uint64_t SeedFor(std::uint64_t seed, std::string_view purpose, std::uint64_t occasion = 0,
                      std::uint64_t part = 0);

// SplitMix64 (Steele, Lea and Flood 2014): the next number of a stream, whose state it moves.
std::uint64_t SplitMix64(std::uint64_t& state);

// Even over 0 .. limit - 1, limit > 0; draws again what would make low numbers likelier.
std::uint64_t Below(std::uint64_t& state, std::uint64_t limit);

}  // namespace pawl
