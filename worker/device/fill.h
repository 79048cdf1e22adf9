#pragma once
// The contents of input buffers: a pure function of (seed, buffer's place in the order, element),
// the same bits on every machine and compiler. Integer arithmetic and one multiply and add in
// double; no libm, no <random>.
//
// Element i of buffer b draws from the SplitMix64 stream Mix(seed + (b + 1) * 2^64/phi), by
// counter:
// - kUniform: a + (b - a) * (top 53 bits) / 2^53, below b also once rounded to the element's type;
// - kIntegers: a + (top 32 bits) * (b - a + 1) / 2^32, in integers;
// - kNormal: a + b * z, z = (the sum of twelve 16-bit words - 393210) / 65536 (Irwin-Hall): mean 0,
//   standard deviation 1 to 1e-9, within +-6; the words are those of three consecutive counters;
// - kConstant: a;
// - kRowPointers: floor(a * W(i) / W(rows)), W the sum of the weights of the rows before. A weight
// is
//   drawn evenly from 1 to 2^16, or is 0 for one row in 16; one row drawn has 2^16, another (of two
//   and more) 0. So rows are up to about twice the mean, one of them is, and some are empty.

#include <cstddef>
#include <cstdint>

#include "schema/order.h"

namespace pawl {

// Fills `elements` (Buffer::Elements() of the buffer's type) for an input set. `index`: of the
// buffer in Order::buffers.
void FillBuffer(const Buffer& buffer, std::uint32_t index, std::uint64_t seed, void* elements);

// The same with about one element in 128, and at least one, drawn anew: what an input set's sibling
// holds. Row pointers are drawn between their neighbours, and stay what they are where nothing can
// move: one row, or none of them with elements.
void FillSibling(const Buffer& buffer, std::uint32_t index, std::uint64_t seed, void* elements);

// Between timed calls one element of each input takes the value of the next (the last one that of
// the first): of the same kind, whatever the array means. Which, where `chosen` was drawn: that
// one. Of row pointers one between the first and the last, so that they never fall; kNoElement
// where there is none.
inline constexpr std::uint64_t kNoElement = ~0ull;
std::uint64_t Nudged(const Buffer& buffer, std::uint64_t chosen);

// In [0, count), evenly: a draw is a fraction of 2^64. In 64 bits the product would overflow from
// 2^32 elements on.
std::size_t Scaled(std::uint64_t draw, std::uint64_t count);

// What outputs hold before a checked run: all bits set, which is NaN in f32 and f64 and -1 in
// integers.
void Poison(void* elements, std::size_t bytes);

}  // namespace pawl
