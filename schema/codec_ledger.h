#pragma once
// What events and snapshots share; for the codec's own files, like codec_private.h.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/codec_bytes.h"
#include "schema/codec_private.h"
#include "schema/event.h"
#include "schema/ledger.capnp.h"

namespace pawl::codec {

// Words a reader of our own disk may visit: as many as it takes, but no pointer maze.
inline std::uint64_t OwnWords(std::string_view bytes) { return 64 * 1024 + bytes.size() / 2; }

// A map from its entries, which are stored by rising key.
template <typename Map, typename Entries>
Map ReadSorted(Entries entries, const Place& at) {
  Map map;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0 && !(entries[i - 1].first < entries[i].first)) {
      at[i].Refuse("'" + entries[i].first + "'", "keys in rising order");
      return map;
    }
  }
  for (auto& entry : entries) map.emplace_hint(map.end(), std::move(entry));
  return map;
}

void WriteSpec(const TrackSpec& value, wire::TrackSpec::Builder out);
TrackSpec ReadSpec(wire::TrackSpec::Reader in, const Place& at);

void WriteSubmitted(const JobSubmitted& value, wire::JobSubmitted::Builder out);
JobSubmitted ReadSubmitted(wire::JobSubmitted::Reader in, const Place& at);

}  // namespace pawl::codec
