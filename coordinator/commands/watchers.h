#pragma once
// Who watches a daemon, and what it is told: a row a generation, and every confirmation.

#include <cstdint>
#include <map>
#include <string>

#include "coordinator/report/generation.h"
#include "coordinator/report/text.h"
#include "coordinator/service/service.h"

namespace pawl {

class Watchers {
 public:
  explicit Watchers(Service& service);

  // A watcher asks again every few seconds; one that does not is forgotten.
  void OnAsk(const PeerId& peer, const Ask& ask);
  void OnGeneration(const GenerationRecord& record);
  void OnConfirmed(TrackId track, const Confirmed& confirmed);

 private:
  struct Watcher {
    std::string job;  // empty: all
    bool json = false;
    std::int64_t asked_ms = 0;
  };
  void ForgetSilent();
  void Tell(const std::string& job, const std::string& row, const std::string& json);

  Service& service_;
  TextTable table_;
  std::map<PeerId, Watcher> watchers_;
};

}  // namespace pawl
