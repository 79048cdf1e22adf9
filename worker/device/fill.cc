#include "worker/device/fill.h"

#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

namespace pawl {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ull;  // 2^64 / phi, SplitMix64's increment
constexpr std::uint64_t kSiblingShare = 128;
constexpr std::uint64_t kEmptyShare = 16;  // of rows
constexpr std::uint64_t kLargestWeight = 1 << 16;

std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// SplitMix64's output number `counter` after `stream`: any element without those before it.
std::uint64_t Draw(std::uint64_t stream, std::uint64_t counter) {
  return Mix(stream + (counter + 1) * kGolden);
}

std::int64_t WordSum(std::uint64_t bits) {
  return static_cast<std::int64_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) +
                                   ((bits >> 32) & 0xffff) + (bits >> 48));
}

template <typename Element>
Element Rounded(double value) {
  if constexpr (std::is_floating_point_v<Element>) {
    return static_cast<Element>(value);
  } else {
    return static_cast<Element>(std::llround(value));
  }
}

// `count` row pointers, the last of them `last`.
template <typename Element>
void FillRowPointers(std::uint64_t last, std::uint64_t stream, std::uint64_t count,
                     Element* elements) {
  CHECK(count >= 2, count);
  const std::uint64_t rows = count - 1;
  const std::uint64_t longest = Scaled(Draw(stream, rows), rows);
  const std::uint64_t empty =
      rows == 1 ? rows : (longest + 1 + Scaled(Draw(stream, rows + 1), rows - 1)) % rows;
  const auto weight = [&](std::uint64_t row) -> std::uint64_t {
    if (row == longest) return kLargestWeight;
    const std::uint64_t draw = Draw(stream, row);
    if (row == empty || draw % kEmptyShare == 0) return 0;
    return 1 + Scaled(draw, kLargestWeight);
  };
  std::uint64_t all = 0;
  for (std::uint64_t row = 0; row < rows; ++row) all += weight(row);
  __extension__ using Wide = unsigned __int128;
  std::uint64_t before = 0;
  for (std::uint64_t row = 0; row < rows; ++row) {
    elements[row] = static_cast<Element>(static_cast<Wide>(before) * last / all);
    before += weight(row);
  }
  elements[rows] = static_cast<Element>(last);
}

// Moves about one in kSiblingShare of the pointers between the first and the last, and at least one
// that can move, to somewhere else between its neighbours.
template <typename Element>
void MoveRowPointers(std::uint64_t stream, std::uint64_t count, Element* elements) {
  const auto movable = [&](std::uint64_t i) { return elements[i - 1] < elements[i + 1]; };
  if (elements[count - 1] == 0 || count < 3) return;
  const std::uint64_t inner = count - 2;
  std::uint64_t always = 1 + Scaled(Draw(stream, count), inner);
  while (!movable(always)) always = always % inner + 1;
  for (std::uint64_t i = 1; i <= inner; ++i) {
    if ((i != always && Draw(stream, i) % kSiblingShare != 0) || !movable(i)) continue;
    const auto others = static_cast<std::uint64_t>(elements[i + 1] - elements[i - 1]);
    const std::uint64_t draw = Scaled(Draw(stream, count + i), others);
    const Element moved = static_cast<Element>(static_cast<std::uint64_t>(elements[i - 1]) + draw);
    elements[i] = moved < elements[i] ? moved : static_cast<Element>(moved + 1);
  }
}

