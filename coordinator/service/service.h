#pragma once
// The coordinator's loop: feeds Core with messages and time, appends its events to the ledger, and
// sends what may be sent once they are synced. `pawl run` and a daemon are both this.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/ledger/ledger.h"
#include "coordinator/search/binding.h"
#include "coordinator/search/core.h"
#include "coordinator/search/job.h"
#include "coordinator/service/hub.h"
#include "schema/result.h"

namespace pawl {

struct ServiceOptions {
  std::string ledger_folder;
  std::string endpoint;  // empty: ipc:// in the ledger's folder, or none beside `guarded`
  std::optional<GuardedAddress> guarded{};  // for workers of other hosts
  std::string kernels_root;  // where operation packages lie
  std::optional<Job> job;    // none: only the tracks the ledger holds (confirm)
  bool search = true;        // false: nothing is proposed; only confirmations are granted
  bool fork = false;         // a changed track is opened anew from the old one's incumbent
  Ledger::Options ledger;
  std::uint32_t beat_ms = 5'000;
  std::uint32_t lost_ms = 20'000;
  std::uint32_t lease_ms = 60'000;
};

class Service {
 public:
  // Opens (or makes) the ledger, folds it, and listens. Whether the job may go on with the tracks
  // it holds shows as the devices come. Errors: those of Ledger::Open and of the address.
  static Result<std::unique_ptr<Service>> Open(ServiceOptions options);
  ~Service();

  // One turn: waits up to `timeout_ms` for messages (or `wake_fd`), carries out what follows from
  // them and from the time. Errors stop the search, but kRetry ones (disk space): what could not be
  // appended is kept and comes first in the next turn, which receives nothing before it; what was
  // received and not carried out is heard then.
  Status Turn(std::int64_t timeout_ms, int wake_fd = -1);

  Status Drain();                 // no more grants; Done() once nothing is held
  Status Confirm(TrackId track);  // one more confirmation
  // Loads a track of the ledger into core without a job: for Confirm.
  Status Adopt(TrackId track);
  Status Close();  // snapshot; the ledger is flushed when this object goes

  bool Done() const;
  const Core& core() const;
  const Ledger& ledger() const;
  const Hub& hub() const;
  const std::string& endpoint() const;
  // Why devices that came were refused, a line each, none twice.
  const std::vector<std::string>& refusals() const;

  std::function<void(const Event&)> on_event;  // after it is synced
  std::function<void(const std::string&)> on_note;
  std::function<void(const std::string&)> on_warning;  // a person may have to do something
  static std::int64_t NowMs();  // monotonic

 private:
  struct State;
  explicit Service(std::unique_ptr<State> state);
  Status CarryOut(Effects effects);
  Status BindDevice(const Hello& hello, std::optional<std::string>& refusal);
  std::unique_ptr<State> state_;
};

}  // namespace pawl
