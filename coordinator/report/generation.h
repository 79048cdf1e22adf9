#pragma once
// One generation as people and scripts see it: everything the ledger knows of it, as a row, as
// JSON.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/ledger/ledger.h"
#include "coordinator/report/text.h"
#include "schema/event.h"
#include "schema/result.h"

namespace pawl {

struct GenerationRecord {
  TrackId track;
  Proposed proposed;
  std::vector<Report> reports;       // in the order they were taken
  std::optional<Decision> decision;  // none: still open
  std::int64_t decided_unix_ms = 0;
};

Result<GenerationRecord> LoadGeneration(const Ledger& ledger, const GenerationIndex& index);

// The candidate of a generation. Errors: the track has no such generation; it was refused before
// any build, with the constraint.
Result<Configuration> LoadCandidate(const Ledger& ledger, TrackId track, Generation generation);

// The reports that the decision rests on: the last measurement's batches, without earlier voids and
// faults.
std::vector<const Report*> DecidingReports(const GenerationRecord& record);

// Medians in microseconds of one arm, one a recorded round, over the deciding reports.
std::vector<double> ArmMedians(const GenerationRecord& record, ArmRole role);

// "quad_stage false -> true", "staging guarded -> shared (repaired: exact)", "none (A/A)".
std::string ChangeText(const std::vector<Change>& changes);

// generation, change, before, after, ratio, verdict, reason. A keep that the second instrument does
// not confirm says so: `instrument` is the track's (second_instrument.h).
TextTable GenerationTable();
std::vector<Cell> GenerationRow(const GenerationRecord& record, Instrument instrument);

// One object a line of `pawl log --json`; the keys are in docs/commands.md.
nlohmann::json GenerationJson(const GenerationRecord& record, const TrackSpec& spec);
nlohmann::json ConfigurationJson(const Configuration& configuration);
nlohmann::json ConfirmationJson(const Confirmed& confirmed);

// A sentence for people: "incumbent 78.7 us, committed 82.3 us: gain +4.36 % (spread ...)".
std::string ConfirmationText(const Confirmed& confirmed);
// The arms that were measured in the same rounds: "start 61.9 ms (the incumbent is 4.2 times as
// fast); …".
std::string BesideText(const Confirmed& confirmed);

}  // namespace pawl
