#pragma once
// What the generators of this folder are drawn with: lists, integers at their ends, enumerators,
// ids, and the parts that several of them share. Each file generated_*.cc makes the values of one
// header of schema/.

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/generators.h"

namespace pawl::test {

// 0 to `high` elements, seldom as many as that.
template <typename T>
rc::Gen<std::vector<T>> ListOf(rc::Gen<T> values, std::size_t low, std::size_t high) {
  return rc::gen::exec([=] {
    const std::size_t small = std::min<std::size_t>(high, low + 3);
    const std::size_t count =
        *rc::gen::weightedOneOf<std::size_t>({{9, rc::gen::inRange<std::size_t>(low, small + 1)},
                                              {1, rc::gen::inRange<std::size_t>(low, high + 1)}});
    std::vector<T> list;
    list.reserve(count);
    for (std::size_t i = 0; i < count; ++i) list.push_back(*values);
    return list;
  });
}

template <typename Int>
rc::Gen<Int> AnyInteger() {
  return rc::gen::weightedOneOf<Int>(
      {{4, rc::gen::arbitrary<Int>()},
       {1, rc::gen::elementOf(std::vector<Int>{0, 1, std::numeric_limits<Int>::max(),
                                               std::numeric_limits<Int>::min()})}});
}

template <typename Int>
rc::Gen<Int> Within(Int low, Int high) {
  return rc::gen::map(AnyInteger<std::uint64_t>(), [=](std::uint64_t number) {
    const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    return static_cast<Int>(static_cast<std::uint64_t>(low) + number % span);
  });
}

template <typename Enum>
rc::Gen<Enum> UpTo(Enum last) {
  return rc::gen::map(rc::gen::inRange(0, static_cast<int>(last) + 1),
                      [](int number) { return static_cast<Enum>(number); });
}

template <typename Id>
rc::Gen<Id> FromOne() {
  using Number = decltype(Id::value);
  return rc::gen::map(Within<Number>(1, std::numeric_limits<Number>::max()),
                      [](Number number) { return Id(number); });
}

rc::Gen<double> NotNegative();
rc::Gen<std::string> Letters(std::string alphabet, std::size_t low, std::size_t high);
rc::Gen<std::string> Identifier();
rc::Gen<std::string> FileName();
rc::Gen<std::string> HexId();
rc::Gen<std::string> WordOrNothing();
rc::Gen<std::string> NotEmptyLine();
std::string Distinct(const std::string& name,
                     std::size_t number);  // names that differ: with its number

// Of the arguments of a launch: how many there are to point at.
struct AnyTargets {
  std::vector<Buffer> buffers;
  std::size_t scalars = 0;
  std::size_t scratch = 0;
};
rc::Gen<std::vector<Buffer>> AnyBuffers();
rc::Gen<std::vector<Scalar>> AnyScalars();
rc::Gen<SourceText> AnySource();
rc::Gen<Launch> AnyLaunch(const AnyTargets& targets);
rc::Gen<std::vector<ArmRole>> AnyRoles(std::size_t low);  // of each role but rival at most one
rc::Gen<Deadlines> AnyDeadlines();

}  // namespace pawl::test
