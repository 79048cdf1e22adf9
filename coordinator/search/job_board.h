#pragma once
// The fold of a ledger's job events: which jobs a coordinator was given, and what a person wants of
// each.
//
//   JobSubmitted -> going, with this text;  JobMoved -> going, paused or cancelled.
//
// Like search/track, Apply is the only way it changes, live and on resuming alike.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schema/event.h"
#include "schema/snapshot.h"

namespace pawl {

class JobBoard {
 public:
  JobBoard() = default;
  explicit JobBoard(const std::vector<JobState>& snapshot);

  // Others than job events change nothing. CHECKs that the event can follow.
  void Apply(const Event& event);
  // nullopt when the event can follow; else why not, in one line.
  std::optional<std::string> WhyNotApply(const Event& event) const;

  const std::map<std::string, JobState>& jobs() const { return jobs_; }  // by name
  const JobState* Find(const std::string& job) const;                    // nullptr: none
  std::vector<JobState> Snapshot() const;

  bool operator==(const JobBoard&) const = default;

 private:
  std::map<std::string, JobState> jobs_;
};

}  // namespace pawl
