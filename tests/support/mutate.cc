#include "tests/support/mutate.h"

namespace pawl::test {

std::uint64_t Mutator::Below(std::uint64_t bound) {
  // SplitMix64 (Steele, Lea, Flood 2014).
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  return bound == 0 ? 0 : mixed % bound;
}

std::string Mutator::Mutate(std::string_view bytes, std::string_view other) {
  std::string mutated(bytes);
  const std::uint64_t times = 1 + Below(4);
  for (std::uint64_t i = 0; i < times; ++i) Damage(mutated, other);
  return mutated;
}

void Mutator::Damage(std::string& bytes, std::string_view other) {
  const std::size_t at = Below(bytes.size());
  switch (Below(8)) {
    case 0:
    case 1:
    case 2:  // flip a bit
      if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
      break;
    case 3: {  // overwrite a byte with one that matters
      static constexpr unsigned char kBytes[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff, '\n', '"'};
      if (!bytes.empty()) bytes[at] = static_cast<char>(kBytes[Below(sizeof kBytes)]);
      break;
    }
    case 4:  // cut the end off
      bytes.resize(at);
      break;
    case 5: {  // take a piece out
      bytes.erase(at, 1 + Below(16));
      break;
    }
    case 6: {  // splice a piece of another one in, over or between what is there
      const std::size_t from = Below(other.size());
      const std::string_view piece = other.substr(from, 1 + Below(64));
      bytes.replace(at, Below(2) == 0 ? piece.size() : 0, piece);
      break;
    }
    default:  // extend
      for (std::uint64_t i = 1 + Below(24); i > 0; --i) bytes += static_cast<char>(Below(256));
      break;
  }
}

}  // namespace pawl::test
