#include "worker/device/host/guarded.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pawl {
namespace {

constexpr std::uint64_t kPattern = 0xa5c396f00f69c35aull;
constexpr std::size_t kLine = 64;
constexpr std::size_t kPlaceStep = 17 * kLine;  // odd in lines: 64 places in a page of 4 KiB

std::size_t PageBytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::byte PatternAt(std::uintptr_t address) {
  return static_cast<std::byte>(kPattern >> (8 * (address % 8)));
}

}  // namespace

Result<GuardedMemory> GuardedMemory::Allocate(std::size_t bytes, std::uint32_t place) {
  const std::size_t page = PageBytes();
  const std::size_t lead = page + place * kPlaceStep % page;  // pattern before the elements
  const std::size_t inside = (lead + bytes + page + page - 1) / page * page;
  GuardedMemory memory;
  memory.mapping_bytes_ = inside + 2 * page;
  void* mapping =
      ::mmap(nullptr, memory.mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return Error{
        "host: no memory for a buffer of " + std::to_string(bytes) + " B: " + std::strerror(errno),
        Advice::kRetry};
  }
  memory.mapping_ = static_cast<std::byte*>(mapping);
  if (::mprotect(memory.mapping_ + page, inside, PROT_READ | PROT_WRITE) != 0) {
    return Error{
        "host: no memory for a buffer of " + std::to_string(bytes) + " B: " + std::strerror(errno),
        Advice::kRetry};
  }
  memory.data_ = memory.mapping_ + page + lead;
  memory.bytes_ = bytes;
  std::byte* const first = memory.mapping_ + page;
  for (std::byte* at = first; at < memory.data_; ++at) {
    *at = PatternAt(reinterpret_cast<std::uintptr_t>(at));
  }
  for (std::byte* at = memory.data_ + bytes; at < first + inside; ++at) {
    *at = PatternAt(reinterpret_cast<std::uintptr_t>(at));
  }
  return memory;
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : mapping_(other.mapping_),
      mapping_bytes_(other.mapping_bytes_),
      data_(other.data_),
      bytes_(other.bytes_) {
  other.mapping_ = nullptr;
}

GuardedMemory::~GuardedMemory() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes_);
}

std::optional<std::int64_t> GuardedMemory::Touched() const {
  const std::size_t page = PageBytes();
  const std::byte* const end = mapping_ + mapping_bytes_ - page;
  for (const std::byte* at = data_ + bytes_; at < end; ++at) {
    if (*at != PatternAt(reinterpret_cast<std::uintptr_t>(at))) return at - data_;
  }
  for (const std::byte* at = data_; at-- > mapping_ + page;) {
    if (*at != PatternAt(reinterpret_cast<std::uintptr_t>(at))) return at - data_;
  }
  return std::nullopt;
}

std::string DescribeTouch(const Buffer& buffer, std::int64_t offset) {
  const auto size = static_cast<std::int64_t>(SizeOf(buffer.dtype));
  if (offset < 0) {
    return "wrote before the start of " + buffer.name + ": element " +
           std::to_string(-((-offset + size - 1) / size));
  }
  return "wrote past the end of " + buffer.name + ": element " + std::to_string(offset / size) +
         " of " + std::to_string(buffer.Elements());
}

}  // namespace pawl
