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
  std::string kernels_root;                 // where operation packages lie
  std::optional<Job> job;                   // none: only the tracks the ledger holds (confirm)
  bool search = true;  // false: nothing is proposed; only confirmations are granted
  bool fork = false;   // a changed track is opened anew from the old one's incumbent
  // A daemon: the jobs are those of the ledger's board, more of them come, and it ends when it is
  // told.
  bool stay = false;
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
  // Those that are searched and those that are not, by id.
  std::map<TrackId, const Track*> Tracks() const;
  // Why a device that came could not be bound to a job, by its name.
  const std::map<std::string, std::string>& Problems() const;
  // To one who asked; what is not its last answer may be lost.
  void Say(const PeerId& peer, Reply said);

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
  // ASKs that are answered outside: status and watch.
  std::function<void(const PeerId&, const Ask&)> on_ask;
  static std::int64_t NowMs();  // monotonic

 private:
  struct State;
  explicit Service(std::unique_ptr<State> state);
  Status CarryOut(Effects effects);
  // Binds every job to this device. A device that no track can use is `refusal`, but of a daemon.
  Status BindDevice(const Hello& hello, std::optional<std::string>& refusal);
  Result<std::size_t> BindJobTo(const Job& job, const DeviceFacts& device,
                                std::vector<std::string>& reasons);
  Result<TrackId> OpenOrResume(const Job& job, TrackSpec spec);
  Result<std::vector<std::string>> BindToThere(const Job& wanted);
  Status BindUnbound();  // what a full disk kept from being bound
  Status ResumeStopped(const std::string& job);
  std::optional<std::string> WhyNotAgain(const Job& job) const;
  void TakeUpBoard();
  void NoteProblem(const std::string& job, const std::string& problem);
  Status OnAsk(const PeerId& peer, const std::string& host, const Ask& ask);
  std::optional<std::string> WhyMayNotAsk(const std::string& host) const;
  Result<Reply> Submit(const Ask& ask);
  Result<Reply> MoveJob(const Ask& ask, JobStatus status);
  std::unique_ptr<State> state_;
};

}  // namespace pawl
