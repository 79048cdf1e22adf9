#include "coordinator/search/job.h"

#include <algorithm>
#include <filesystem>

#include "coordinator/search/job_layer.h"
#include "coordinator/search/policy.h"
#include "coordinator/search/proposer.h"
#include "kernels/document.h"

namespace pawl {
namespace {

constexpr const char* kBackends[] = {"host", "cuda"};

// A job's table and the overrides for a backend within it.
struct Layers {
  JobLayer own;
  std::map<std::string, JobLayer> by_backend;
};

Result<Layers> ReadLayers(Table& table, const std::string& folder) {
  auto own = ReadLayer(table, folder);
  if (!own) return own.error();
  Layers layers{*std::move(own), {}};
  for (const char* backend : kBackends) {
    auto sub = table.OptionalSub(backend);
    if (!sub) return sub.error();
    if (*sub == nullptr) continue;
    auto override_layer = ReadLayer(**sub, folder);
    if (!override_layer) return override_layer.error();
    layers.by_backend.emplace(backend, *std::move(override_layer));
  }
  return layers;
}

// A rule's own message, with the place of the parameter it names.
std::string At(const std::string& place, const RuleLayer& layer, const std::string& message) {
  for (const auto& [name, parameter_place] : layer.places) {
    if (message.find("'" + name + "'") != std::string::npos) return parameter_place + ": " + message;
  }
  return place + ": " + message;
}

Status CheckRequest(const TrackRequest& request, const std::vector<const JobLayer*>& layers) {
  if (request.operation.empty()) {
    return Error{request.place + ": no operation; say operation = \"matmul\" or another package's name"};
  }
  if (request.shape.empty()) {
    return Error{request.place + ": no shape; give every shape letter of " + request.operation +
                 " a value, as in shape = { m = 1024, n = 1024, k = 1024 }"};
  }
  if (auto policy = MakePolicy(request.policy, request.policy_parameters); !policy) {
    std::string message = policy.error().message;
    for (const JobLayer* layer : layers) {
      const std::string placed = At(request.place, layer->policy, policy.error().message);
      if (!placed.starts_with(request.place + ": ")) message = placed;
    }
    return Error{message == policy.error().message ? request.place + ": " + message : message};
  }
  if (auto proposer = MakeProposer(request.proposer, request.proposer_parameters); !proposer) {
    std::string message = proposer.error().message;
    for (const JobLayer* layer : layers) {
      const std::string placed = At(request.place, layer->proposer, proposer.error().message);
      if (!placed.starts_with(request.place + ": ")) message = placed;
    }
    return Error{message == proposer.error().message ? request.place + ": " + message : message};
  }
  if (request.proposer == "same" && request.budget == Budget{}) {
    return Error{request.place + ": proposer 'same' never ends by itself; give [budget] generations, minutes "
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
  bool complete = true;
  // Where every backend says what the base leaves out, the base alone need not be complete.
  auto base = Merge(job, track, "");
  if (base) {
    entry.base = *std::move(base);
  } else {
    complete = false;
  }
  for (const char* backend : kBackends) {
    const bool overridden =
        job.by_backend.contains(backend) || (track != nullptr && track->by_backend.contains(backend));
    if (!overridden) continue;
    auto merged = Merge(job, track, backend);
    if (!merged) return merged.error();
    if (complete) merged->label = entry.base.label;  // one track, whatever backend serves it
    entry.by_backend.emplace(backend, *std::move(merged));
  }
  if (!complete) {
    if (entry.by_backend.empty()) return base.error();
    entry.base = entry.by_backend.begin()->second;
    for (auto& [backend, request] : entry.by_backend) request.label = entry.base.label;
  }
  return entry;
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
  if (job.name.empty() || job.name.find_first_of("/\\ \t\n") != std::string::npos || job.name.starts_with(".")) {
    return Error{(*table)->PlaceOf("name").Text() + ": name '" + job.name +
                 "' cannot name a folder; use letters, digits, '-' and '_'"};
  }
  const std::string folder = file.parent_path().string();
  auto own = ReadLayers(**table, folder);
  if (!own) return own.error();
  std::vector<Layers> tracks;
  if ((*table)->Has("track")) {
    auto tables = (*table)->Tables("track");
    if (!tables) return tables.error();
    for (const auto& track : *tables) {
      auto layers = ReadLayers(*track, folder);
      if (!layers) return layers.error();
      tracks.push_back(*std::move(layers));
    }
  } else {
    (void)(*table)->OptionalNode("track");  // a known key
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
    for (const Job::Entry& other : job.tracks) {
      if (other.base.label == entry->base.label) {
        return Error{entry->base.place + ": label '" + entry->base.label + "' is also that of the track at " +
                     other.base.place + "; give one of them another label"};
      }
    }
    job.tracks.push_back(*std::move(entry));
  }
  return job;
}

Result<Job> ReadJob(const std::string& path) {
  auto text = ReadText(path);
  if (!text) return text.error();
  return ParseJob(*text, path);
}

}  // namespace pawl
