#pragma once
// The bytes of the ledger's keys and values. Pure: knows no RocksDB.
//
//   log    be64(seq)                                               -> event ‖ digest
//          digest = SHA-256(0x00 ‖ digest of the event before ‖ event); 32 zero bytes before the
//          first
//   gen    be32(track) be32(generation)                            -> be64(proposed) be64(decided)
//   be64(measured)* seen   be32(track) kind be32(generation) be32(attempt)         -> digest of the
//   report taken; zeros: none yet blob   digest                                                  ->
//   bytes snap   be64(seq)                                               -> snapshot ‖ SHA-256(0x01
//   ‖ log digest at seq ‖ snapshot) state  "format" be32, "ledger" text, "epoch" be32, "head"
//   be64(seq) ‖ digest
//
// Numbers are big endian, so that byte order is number order.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/ledger/ledger.h"
#include "schema/digest.h"
#include "schema/ids.h"

namespace pawl::ledger_layout {

inline constexpr std::string_view kFormatKey = "format";
inline constexpr std::string_view kLedgerKey = "ledger";
inline constexpr std::string_view kEpochKey = "epoch";
inline constexpr std::string_view kHeadKey = "head";

std::string SeqKey(Seq seq);
std::optional<Seq> ParseSeqKey(std::string_view key);

struct LogEntry {
  std::string_view event;  // points into the value that was parsed
  Digest digest;
};
std::string LogValue(std::string_view event, const Digest& digest);
std::optional<LogEntry> ParseLogValue(std::string_view value);
Digest ChainDigest(const Digest& previous, std::string_view event);

std::string GenerationKey(TrackId track, Generation generation);
std::string GenerationValue(const GenerationIndex& index);
std::optional<GenerationIndex> ParseGeneration(std::string_view key, std::string_view value);

std::string SeenKey(TrackId track, OrderKind kind, Generation generation, Attempt attempt);
std::string DigestValue(const Digest& digest);
std::optional<Digest> ParseDigest(std::string_view value);

std::string SnapshotValue(std::string_view snapshot, const Digest& at);
// nullopt: damaged, or taken of another history.
std::optional<std::string_view> ParseSnapshotValue(std::string_view value, const Digest& at);

std::string NumberValue(std::uint32_t number);
std::optional<std::uint32_t> ParseNumber(std::string_view value);

struct HeadEntry {
  Seq seq;
  Digest digest;
};
std::string HeadValue(Seq seq, const Digest& digest);
std::optional<HeadEntry> ParseHead(std::string_view value);

}  // namespace pawl::ledger_layout
