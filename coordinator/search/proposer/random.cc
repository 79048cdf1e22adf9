#include "coordinator/search/proposer/random.h"

#include <string>

#include "coordinator/search/parameters.h"
#include "coordinator/search/proposer/tried.h"
#include "coordinator/search/seed.h"

namespace pawl {
namespace {

constexpr std::uint64_t kMostDraws = 1000;

Proposal Propose(const TrackState& track, Configuration candidate) {
  Proposal proposal;
  proposal.changes = ChangesBetween(track.incumbent, candidate);
  proposal.candidate = std::move(candidate);
  proposal.hypothesis = "drawn at random: " + ChangesText(proposal.changes);
  return proposal;
}

}  // namespace

Result<std::unique_ptr<Proposer>> Random::Make(const Parameters& parameters) {
  auto filled = FillParameters("proposer random", {}, parameters);
  if (!filled) return filled.error();
  return std::unique_ptr<Proposer>(new Random());
}

std::optional<Proposal> Random::Propose(const TrackState& track, const Space& space) const {
  const std::uint64_t all = space.Cartesian();
  if (all == 0) return std::nullopt;
  std::uint64_t stream = SeedFor(track.spec.seed, "random", track.last.Next().value);
  std::uint64_t ordinal = 0;
  const std::uint64_t draws = all < kMostDraws / 8 ? 8 * all : kMostDraws;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    ordinal = Below(stream, all);
    Configuration drawn = space.At(ordinal);
    if (!space.Validate(drawn).empty() || Tried(track, space, drawn)) continue;
    if (IsFirstOfKernel(space, drawn, ordinal)) return pawl::Propose(track, std::move(drawn));
  }
  const auto first_untried = [&](std::uint64_t from,
                                 std::uint64_t end) -> std::optional<Configuration> {
    for (auto entry = space.NextValid(from); entry && entry->ordinal < end;
         entry = space.NextValid(entry->ordinal + 1)) {
      if (!Tried(track, space, entry->configuration) &&
          IsFirstOfKernel(space, entry->configuration, entry->ordinal)) {
        return entry->configuration;
      }
    }
    return std::nullopt;
  };
  auto found = first_untried(ordinal, all);
  if (!found) found = first_untried(0, ordinal);
  if (!found) return std::nullopt;
  return pawl::Propose(track, std::move(*found));
}

}  // namespace pawl
