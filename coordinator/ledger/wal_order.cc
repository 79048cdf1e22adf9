#include "coordinator/ledger/wal_order.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pawl {
namespace {

constexpr std::size_t kBlock = 32'768;
constexpr std::size_t kHeader = 7;
constexpr std::uint8_t kWhole = 1;  // a record in one chunk
constexpr std::uint8_t kFirst = 2;  // the first of several
constexpr std::uint8_t kLast = 4;   // and the last; 3 lies between

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

std::vector<std::string> LogsInOrder(rocksdb::Env* env, const std::string& folder) {
  std::vector<std::string> names;
  std::vector<std::string> logs;
  if (!env->GetChildren(folder, &names).ok()) return logs;
  for (const std::string& name : names) {
    const std::size_t digits = name.find_first_not_of("0123456789");
    if (digits > 0 && digits != std::string::npos && name.substr(digits) == ".log") {
      logs.push_back(name);
    }
  }
  std::sort(logs.begin(), logs.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return logs;
}

struct Chunk {
  std::size_t end = 0;  // where the next one begins
  bool begins = false;  // a record, with this number
  std::uint64_t sequence = 0;
};

// nullopt: none is there.
std::optional<Chunk> ChunkAt(std::string_view block, std::size_t at) {
  if (at + kHeader > block.size()) return std::nullopt;
  const std::uint64_t length = LittleEndian(block.substr(at + 4, 2));
  const auto type = static_cast<std::uint8_t>(block[at + 6]);
  if (type < kWhole || type > kLast || at + kHeader + length > block.size()) return std::nullopt;
  Chunk chunk;
  chunk.end = at + kHeader + length;
  chunk.begins = (type == kWhole || type == kFirst) && length >= 8;
  if (chunk.begins) chunk.sequence = LittleEndian(block.substr(at + kHeader, 8));
  return chunk;
}

}  // namespace

std::optional<std::string> WhyNotInOrder(rocksdb::Env* env, const std::string& folder) {
  std::uint64_t newest = 0;
  for (const std::string& name : LogsInOrder(env, folder)) {
    std::unique_ptr<rocksdb::SequentialFile> file;
    if (!env->NewSequentialFile(folder + "/" + name, &file, rocksdb::EnvOptions()).ok()) continue;
    std::string buffer(kBlock, '\0');
    rocksdb::Slice block;
    for (std::uint64_t offset = 0; file->Read(kBlock, &block, buffer.data()).ok() && !block.empty();
         offset += block.size()) {
      const std::string_view bytes(block.data(), block.size());
      std::size_t at = 0;
      while (const std::optional<Chunk> chunk = ChunkAt(bytes, at)) {
        if (chunk->begins && chunk->sequence < newest) {
          return name + " goes back from record " + std::to_string(newest) + " to " +
                 std::to_string(chunk->sequence) + " at byte " + std::to_string(offset + at);
        }
        if (chunk->begins) newest = chunk->sequence;
        at = chunk->end;
      }
    }
  }
  return std::nullopt;
}

}  // namespace pawl
