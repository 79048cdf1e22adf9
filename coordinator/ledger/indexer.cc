#include "coordinator/ledger/indexer.h"

#include <utility>
#include <variant>

#include "coordinator/ledger/layout.h"

namespace pawl {

std::optional<Generation> IndexedGeneration(const Event& event) {
  if (const auto* proposed = std::get_if<Proposed>(&event.body)) return proposed->generation;
  if (const auto* measured = std::get_if<Measured>(&event.body)) {
    if (measured->report.kind == OrderKind::kMeasure) return measured->report.generation;
  }
  if (const auto* decided = std::get_if<Decided>(&event.body)) {
    if (!decided->again) return decided->generation;
  }
  return std::nullopt;
}

std::optional<SeenMark> IndexedAttempt(const Event& event) {
  if (const auto* granted = std::get_if<Granted>(&event.body)) {
    return SeenMark{
        ledger_layout::SeenKey(event.track, granted->kind, granted->generation, granted->attempt),
        Digest{}};
  }
  if (const auto* measured = std::get_if<Measured>(&event.body)) {
    const Report& report = measured->report;
    return SeenMark{
        ledger_layout::SeenKey(event.track, report.kind, report.generation, report.attempt),
        measured->digest};
  }
  return std::nullopt;
}

Status Indexer::Add(const Event& event) {
  if (const std::optional<Generation> generation = IndexedGeneration(event)) {
    const std::string key = ledger_layout::GenerationKey(event.track, *generation);
    auto found = generations_.find(key);
    if (found == generations_.end()) {
      GenerationIndex index;
      index.track = event.track;
      index.generation = *generation;
      const Result<std::optional<std::string>> stored = store_.Get(Family::kGen, key);
      if (!stored) return stored.error();
      if (*stored) {
        const std::optional<GenerationIndex> parsed = ledger_layout::ParseGeneration(key, **stored);
        if (!parsed) {
          return Error{"the index entry of track " + std::to_string(event.track.value) +
                           " generation " + std::to_string(generation->value) + " is not readable",
                       Advice::kHalt};
        }
        index = *parsed;
      }
      found = generations_.emplace(key, std::move(index)).first;
    }
    GenerationIndex& index = found->second;
    if (std::holds_alternative<Proposed>(event.body)) index.proposed = event.seq;
    if (std::holds_alternative<Measured>(event.body)) index.measured.push_back(event.seq);
    if (std::holds_alternative<Decided>(event.body)) index.decided = event.seq;
  }
  if (const std::optional<SeenMark> mark = IndexedAttempt(event)) {
    auto found = seen_.find(mark->key);
    if (found == seen_.end()) {
      const Result<std::optional<std::string>> stored = store_.Get(Family::kSeen, mark->key);
      if (!stored) return stored.error();
      const std::optional<Digest> digest =
          *stored ? ledger_layout::ParseDigest(**stored) : std::optional<Digest>(Digest{});
      if (!digest) return Error{"an entry of the index of attempts is not readable", Advice::kHalt};
      found = seen_.emplace(mark->key, *digest).first;
    }
    if (found->second.IsZero()) found->second = mark->digest;
  }
  return {};
}

void Indexer::WriteTo(rocksdb::WriteBatch& batch) {
  for (const auto& [key, index] : generations_) {
    store_.Put(batch, Family::kGen, key, ledger_layout::GenerationValue(index));
  }
  for (const auto& [key, digest] : seen_) {
    store_.Put(batch, Family::kSeen, key, ledger_layout::DigestValue(digest));
  }
}

}  // namespace pawl
