#include "coordinator/search/job.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "coordinator/search/job_keys.h"
#include "coordinator/search/job_layer.h"
#include "coordinator/search/policy.h"
#include "coordinator/search/proposer.h"
#include "kernels/document.h"
#include "schema/keys.h"
#include "schema/message.h"

namespace pawl {
namespace {

constexpr const char* kBackends[] = {"host", "cuda"};
constexpr std::int64_t kMostWorkers = 10'000;

// A job's table and the overrides for a backend within it.
struct Layers {
  JobLayer own;
  std::map<std::string, JobLayer> by_backend;
};

Result<Layers> ReadLayers(Table& table, const std::string& folder) {
  auto own = ReadLayer(table, LayerKind::kTrack, folder);
  if (!own) return own.error();
  Layers layers{*std::move(own), {}};
  for (const char* backend : kBackends) {
    auto sub = table.OptionalSub(backend);
    if (!sub) return sub.error();
    if (*sub == nullptr) continue;
    auto override_layer = ReadLayer(**sub, LayerKind::kBackend, folder);
    if (!override_layer) return override_layer.error();
    layers.by_backend.emplace(backend, *std::move(override_layer));
  }
  return layers;
}

// Where a rule's fault stands: at its name, at the one parameter that is wrong by itself, or else
// at `place`. `make` tries a name and parameters and says what is wrong.
using Make = std::function<std::optional<std::string>(const std::string&, const Parameters&)>;
Status CheckRule(const Make& make, const std::string& name, const Parameters& parameters,
                 const std::vector<const RuleLayer*>& layers, std::string place) {
  const auto wrong = make(name, parameters);
  if (!wrong) return {};
  const bool named_wrong = make(name, {}).has_value();
  for (const RuleLayer* layer : layers) {
    if (named_wrong && layer->name == name) place = layer->name_place;
    if (named_wrong) continue;
    for (const auto& [parameter, parameter_place] : layer->places) {
      const auto found = parameters.find(parameter);
      if (found != parameters.end() && make(name, {*found}) == wrong) place = parameter_place;
    }
  }
  return Error{place + ": " + *wrong};
}

std::optional<std::string> WhyNoPolicy(const std::string& name, const Parameters& parameters) {
  const auto made = MakePolicy(name, parameters);
  return made ? std::nullopt : std::optional(made.error().message);
}

std::optional<std::string> WhyNoProposer(const std::string& name, const Parameters& parameters) {
  const auto made = MakeProposer(name, parameters);
  return made ? std::nullopt : std::optional(made.error().message);
}

Status CheckRequest(const TrackRequest& request, const std::vector<const JobLayer*>& layers) {
  if (request.operation.empty()) {
    return Error{request.place +
                 ": no operation; say operation = \"matmul\" or another package's name"};
  }
  if (request.shape.empty()) {
    return Error{request.place + ": no shape; give every shape letter of " + request.operation +
                 " a value, as in shape = { m = 1024, n = 1024, k = 1024 }"};
  }
  std::vector<const RuleLayer*> policies;
  std::vector<const RuleLayer*> proposers;
  for (const JobLayer* layer : layers) {
    policies.push_back(&layer->policy);
    proposers.push_back(&layer->proposer);
  }
  if (Status checked = CheckRule(WhyNoPolicy, request.policy, request.policy_parameters, policies,
                                 request.place);
      !checked) {
    return checked;
  }
  if (Status checked = CheckRule(WhyNoProposer, request.proposer, request.proposer_parameters,
                                 proposers, request.place);
      !checked) {
    return checked;
  }
  if (request.proposer == "same" && request.budget == Budget{}) {
    return Error{request.place +
                 ": proposer 'same' never ends by itself; give [budget] generations, minutes "
                 "or stale"};
  }
  return {};
}

std::string DefaultLabel(const TrackRequest& request) {
  std::string shape;
  for (const Scalar& letter : request.shape) {
    shape += (shape.empty() ? "" : "x") + std::to_string(letter.value);
  }
  return request.operation + " " + shape + " " + std::string(Name(request.dtype));
}

// The job's own, the track's, the job's for the backend, the track's for the backend.
Result<TrackRequest> Merge(const Layers& job, const Layers* track, const std::string& backend) {
  TrackRequest request;
  request.devices = {"any"};
  request.backend = "best";
  std::vector<const JobLayer*> layers = {&job.own};
  if (track != nullptr) layers.push_back(&track->own);
  if (!backend.empty()) {
    for (const Layers* from : {&job, track}) {
      if (from == nullptr) continue;
      if (const auto found = from->by_backend.find(backend); found != from->by_backend.end()) {
        layers.push_back(&found->second);
      }
    }
  }
  for (const JobLayer* layer : layers) Lay(*layer, request);
  request.place = track != nullptr ? track->own.place : job.own.place;
  if (request.label.empty()) request.label = DefaultLabel(request);
  if (Status checked = CheckRequest(request, layers); !checked) return checked.error();
  return request;
}

Result<Job::Entry> MergeEntry(const Layers& job, const Layers* track) {
  Job::Entry entry;
  for (const char* backend : kBackends) {
    const bool overridden = job.by_backend.contains(backend) ||
                            (track != nullptr && track->by_backend.contains(backend));
    if (!overridden) continue;
    auto merged = Merge(job, track, backend);
    if (!merged) return merged.error();
    entry.by_backend.emplace(backend, *std::move(merged));
  }
  auto base = Merge(job, track, "");
  if (base) {
    entry.base = *std::move(base);
    return entry;
  }
  // The base alone need not be complete where every backend it may run on has its own settings.
  const JobLayer& own = track != nullptr ? track->own : job.own;
  const std::string wanted = own.backend.value_or(job.own.backend.value_or("best"));
  const bool all = wanted == "best" ? entry.by_backend.size() == std::size(kBackends)
                                    : entry.by_backend.contains(wanted);
  if (!all) return base.error();
  entry.base = wanted == "best" ? entry.by_backend.begin()->second : entry.by_backend.at(wanted);
  return entry;
}

// What a track is called on a backend.
const TrackRequest& On(const Job::Entry& entry, const std::string& backend) {
  const auto found = entry.by_backend.find(backend);
  return found == entry.by_backend.end() ? entry.base : found->second;
}

Status CheckLabels(const std::vector<Job::Entry>& entries) {
  for (const char* backend : kBackends) {
    std::map<std::string, std::string> places;
    for (const Job::Entry& entry : entries) {
      const TrackRequest& request = On(entry, backend);
      const auto [other, is_new] = places.emplace(request.label, request.place);
      if (is_new) continue;
      return Error{request.place + ": label '" + request.label + "' is also that of the track at " +
                   other->second + "; give one of them another label"};
    }
  }
  return {};
}

// What a job asks for as a whole.
Status TakeTerms(Table& table, Job& job) {
  auto priority = table.OptionalInteger("priority", -kMaxPriority, kMaxPriority);
  if (!priority) return priority.error();
  job.priority = static_cast<std::int32_t>(priority->value_or(0));
  auto workers = table.OptionalInteger("min_workers", 1, kMostWorkers);
  if (!workers) return workers.error();
  job.min_workers = static_cast<std::uint32_t>(workers->value_or(1));
  auto hosts = table.OptionalStrings("hosts");
  if (!hosts) return hosts.error();
  if (!*hosts) return {};
  const std::string place = table.PlaceOf("hosts").Text();
  if ((*hosts)->empty()) return Error{place + ": hosts is empty; leave it out for any host"};
  for (const std::string& host : **hosts) {
    if (Status named = CheckHostName(host); !named) {
      return Error{place + ": hosts holds '" + host + "': " + named.error().message};
    }
  }
  job.hosts = **std::move(hosts);
  return {};
}

}  // namespace

std::vector<std::string> Job::Devices() const {
  std::vector<std::string> devices;
  for (const Entry& entry : tracks) {
    for (const std::string& device : entry.base.devices) {
      if (device != "any" && std::find(devices.begin(), devices.end(), device) == devices.end()) {
        devices.push_back(device);
      }
    }
  }
  return devices;
}

Result<Job> ParseJob(const std::string& text, const std::string& path) {
  auto table = ParseToml(text, path);
  if (!table) return table.error();
  Job job;
  job.file = path;
  job.text = text;
  const std::filesystem::path file(path);
  auto name = (*table)->OptionalString("name");
  if (!name) return name.error();
  job.name = name->value_or(file.stem().string());
  if (!IsFileStem(job.name)) {
    return Error{
        (*table)->PlaceOf("name").Text() + ": the job's name '" + job.name +
        "' names its ledger's folder; give name = letters, digits, '_' and '-', 64 at most"};
  }
  if (Status taken = TakeTerms(**table, job); !taken) return taken.error();
  const std::string folder = file.parent_path().string();
  auto own = ReadLayers(**table, folder);
  if (!own) return own.error();
  std::vector<Layers> tracks;
  auto tables = (*table)->Tables("track");
  if (!tables) return tables.error();
  for (const auto& track : *tables) {
    auto layers = ReadLayers(*track, folder);
    if (!layers) return layers.error();
    tracks.push_back(*std::move(layers));
  }
  if (Status finished = (*table)->Finish(); !finished) return finished.error();
  if (tracks.empty()) {
    auto entry = MergeEntry(*own, nullptr);
    if (!entry) return entry.error();
    job.tracks.push_back(*std::move(entry));
  }
  for (const Layers& track : tracks) {
    auto entry = MergeEntry(*own, &track);
    if (!entry) return entry.error();
    job.tracks.push_back(*std::move(entry));
  }
  if (Status checked = CheckLabels(job.tracks); !checked) return checked.error();
  return job;
}

Result<Job> ReadJob(const std::string& path) {
  auto text = ReadText(path);
  if (!text) return text.error();
  return ParseJob(*text, path);
}

}  // namespace pawl
