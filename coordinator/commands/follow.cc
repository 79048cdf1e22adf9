#include "coordinator/commands/follow.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "coordinator/commands/command.h"
#include "coordinator/report/facts.h"
#include "coordinator/report/track_status.h"
#include "kernels/operation.h"

namespace pawl {
namespace {

constexpr std::int64_t kRedrawMs = 250;

// What one call in so many microseconds comes to; empty where it is not known.
std::string RateOf(const CoreTrack& track, double us) {
  const TrackSpec& spec = track.track.state.spec;
  const auto flops = FlopsAt(*track.workshop.operation, spec.shape);
  const auto bytes = BytesAt(*track.workshop.operation, spec.shape);
  if (!flops || !bytes || us <= 0) return "";
  return RateText({*flops, *bytes, us, spec.peak_gflops, spec.peak_gbytes_per_s});
}

}  // namespace

Follow::Follow(Service& service, bool json, Confirmed* confirmed)
    : service_(service),
      json_(json),
      colour_(ColourWanted(STDOUT_FILENO)),
      terminal_(!json && ::isatty(STDERR_FILENO) == 1),
      last_confirmed_(confirmed),
      table_(GenerationTable()),
      started_ms_(Service::NowMs()) {
  service_.on_event = [this](const Event& event) { OnEvent(event); };
  service_.on_note = [this](const std::string& note) {
    if (!json_) Print(Paint(note, Tone::kDim, colour_) + "\n");
  };
  service_.on_warning = [this](const std::string& warning) {
    Finish();
    Warn(warning);
  };
}

const CoreTrack* Follow::TrackOf(TrackId id) const {
  const auto found = service_.core().tracks().find(id);
  return found == service_.core().tracks().end() ? nullptr : &found->second;
}

void Follow::Print(const std::string& line) {
  Finish();
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
}

void Follow::PrintRow(const GenerationRecord& record) {
  const CoreTrack* track = TrackOf(record.track);
  const bool first = printed_.insert(record.track).second;
  if (json_) {
    Print(GenerationJson(record, track->track.state.spec).dump() + "\n");
    return;
  }
  if (last_printed_ != record.track) {
    last_printed_ = record.track;
    const std::string number = "track " + std::to_string(record.track.value);
    Print(first ? "\n" + number + ": " + TrackTitle(track->track.state.spec) + "\n"
                : number + "\n");
    if (!header_printed_) Print(table_.Header(colour_));
    header_printed_ = true;
  }
  Print(table_.Row(GenerationRow(record, track->track.state.spec.instrument), colour_));
}

void Follow::OnEvent(const Event& event) {
  GenerationRecord& record = open_[event.track];
  if (const auto* proposed = std::get_if<Proposed>(&event.body)) {
    record = GenerationRecord{event.track, *proposed, {}, std::nullopt, 0};
  } else if (const auto* measured = std::get_if<Measured>(&event.body)) {
    spent_[event.track].Add(measured->report);
    const Report& report = measured->report;
    if (report.kind == OrderKind::kMeasure && report.generation == record.proposed.generation) {
      record.reports.push_back(report);
    }
  } else if (const auto* decided = std::get_if<Decided>(&event.body)) {
    if (decided->again) {
      if (!json_) {
        Print(Paint("generation " + std::to_string(decided->generation.value) +
                        " is measured again: " + std::string(Name(decided->decision.reason)) +
                        ": " + decided->decision.detail,
                    Tone::kDim, colour_) +
              "\n");
      }
      return;
    }
    ++decided_here_;
    record.decision = decided->decision;
    record.decided_unix_ms = event.unix_ms;
    if (record.proposed.generation != decided->generation) {
      // Its proposal is older than this process: read it back.
      if (auto index = service_.ledger().FindGeneration(event.track, decided->generation);
          index && *index) {
        if (auto loaded = LoadGeneration(service_.ledger(), **index)) record = *loaded;
      }
    }
    PrintRow(record);
    if (on_generation) on_generation(record);
  } else if (const auto* confirmed = std::get_if<Confirmed>(&event.body)) {
    confirmed_[event.track] = *confirmed;
    if (last_confirmed_ != nullptr) *last_confirmed_ = *confirmed;
    printed_.insert(event.track);
    if (on_confirmed) on_confirmed(event.track, *confirmed);
    if (json_) {
      nlohmann::json json = ConfirmationJson(*confirmed);
      json["track"] = event.track.value;
      Print(json.dump() + "\n");
    }
  }
}

std::string Follow::ProgressText() const {
  std::string text;
  std::int64_t left = 0;
  bool bounded = true;
  for (const auto& [id, entry] : service_.core().tracks()) {
    const TrackState& state = entry.track.state;
    if (state.status != TrackStatus::kSearching) {
      if (entry.track.confirmation) text += "[" + std::to_string(id.value) + "] confirming  ";
      continue;
    }
    const auto& open = entry.track.generations;
    const bool several = open.size() > 1;
    text += "[" + std::to_string(id.value) + "] generation" + (several ? "s " : " ");
    if (open.empty()) text += std::to_string(state.last.value + 1);
    for (const auto& [generation, unused] : open) {
      text += (generation == open.begin()->first ? "" : ", ") + std::to_string(generation.value);
    }
    if (state.spec.budget.generations > 0) {
      text += " of " + std::to_string(state.spec.budget.generations);
      left += std::int64_t{state.spec.budget.generations} - Decisions(state);
    } else {
      bounded = false;
    }
    text += ", " + std::to_string(state.kept) + " kept";
    if (open.size() == 1) text += ": " + ChangeText(open.begin()->second.proposed.changes);
    text += "  ";
  }
  if (bounded && left > 0 && decided_here_ > 0) {
    const double each = static_cast<double>(Service::NowMs() - started_ms_) / 1e3 /
                        static_cast<double>(decided_here_);
    text += "at most " + FormatDuration(each * static_cast<double>(left)) + " left";
  }
  if (service_.core().Workers().empty()) text += "no worker yet";
  return text;
}

void Follow::Progress() {
  const std::int64_t now = Service::NowMs();
  if (!terminal_ || now - drawn_ms_ < kRedrawMs) return;
  drawn_ms_ = now;
  std::fprintf(stderr, "\r\033[K%s", ProgressText().substr(0, 118).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void Follow::Finish() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

int Follow::Summary() {
  int code = kExitDone;
  std::vector<const TrackState*> states;
  for (const auto& [id, entry] : service_.core().tracks()) states.push_back(&entry.track.state);
  // Also those of earlier runs.
  std::map<TrackId, Confirmed> stored = confirmed_;
  std::vector<const TrackState*> earlier = states;
  std::erase_if(earlier, [&](const TrackState* state) { return stored.contains(state->id); });
  if (const auto found = LastConfirmations(service_.ledger(), earlier)) {
    stored.insert(found->begin(), found->end());
  } else {
    Warn(found.error().message);
  }
  for (const auto& [id, entry] : service_.core().tracks()) {
    const TrackState& state = entry.track.state;
    const auto here = confirmed_.find(id);
    const bool no_figure = here != confirmed_.end() && !here->second.valid;
    if (state.status == TrackStatus::kPaused || no_figure) code = kExitWrong;
    const auto confirmed = stored.find(id);
    if (json_) {
      if (printed_.contains(id)) continue;
      const Confirmed* const last = confirmed != stored.end() ? &confirmed->second : nullptr;
      const std::size_t open = entry.track.generations.size();
      Print(TrackJson(state, open, last, service_.ledger().head().seq).dump() + "\n");
      continue;
    }
    std::string text = "\ntrack " + std::to_string(id.value) + ": " + TrackTitle(state.spec) + "\n";
    text += "  " + std::string(Name(state.status)) + (state.why.empty() ? "" : ": " + state.why) +
            "; " + std::to_string(Decisions(state)) + " generations, " +
            std::to_string(state.kept) + " kept, " + std::to_string(state.rejected) +
            " rejected, " + std::to_string(state.voided) + " void\n";
    text += "  incumbent  " + state.incumbent.Text() + "\n";
    text += "  product of the kept ratios: " + FormatRatio(1 / state.gain) +
            " times as fast as the start (each step's own measurement; the confirmation is the "
            "figure to quote)\n";
    if (confirmed != stored.end()) {
      text += "  confirmed  " + ConfirmationText(confirmed->second, state) + "\n";
      if (confirmed->second.valid) {
        const std::string rate = RateOf(entry, confirmed->second.incumbent_us);
        if (!rate.empty()) text += "  rate       " + rate + "\n";
        const std::string beside = BesideText(confirmed->second);
        if (!beside.empty()) text += "  beside     " + beside + "\n";
      }
    }
    // A replay's visits took their time when they were recorded.
    if (!state.spec.toolchain.starts_with("replay ")) {
      const std::string time =
          WorkerTimeText(spent_[id], static_cast<double>(Service::NowMs() - started_ms_) / 1e3);
      if (!time.empty()) text += "  time       " + time + "\n";
    }
    Print(text);
  }
  if (!json_) {
    Print("\nledger " + service_.ledger().folder() + " (pawl log --ledger " +
          service_.ledger().folder() + "); " + WhatNext(states) + "\n");
  }
  return code;
}

}  // namespace pawl
