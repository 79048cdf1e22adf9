#pragma once
// Follows a running search for a person: a row a generation, a progress line on a terminal, and the
// summary at the end; or one JSON object a line.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "coordinator/report/generation.h"
#include "coordinator/report/worker_time.h"
#include "coordinator/service/service.h"

namespace pawl {

class Follow {
 public:
  // Hooks itself into the service's on_event and on_note; must outlive its turns.
  // `confirmed`, where given, receives the last confirmation.
  Follow(Service& service, bool json, Confirmed* confirmed = nullptr);

  // What was printed, for others who want to know.
  std::function<void(const GenerationRecord&)> on_generation;
  std::function<void(TrackId, const Confirmed&)> on_confirmed;

  void Progress();  // redraws the progress line, a few times a second
  void Finish();    // clears it
  // What was found: each track's end, its confirmation, where the ledger lies; as JSON an object
  // for each track of which nothing else was printed. Gives the exit code.
  int Summary();

 private:
  void OnEvent(const Event& event);
  void Print(const std::string& line);
  void PrintRow(const GenerationRecord& record);
  std::string ProgressText() const;
  const CoreTrack* TrackOf(TrackId id) const;

  Service& service_;
  const bool json_;
  const bool colour_;
  const bool terminal_;
  Confirmed* const last_confirmed_;
  TextTable table_;
  std::map<TrackId, GenerationRecord> open_;
  std::map<TrackId, Confirmed> confirmed_;
  std::map<TrackId, WorkerTime> spent_;
  TrackId last_printed_;
  std::set<TrackId> printed_;  // of which something was printed
  bool header_printed_ = false;
  std::uint64_t decided_here_ = 0;
  std::int64_t started_ms_;
  std::int64_t drawn_ms_ = 0;
  bool drawn_ = false;
};

}  // namespace pawl
