#pragma once
// SHA-256 digests: the names of sources, objects, events and evidence.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "schema/result.h"

namespace pawl {

struct Digest {
  std::array<std::uint8_t, 32> bytes{};

  auto operator<=>(const Digest&) const = default;
  bool IsZero() const { return *this == Digest{}; }
  std::string Hex() const;         // 64 lower-case digits
  std::string Short() const;       // the first 12 of them, for people
  std::uint64_t Prefix64() const;  // the first 8 bytes, big endian

  static Result<Digest> FromHex(std::string_view hex);
};

Digest Sha256(std::string_view bytes);

// Feeds a digest piece by piece. Each Field is length-prefixed, so that ("ab","c") and ("a","bc")
// differ.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  Hasher& Raw(std::string_view bytes);
  Hasher& Field(std::string_view bytes);
  Digest Finish();  // once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pawl

template <>
struct std::hash<pawl::Digest> {
  std::size_t operator()(const pawl::Digest& digest) const noexcept { return digest.Prefix64(); }
};
