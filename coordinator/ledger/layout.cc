#include "coordinator/ledger/layout.h"

#include <algorithm>

namespace pawl::ledger_layout {
namespace {

constexpr std::size_t kDigestBytes = 32;

template <typename Number>
void Append(std::string& bytes, Number number) {
  for (int shift = 8 * (static_cast<int>(sizeof(Number)) - 1); shift >= 0; shift -= 8) {
    bytes += static_cast<char>(number >> shift);
  }
}

template <typename Number>
Number Take(std::string_view& bytes) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number = static_cast<Number>(number << 8 | static_cast<std::uint8_t>(bytes[i]));
  }
  bytes.remove_prefix(sizeof(Number));
  return number;
}

std::string_view View(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

Digest TakeDigest(std::string_view bytes) {
  Digest digest;
  std::copy_n(bytes.begin(), kDigestBytes, digest.bytes.begin());
  return digest;
}

Digest SnapshotDigest(std::string_view snapshot, const Digest& at) {
  return Hasher().Raw({"\x01", 1}).Raw(View(at)).Raw(snapshot).Finish();
}

}  // namespace

std::string SeqKey(Seq seq) {
  std::string key;
  Append(key, seq.value);
  return key;
}

std::optional<Seq> ParseSeqKey(std::string_view key) {
  if (key.size() != 8) return std::nullopt;
  return Seq(Take<std::uint64_t>(key));
}

std::string LogValue(std::string_view event, const Digest& digest) {
  std::string value;
  value.reserve(event.size() + kDigestBytes);
  value.append(event).append(View(digest));
  return value;
}

std::optional<LogEntry> ParseLogValue(std::string_view value) {
  if (value.size() < kDigestBytes) return std::nullopt;
  const std::size_t size = value.size() - kDigestBytes;
  return LogEntry{value.substr(0, size), TakeDigest(value.substr(size))};
}

Digest ChainDigest(const Digest& previous, std::string_view event) {
  return Hasher().Raw({"\0", 1}).Raw(View(previous)).Raw(event).Finish();
}

std::string GenerationKey(TrackId track, Generation generation) {
  std::string key;
  Append(key, track.value);
  Append(key, generation.value);
  return key;
}

std::string GenerationValue(const GenerationIndex& index) {
  std::string value;
  Append(value, index.proposed.value);
  Append(value, index.decided.value);
  for (const Seq measured : index.measured) Append(value, measured.value);
  return value;
}

std::optional<GenerationIndex> ParseGeneration(std::string_view key, std::string_view value) {
  if (key.size() != 8 || value.size() < 16 || value.size() % 8 != 0) return std::nullopt;
  GenerationIndex index;
  index.track = TrackId(Take<std::uint32_t>(key));
  index.generation = Generation(Take<std::uint32_t>(key));
  index.proposed = Seq(Take<std::uint64_t>(value));
  index.decided = Seq(Take<std::uint64_t>(value));
  while (!value.empty()) index.measured.push_back(Seq(Take<std::uint64_t>(value)));
  return index;
}

std::string SeenKey(TrackId track, OrderKind kind, Generation generation, Attempt attempt) {
  std::string key;
  Append(key, track.value);
  Append(key, static_cast<std::uint8_t>(kind));
  Append(key, generation.value);
  Append(key, attempt.value);
  return key;
}

std::string DigestValue(const Digest& digest) { return std::string(View(digest)); }

std::optional<Digest> ParseDigest(std::string_view value) {
  if (value.size() != kDigestBytes) return std::nullopt;
  return TakeDigest(value);
}

std::string SnapshotValue(std::string_view snapshot, const Digest& at) {
  return LogValue(snapshot, SnapshotDigest(snapshot, at));
}

std::optional<std::string_view> ParseSnapshotValue(std::string_view value, const Digest& at) {
  const std::optional<LogEntry> parts = ParseLogValue(value);
  if (!parts || parts->digest != SnapshotDigest(parts->event, at)) return std::nullopt;
  return parts->event;
}

std::string NumberValue(std::uint32_t number) {
  std::string value;
  Append(value, number);
  return value;
}

std::optional<std::uint32_t> ParseNumber(std::string_view value) {
  if (value.size() != 4) return std::nullopt;
  return Take<std::uint32_t>(value);
}

std::string HeadValue(Seq seq, const Digest& digest) {
  std::string value;
  Append(value, seq.value);
  return value.append(View(digest));
}

std::optional<HeadEntry> ParseHead(std::string_view value) {
  if (value.size() != 8 + kDigestBytes) return std::nullopt;
  HeadEntry head;
  head.seq = Seq(Take<std::uint64_t>(value));
  head.digest = TakeDigest(value);
  return head;
}

}  // namespace pawl::ledger_layout
