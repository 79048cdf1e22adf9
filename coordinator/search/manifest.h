#pragma once
// A manifest: a TOML file that names one thing to measure, a kernel of a package at a shape or of a
// track of a ledger. The format is in docs/operations.md; every key is checked, unknown ones are
// refused with the nearest known.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/search/job.h"
#include "schema/ids.h"
#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

struct Manifest {
  std::string file;
  // A kernel of a package ...
  std::string operation;
  std::vector<Scalar> shape;
  std::string backend = "best";                          // "host", "cuda", "best": the device's
  std::string structure;                                 // empty: the backend's only one
  std::optional<std::vector<StartValue>> configuration;  // none: the committed kernel
  // ... or of a track.
  std::string ledger;                    // folder; empty: the one that every command finds
  std::string track;                     // number, or start of the label; empty: no track's
  std::optional<Generation> generation;  // its candidate; none: the track's incumbent

  std::string device;                    // as OpenDevice takes it; empty: the best there is
  std::optional<Instrument> instrument;  // none: the track's, or the one that fits the problem
  std::optional<std::uint32_t> warmup, iterations, rounds;
  std::optional<std::uint64_t> seed;

  std::string PlaceOf(const std::string& key) const;  // "m.toml:3"; of the file where it is absent
  std::map<std::string, std::string> places;          // of the keys that are there
};

Result<Manifest> ReadManifest(const std::string& path);
Result<Manifest> ParseManifest(const std::string& text, const std::string& path);

}  // namespace pawl
