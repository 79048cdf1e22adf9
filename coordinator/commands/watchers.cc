#include "coordinator/commands/watchers.h"

#include <nlohmann/json.hpp>

#include "coordinator/search/binding.h"

namespace pawl {
namespace {

constexpr std::int64_t kForgetMs = 30'000;
constexpr std::size_t kMostWatchers = 64;

}  // namespace

Watchers::Watchers(Service& service) : service_(service), table_(GenerationTable()) {}

void Watchers::OnAsk(const PeerId& peer, const Ask& ask) {
  const std::int64_t now = Service::NowMs();
  ForgetSilent();
  const bool known = watchers_.contains(peer);
  if (!known && !ask.job.empty() && service_.core().board().Find(ask.job) == nullptr) {
    service_.Say(peer, {ReplyCode::kRefused, true, "no job '" + ask.job + "' was submitted\n"});
    return;
  }
  if (!known && watchers_.size() >= kMostWatchers) {
    service_.Say(peer, {ReplyCode::kWrong, true,
                        std::to_string(kMostWatchers) + " watch already, which is the most\n"});
    return;
  }
  watchers_[peer] = {ask.job, ask.json, now};
  const std::string first = known || ask.json ? "" : "   track  " + table_.Header(false);
  service_.Say(peer, {ReplyCode::kOk, false, first});
}

void Watchers::ForgetSilent() {
  const std::int64_t now = Service::NowMs();
  std::erase_if(watchers_,
                [&](const auto& entry) { return now - entry.second.asked_ms > kForgetMs; });
}

void Watchers::Tell(const std::string& job, const std::string& row, const std::string& json) {
  ForgetSilent();
  for (const auto& [peer, watcher] : watchers_) {
    if (!watcher.job.empty() && watcher.job != job) continue;
    service_.Say(peer, {ReplyCode::kOk, false, watcher.json ? json : row});
  }
}

void Watchers::OnGeneration(const GenerationRecord& record) {
  if (watchers_.empty()) return;
  const TrackSpec& spec = service_.core().tracks().at(record.track).track.state.spec;
  std::string number = std::to_string(record.track.value);
  if (number.size() < 8) number.insert(0, 8 - number.size(), ' ');
  Tell(spec.job, number + "  " + table_.Row(GenerationRow(record, spec.instrument), false),
       GenerationJson(record, spec).dump() + "\n");
}

void Watchers::OnConfirmed(TrackId track, const Confirmed& confirmed) {
  if (watchers_.empty()) return;
  const TrackSpec& spec = service_.core().tracks().at(track).track.state.spec;
  nlohmann::json json = ConfirmationJson(confirmed);
  json["track"] = track.value;
  Tell(spec.job,
       "track " + std::to_string(track.value) + " (" + TrackTitle(spec) +
           ") confirmed: " + ConfirmationText(confirmed) + "\n",
       json.dump() + "\n");
}

}  // namespace pawl
