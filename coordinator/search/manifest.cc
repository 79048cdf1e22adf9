#include "coordinator/search/manifest.h"

#include <filesystem>
#include <utility>

#include "coordinator/search/job_keys.h"
#include "kernels/document.h"

namespace pawl {
namespace {

constexpr std::int64_t kMostRounds = 1'000;

// `track = 1` or `track = "matmul 512"`.
Status TakeTrack(Table& table, Manifest& manifest) {
  auto node = table.OptionalNode("track");
  if (!node) return node.error();
  if (!*node) return {};
  if (const auto* number = std::get_if<std::int64_t>(&(*node)->value)) {
    if (*number >= 1 && *number <= kMost32) {
      manifest.track = std::to_string(*number);
      return {};
    }
  } else if (const auto* label = std::get_if<std::string>(&(*node)->value)) {
    if (IsLine(*label)) {
      manifest.track = *label;
      return {};
    }
  }
  return Error{table.PlaceOf("track").Text() +
               ": track is a number from 1, or the start of a track's label in quotes"};
}

// What the table says, each key by itself.
Status TakeKeys(Table& table, const std::string& folder, Manifest& manifest) {
  std::optional<std::string> operation, backend, structure, ledger, device;
  std::optional<std::vector<Scalar>> shape;
  std::optional<std::uint32_t> generation;
  for (const Status& taken :
       {TakeName(table, "operation", operation), TakeShape(table, shape),
        TakeChoice(table, "backend", {"best", "host", "cuda"}, backend),
        TakeName(table, "structure", structure), TakeLine(table, "ledger", ledger),
        TakeTrack(table, manifest), TakeInteger(table, "generation", 1, kMost32, generation),
        TakeLine(table, "device", device), TakeInstrument(table, manifest.instrument),
        TakeInteger(table, "warmup", 0, kMostCalls, manifest.warmup),
        TakeInteger(table, "iterations", 1, kMostCalls, manifest.iterations),
        TakeInteger(table, "rounds", 1, kMostRounds, manifest.rounds),
        TakeInteger(table, "seed", 0, kMost64, manifest.seed)}) {
    if (!taken) return taken;
  }
  if (table.Has("configuration")) {
    manifest.configuration.emplace();
    Status taken = TakeKnobs(table, "configuration", *manifest.configuration);
    if (!taken) return taken;
  } else {
    table.Know({"configuration"});
  }
  manifest.operation = operation.value_or("");
  manifest.backend = backend.value_or(manifest.backend);
  manifest.structure = structure.value_or("");
  if (shape) manifest.shape = *std::move(shape);
  if (ledger)
    manifest.ledger = (std::filesystem::path(folder) / *ledger).lexically_normal().string();
  if (generation) manifest.generation = Generation(*generation);
  if (device) manifest.device = DeviceFrom(folder, *device);
  return {};
}

// Whether the keys go together.
Status CheckKeys(const Manifest& manifest) {
  const auto said = [&](const std::string& key) { return manifest.places.contains(key); };
  if (!manifest.track.empty()) {
    for (const char* key : {"operation", "shape", "backend", "structure", "configuration"}) {
      if (!said(key)) continue;
      return Error{manifest.PlaceOf(key) + ": " + key +
                   " is the track's to say; leave it out, or leave out track"};
    }
    return {};
  }
  for (const char* key : {"ledger", "generation"}) {
    if (!said(key)) continue;
    return Error{manifest.PlaceOf(key) + ": " + key + " is of a track; say which with track = 1"};
  }
  if (manifest.operation.empty()) {
    return Error{manifest.file +
                 ": no operation; say operation = \"matmul\" or another package's name, or "
                 "track = 1 of a ledger"};
  }
  if (manifest.shape.empty()) {
    return Error{manifest.PlaceOf("operation") + ": no shape; give every shape letter of " +
                 manifest.operation + " a value, as in shape = { m = 1024, n = 1024, k = 1024 }"};
  }
  if (said("structure") && !manifest.configuration) {
    return Error{manifest.PlaceOf("structure") +
                 ": structure names a space, and without a configuration the committed kernel is "
                 "measured; add [configuration] (empty: the structure's start), or leave out "
                 "structure"};
  }
  return {};
}

}  // namespace

std::string Manifest::PlaceOf(const std::string& key) const {
  const auto found = places.find(key);
  return found == places.end() ? file : found->second;
}

Result<Manifest> ParseManifest(const std::string& text, const std::string& path) {
  auto table = ParseToml(text, path);
  if (!table) return table.error();
  Manifest manifest;
  manifest.file = path;
  for (const std::string& key : (*table)->Keys()) {
    manifest.places.emplace(key, (*table)->PlaceOf(key).Text());
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (Status taken = TakeKeys(**table, folder, manifest); !taken) return taken.error();
  if (Status finished = (*table)->Finish(); !finished) return finished.error();
  if (Status checked = CheckKeys(manifest); !checked) return checked.error();
  return manifest;
}

Result<Manifest> ReadManifest(const std::string& path) {
  auto text = ReadText(path);
  if (!text) return text.error();
  return ParseManifest(*text, path);
}

}  // namespace pawl