template <typename Element>
void FillAs(const Fill& fill, std::uint64_t stream, std::int64_t count, Element* elements) {
  switch (fill.kind) {
    case FillKind::kNormal:
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::uint64_t>(i) * 3;
        const std::int64_t sum = WordSum(Draw(stream, at)) + WordSum(Draw(stream, at + 1)) +
                                 WordSum(Draw(stream, at + 2));
        const double z = static_cast<double>(sum - 393210) / 65536.0;
        elements[i] = Rounded<Element>(fill.a + fill.b * z);
      }
      return;
    case FillKind::kUniform:
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t bits = Draw(stream, static_cast<std::uint64_t>(i)) >> 11;
        const double value = fill.a + (fill.b - fill.a) * (static_cast<double>(bits) / 0x1p53);
        elements[i] = Rounded<Element>(value);
        if constexpr (std::is_floating_point_v<Element>) {
          const auto high = static_cast<Element>(fill.b);
          if (elements[i] >= high) elements[i] = std::nextafter(high, static_cast<Element>(fill.a));
        }
      }
      return;
    case FillKind::kIntegers: {
      const auto low = static_cast<std::int64_t>(fill.a);
      const auto range = static_cast<std::uint64_t>(static_cast<std::int64_t>(fill.b) - low) + 1;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t bits = Draw(stream, static_cast<std::uint64_t>(i)) >> 32;
        elements[i] = static_cast<Element>(low + static_cast<std::int64_t>((bits * range) >> 32));
      }
      return;
    }
    case FillKind::kConstant:
      for (std::int64_t i = 0; i < count; ++i) elements[i] = Rounded<Element>(fill.a);
      return;
    case FillKind::kRowPointers:
      if constexpr (std::is_integral_v<Element>) {
        return FillRowPointers(static_cast<std::uint64_t>(fill.a), stream,
                               static_cast<std::uint64_t>(count), elements);
      }
      break;
  }
  CHECK(false, static_cast<int>(fill.kind));
}

}  // namespace

void FillBuffer(const Buffer& buffer, std::uint32_t index, std::uint64_t seed, void* elements) {
  const std::uint64_t stream = Mix(seed + (index + 1ull) * kGolden);
  const std::int64_t count = buffer.Elements();
  switch (buffer.dtype) {
    case DType::kF32:
      return FillAs(buffer.fill, stream, count, static_cast<float*>(elements));
    case DType::kF64:
      return FillAs(buffer.fill, stream, count, static_cast<double*>(elements));
    case DType::kI32:
      return FillAs(buffer.fill, stream, count, static_cast<std::int32_t*>(elements));
    case DType::kU32:
      return FillAs(buffer.fill, stream, count, static_cast<std::uint32_t*>(elements));
  }
  CHECK(false, static_cast<int>(buffer.dtype));
}

void FillSibling(const Buffer& buffer, std::uint32_t index, std::uint64_t seed, void* elements) {
  FillBuffer(buffer, index, seed, elements);
  const std::size_t size = SizeOf(buffer.dtype);
  const auto count = static_cast<std::uint64_t>(buffer.Elements());
  if (buffer.fill.kind == FillKind::kRowPointers) {
    const std::uint64_t stream = Mix(Mix(seed + 2) + index);
    if (buffer.dtype == DType::kI32) {
      return MoveRowPointers(stream, count, static_cast<std::int32_t*>(elements));
    }
    return MoveRowPointers(stream, count, static_cast<std::uint32_t*>(elements));
  }
  std::vector<char> others(count * size);
  FillBuffer(buffer, index, Mix(seed + 1), others.data());
  const std::uint64_t stream = Mix(Mix(seed + 2) + index);
  const std::uint64_t always = Draw(stream, count) % count;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i != always && Draw(stream, i) % kSiblingShare != 0) continue;
    std::memcpy(static_cast<char*>(elements) + i * size, others.data() + i * size, size);
  }
}

std::uint64_t Nudged(const Buffer& buffer, std::uint64_t chosen) {
  if (buffer.fill.kind != FillKind::kRowPointers) return chosen;
  const auto count = static_cast<std::uint64_t>(buffer.Elements());
  return count < 3 ? kNoElement : 1 + chosen % (count - 2);
}

std::size_t Scaled(std::uint64_t draw, std::uint64_t count) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>(static_cast<Wide>(draw) * count >> 64);
}

void Poison(void* elements, std::size_t bytes) { std::memset(elements, 0xff, bytes); }

}  // namespace pawl
