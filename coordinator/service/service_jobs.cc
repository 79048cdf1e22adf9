// Which jobs a service has, and what binds their tracks to the devices that come.

#include <algorithm>

#include "coordinator/search/job_check.h"
#include "coordinator/service/resume.h"
#include "coordinator/service/service_state.h"
#include "schema/key_files.h"

namespace pawl {
namespace {

constexpr std::size_t kMostRefusal = 4'096;  // bytes of a line that refuses

Reply Refused(std::string why) { return {ReplyCode::kRefused, true, std::move(why) + "\n"}; }

bool IsFor(const Job& job, const std::string& host) {
  return job.hosts.empty() ||
         std::find(job.hosts.begin(), job.hosts.end(), host) != job.hosts.end();
}

std::string Counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

Result<std::shared_ptr<const Operation>> Service::State::OperationOf(const std::string& name) {
  auto& known = operations[name];
  if (known == nullptr) {
    auto loaded = LoadOperation(options.kernels_root + "/" + name);
    if (!loaded) return loaded.error();
    known = std::make_shared<Operation>(*std::move(loaded));
  }
  return known;
}

void Service::State::TakeUp(const Job& job) {
  core->SetTerms(job.name, {job.hosts, job.min_workers});
  jobs.insert_or_assign(job.name, job);
}

void Service::TakeUpBoard() {
  for (const auto& [name, state] : state_->core->board().jobs()) {
    if (state.status == JobStatus::kCancelled) continue;
    auto job = ParseJob(state.submitted.text, state.submitted.file);
    if (job) {
      state_->TakeUp(*job);
    } else {
      state_->problems[name] = job.error().message;
    }
  }
}

Status Service::BindDevice(const Hello& hello, std::optional<std::string>& refusal) {
  std::vector<std::string> reasons;
  bool usable = state_->jobs.empty();
  for (const auto& [name, job] : state_->jobs) {
    std::vector<std::string> why;
    if (!IsFor(job, hello.host)) {
      reasons.push_back("job " + name + " wants a worker of another host than " + hello.host);
      continue;
    }
    auto bound = BindJobTo(job, hello.device, why);
    if (!bound) {
      if (!state_->options.stay || bound.error().advice != Advice::kReject) return bound.error();
      NoteProblem(name, bound.error().message);
      continue;
    }
    usable = usable || *bound > 0;
    if (*bound > 0) continue;
    std::string line = "no track of job " + name + " can use device " + hello.device.model;
    for (const std::string& reason : why) line += "; " + reason;
    reasons.push_back(std::move(line));
  }
  if (usable || state_->options.stay || reasons.empty()) return {};
  refusal = reasons.front();
  return {};
}

void Service::NoteProblem(const std::string& job, const std::string& problem) {
  std::string& known = state_->problems[job];
  if (known == problem) return;
  known = problem;
  if (on_warning) on_warning("job " + job + ": " + problem);
}

// Opens or resumes the job's tracks that this device can serve; gives how many those are. A track
// that may not go on is an error; why others cannot use the device are `reasons`.
Result<std::size_t> Service::BindJobTo(const Job& job, const DeviceFacts& device,
                                       std::vector<std::string>& reasons) {
  const OperationLookup lookup = [this](const std::string& name) {
    return state_->OperationOf(name);
  };
  auto bound = BindJob(job, device, lookup);
  if (!bound) return bound.error();
  reasons = std::move(bound->reasons);
  for (std::size_t i = 0; i < bound->specs.size(); ++i) {
    auto id = OpenOrResume(job, bound->specs[i]);
    if (!id) return id.error();
    Effects effects = state_->core->OnInFlight(*id, bound->in_flight[i], NowMs());
    if (Status done = CarryOut(std::move(effects)); !done) return done.error();
  }
  return bound->specs.size();
}

Result<TrackId> Service::OpenOrResume(const Job& job, TrackSpec spec) {
  const auto& active = state_->core->tracks();
  const auto searched = std::find_if(active.begin(), active.end(), [&](const auto& entry) {
    return SameTrack(entry.second.track.state.spec, spec);
  });
  if (searched != active.end()) {
    const TrackId id = searched->first;
    if (!state_->options.stay || searched->second.track.state.spec.budget == spec.budget) return id;
    Effects effects = state_->core->OnRebudget(id, spec.budget, NowMs());
    if (Status done = CarryOut(std::move(effects)); !done) return done.error();
    return id;
  }
  auto operation = state_->OperationOf(spec.operation);
  if (!operation) return operation.error();
  // The newest track of that name in the ledger: forks come after what they were forked from.
  auto resumed = state_->dormant.end();
  for (auto track = state_->dormant.begin(); track != state_->dormant.end(); ++track) {
    if (SameTrack(track->second.state.spec, spec)) resumed = track;
  }
  TrackId forked_from;
  if (resumed != state_->dormant.end()) {
    const TrackState& old = resumed->second.state;
    TrackSpec wanted = spec;
    if (old.forked_from != TrackId{}) wanted.start = old.spec.start;
    const auto why = WhyNotResume(old.spec, wanted);
    if (!why) {
      const TrackId id = old.id;  // adopting takes `old` away
      const bool as_it_was = state_->options.stay && old.spec.budget == spec.budget;
      if (Status adopted = Adopt(id); !adopted) return adopted.error();
      if (as_it_was) return id;  // where it was paused as unstable, a person makes it go on
      Effects effects = state_->core->OnRebudget(id, spec.budget, NowMs());
      if (Status done = CarryOut(std::move(effects)); !done) return done.error();
      return id;
    }
    if (!state_->options.fork) {
      return Error{"cannot resume track " + std::to_string(old.id.value) + " (" +
                   TrackTitle(old.spec) + ") of ledger " + state_->ledger->folder() + ": " + *why +
                   (state_->options.stay ? "; put it back, or give the job another name"
                                         : "; put it back, or open a new track from its incumbent "
                                           "with --fork")};
    }
    forked_from = old.id;
    spec.start = StartOfFork(old, spec, *(*operation)->FindBackend(spec.backend));
  }
  auto workshop = MakeWorkshop(spec, *operation);
  if (!workshop) {
    return Error{job.file + ": track '" + spec.label + "': " + workshop.error().message};
  }
  if (Status kept = KeepPackage(*state_->ledger, **operation, spec); !kept) {
    return kept.error();
  }
  Effects effects = state_->core->OnOpenTrack(
      TrackOpened{spec, forked_from}, *std::move(workshop), NowMs(),
      state_->dormant.empty() ? TrackId{} : state_->dormant.rbegin()->first);
  if (Status done = CarryOut(std::move(effects)); !done) return done.error();
  return state_->core->tracks().rbegin()->first;
}

Status Service::Adopt(TrackId id) {
  const auto found = state_->dormant.find(id);
  if (found == state_->dormant.end()) {
    if (state_->core->tracks().contains(id)) return {};
    std::string have;
    for (const auto& [known, track] : state_->dormant) {
      have += (have.empty() ? "" : ", ") + std::to_string(known.value);
    }
    return Error{"ledger " + state_->ledger->folder() + " has no track " +
                 std::to_string(id.value) + " (have: " + (have.empty() ? "none" : have) + ")"};
  }
  auto operation = PackageOf(*state_->ledger, found->second.state.spec);
  if (!operation) return operation.error();
  auto workshop = MakeWorkshop(found->second.state.spec, *operation);
  if (!workshop) return workshop.error();
  state_->core->AddTrack(CoreTrack{std::move(found->second), *std::move(workshop)}, NowMs());
  state_->dormant.erase(found);
  return {};
}

// Why a job may not take the place of the one of its name: a track of it that a connected device
// binds may not go on as it says.
std::optional<std::string> Service::WhyNotAgain(const Job& job) const {
  const OperationLookup lookup = [this](const std::string& name) {
    return state_->OperationOf(name);
  };
  const std::map<TrackId, const Track*> tracks = Tracks();
  for (const WorkerView& worker : state_->core->WorkerViews()) {
    const auto bound = BindJob(job, worker.device, lookup);
    if (!bound || !IsFor(job, worker.host)) continue;  // said when it is bound
    for (const TrackSpec& spec : bound->specs) {
      for (const auto& [id, track] : tracks) {
        const TrackState& old = track->state;
        // A worker of another toolchain is no fault of the job's.
        if (!SameTrack(old.spec, spec) || old.spec.toolchain != spec.toolchain) continue;
        TrackSpec wanted = spec;
        if (old.forked_from != TrackId{}) wanted.start = old.spec.start;
        const auto why = WhyNotResume(old.spec, wanted);
        if (!why) continue;
        return "cannot go on with track " + std::to_string(id.value) + " (" + TrackTitle(old.spec) +
               "): " + *why + "; put it back, or give the job another name";
      }
    }
  }
  return std::nullopt;
}

// Binds a job to the devices that are there; a line a device model that cannot use it.
Result<std::vector<std::string>> Service::BindToThere(const Job& wanted) {
  const Job job = wanted;  // it may be taken out of the jobs meanwhile
  std::vector<std::string> lines;
  std::vector<std::string> seen;
  for (const WorkerView& worker : state_->core->WorkerViews()) {
    if (!IsFor(job, worker.host)) continue;
    const std::string device = worker.device.model + '\n' + worker.device.toolchain;
    if (std::find(seen.begin(), seen.end(), device) != seen.end()) continue;
    seen.push_back(device);
    std::vector<std::string> reasons;
    auto bound = BindJobTo(job, worker.device, reasons);
    if (!bound && bound.error().advice != Advice::kReject) return bound.error();
    if (!bound) {
      NoteProblem(job.name, bound.error().message);
      lines.push_back(bound.error().message);
    } else if (*bound == 0) {
      std::string line = worker.device.model + " cannot use it";
      for (const std::string& reason : reasons) line += "; " + reason;
      lines.push_back(std::move(line));
    }
  }
  state_->unbound.erase(job.name);
  return lines;
}

Result<Reply> Service::Submit(const Ask& ask) {
  if (ask.file.empty())
    return Refused("the job file has no name; give one, as in jobs/matmul.toml");
  auto job = ParseJob(ask.text, ask.file);
  if (!job) return Refused(job.error().message);
  state_->operations.clear();  // a package may have changed since
  const OperationLookup lookup = [this](const std::string& name) {
    return state_->OperationOf(name);
  };
  if (auto checked = CheckJob(*job, {}, lookup); !checked) return Refused(checked.error().message);
  if (const auto why = WhyNotAgain(*job)) return Refused("job " + job->name + " " + *why);
  const bool again = state_->core->board().Find(job->name) != nullptr;
  state_->problems.erase(job->name);
  state_->TakeUp(*job);
  state_->unbound.insert(job->name);
  Effects effects =
      state_->core->OnSubmit({job->name, ask.file, ask.text, ask.priority, ask.by}, NowMs());
  if (Status done = CarryOut(std::move(effects)); !done) return done.error();
  auto lines = BindToThere(*job);
  if (!lines) return lines.error();
  if (Status resumed = ResumeStopped(job->name); !resumed) return resumed.error();
  std::size_t tracks = 0;
  for (const auto& [id, entry] : state_->core->tracks()) {
    tracks += entry.track.state.spec.job == job->name ? 1 : 0;
  }
  std::string text = "job " + job->name + (again ? " submitted again: " : " submitted: ");
  text += tracks > 0 ? Counted(tracks, "track")
                     : "it waits for a device that can use it; " +
                           Counted(state_->core->Workers().size(), "worker") + " there";
  text += '\n';
  for (const std::string& line : *lines) text += line + '\n';
  return Reply{ReplyCode::kOk, true, text};
}

Result<Reply> Service::MoveJob(const Ask& ask, JobStatus status) {
  const JobState* known = state_->core->board().Find(ask.job);
  if (known == nullptr) {
    std::string have;
    for (const auto& [name, job] : state_->core->board().jobs()) {
      have += (have.empty() ? "" : ", ") + name;
    }
    return Refused("no job '" + ask.job +
                   "' was submitted (have: " + (have.empty() ? "none" : have) + ")");
  }
  const std::string done = "job " + ask.job + " is " + std::string(Name(status)) + "\n";
  if (known->status == status && status != JobStatus::kGoing) {
    return Reply{ReplyCode::kOk, true, done};
  }
  if (status == JobStatus::kGoing) {
    auto job = ParseJob(known->submitted.text, known->submitted.file);
    if (!job) return Refused(job.error().message);
    state_->operations.clear();  // a package may have changed since
    state_->TakeUp(*job);
    state_->unbound.insert(ask.job);
  } else if (status == JobStatus::kCancelled) {
    state_->jobs.erase(ask.job);
  }
  if (known->status != status) {
    Effects effects = state_->core->OnMoveJob({ask.job, status, ask.by}, NowMs());
    if (Status carried = CarryOut(std::move(effects)); !carried) return carried.error();
  }
  std::string text = done;
  if (status == JobStatus::kGoing) {
    auto lines = BindToThere(state_->jobs.at(ask.job));
    if (!lines) return lines.error();
    if (Status resumed = ResumeStopped(ask.job); !resumed) return resumed.error();
    for (const std::string& line : *lines) text += line + '\n';
  }
  return Reply{ReplyCode::kOk, true, text};
}

// Tracks that were paused as unstable go on when a person says so.
Status Service::ResumeStopped(const std::string& job) {
  std::vector<TrackId> stopped;
  for (const auto& [id, entry] : state_->core->tracks()) {
    const TrackState& track = entry.track.state;
    if (track.spec.job == job && track.status == TrackStatus::kPaused) stopped.push_back(id);
  }
  for (const TrackId id : stopped) {
    if (Status done = CarryOut(state_->core->OnResumeTrack(id, NowMs())); !done) return done;
  }
  return {};
}

Status Service::BindUnbound() {
  for (const std::string& name : std::set<std::string>(state_->unbound)) {
    const auto job = state_->jobs.find(name);
    state_->unbound.erase(name);
    if (job == state_->jobs.end()) continue;
    if (auto lines = BindToThere(Job(job->second)); !lines) {
      state_->unbound.insert(name);
      return lines.error();
    }
  }
  return {};
}

// Who came over the guarded address has to be allowed to give orders there.
std::optional<std::string> Service::WhyMayNotAsk(const std::string& host) const {
  if (host.empty()) return std::nullopt;
  const auto list = ReadAllowList(state_->options.guarded->keys);
  if (list && list->Operates(host)) return std::nullopt;
  return "host " + host +
         " may measure here, and not give jobs; where the coordinator runs: pawl keys allow " +
         host + " PUBLIC_KEY --operator";
}

Status Service::OnAsk(const PeerId& peer, const std::string& host, const Ask& ask) {
  const auto answer = [&](Reply said) {
    Say(peer, std::move(said));
    return Status{};
  };
  if (!state_->options.stay) {
    return answer({ReplyCode::kWrong, true,
                   "this coordinator searches one job and takes no others; pawl serve does\n"});
  }
  if (const auto why = WhyMayNotAsk(host)) return answer(Refused(*why));
  Result<Reply> made = Reply{};
  switch (ask.verb) {
    case AskVerb::kSubmit:
      made = Submit(ask);
      break;
    case AskVerb::kPause:
      made = MoveJob(ask, JobStatus::kPaused);
      break;
    case AskVerb::kResume:
      made = MoveJob(ask, JobStatus::kGoing);
      break;
    case AskVerb::kCancel:
      made = MoveJob(ask, JobStatus::kCancelled);
      break;
    case AskVerb::kStatus:
    case AskVerb::kWatch:
      if (on_ask) on_ask(peer, ask);
      return {};
  }
  if (made) return answer(*std::move(made));
  (void)answer(
      {ReplyCode::kWrong, true, made.error().message + "; it is done once that is mended\n"});
  return made.error();
}

void Service::Say(const PeerId& peer, Reply said) {
  if (said.code != ReplyCode::kOk && said.text.size() > kMostRefusal) {
    said.text.resize(kMostRefusal);
    said.text += " ...\n";
  }
  const std::string text = std::move(said.text);
  std::size_t begin = 0;
  while (text.size() - begin > kMaxReplyBytes) {
    // Whole lines; one that is longer than a reply may be is cut.
    std::size_t end = text.rfind('\n', begin + kMaxReplyBytes - 1);
    end = end == std::string::npos || end < begin ? begin + kMaxReplyBytes : end + 1;
    state_->hub->Send({peer, Reply{said.code, false, text.substr(begin, end - begin)}});
    begin = end;
  }
  state_->hub->Send({peer, Reply{said.code, said.done, text.substr(begin)}});
}

std::map<TrackId, const Track*> Service::Tracks() const {
  std::map<TrackId, const Track*> tracks;
  for (const auto& [id, track] : state_->dormant) tracks.emplace(id, &track);
  for (const auto& [id, track] : state_->core->tracks()) tracks.emplace(id, &track.track);
  return tracks;
}

const std::map<std::string, std::string>& Service::Problems() const { return state_->problems; }

}  // namespace pawl
