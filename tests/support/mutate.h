#pragma once
// Damaged input for parsers: bit flips, cuts, splices, extensions, in a seeded order that is the
// same on every machine.

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::test {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : state_(seed) {}

  // `bytes` with one to four kinds of damage; pieces of `other` may be spliced in.
  std::string Mutate(std::string_view bytes, std::string_view other);

  std::uint64_t Below(std::uint64_t bound);  // 0 to bound - 1; 0 where bound is 0

 private:
  void Damage(std::string& bytes, std::string_view other);

  std::uint64_t state_;
};

}  // namespace pawl::test
