#pragma once
// Memory that a kernel gets, with a known pattern on both sides and an unmapped page beyond:
//
//   | no access | pattern, >= 4 KiB | elements | pattern, >= 4 KiB | no access |
//
// A write just outside the elements changes the pattern and is found; one far outside ends the
// process. Elements start at multiples of 64 B and, from buffer to buffer, at different places in a
// page, so that no two arrays of a kernel fight for the same cache sets by our doing.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

class GuardedMemory {
 public:
  // `place`: which of an order's arrays it is; decides where in a page it starts.
  static Result<GuardedMemory> Allocate(std::size_t bytes, std::uint32_t place);
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  GuardedMemory(const GuardedMemory&) = delete;
  ~GuardedMemory();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // The offset of the changed pattern byte nearest to the elements: negative before them, bytes()
  // or more after them. nullopt: untouched.
  std::optional<std::int64_t> Touched() const;

 private:
  GuardedMemory() = default;

  std::byte* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// "wrote past the end of C: element 4096 of 4096"; "wrote before the start of C: element -1".
std::string DescribeTouch(const Buffer& buffer, std::int64_t offset);

}  // namespace pawl
