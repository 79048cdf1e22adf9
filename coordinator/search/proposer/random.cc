#include "coordinator/search/proposer/random.h"

#include <string>
#include <utility>
#include <vector>

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

// A configuration of one structure: its ordinal in `span`.
std::optional<Configuration> Draw(const TrackState& track, const Space& space,
                                  const Space::Span& span, std::uint64_t& stream) {
  const std::uint64_t all = span.end - span.begin;
  if (all == 0) return std::nullopt;
  std::uint64_t ordinal = span.begin;
  const std::uint64_t draws = all < kMostDraws / 8 ? 8 * all : kMostDraws;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    ordinal = span.begin + Below(stream, all);
    Configuration drawn = space.At(ordinal);
    if (!space.Validate(drawn).empty() || Tried(track, space, drawn)) continue;
    if (IsFirstOfKernel(space, drawn, ordinal)) return drawn;
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
  auto found = first_untried(ordinal, span.end);
  return found ? found : first_untried(span.begin, ordinal);
}

}  // namespace

Result<std::unique_ptr<Proposer>> Random::Make(const Parameters& parameters) {
  auto filled = FillParameters("proposer random", {}, parameters);
  if (!filled) return filled.error();
  return std::unique_ptr<Proposer>(new Random());
}

std::optional<Proposal> Random::Propose(const TrackState& track, const Space& space) const {
  const std::vector<Space::Span> spans = space.Spans();
  std::uint64_t stream = SeedFor(track.spec.seed, "random", track.last.Next().value);
  const std::uint64_t first = spans.size() > 1 ? Below(stream, spans.size()) : 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Space::Span& span = spans[(first + i) % spans.size()];
    if (auto drawn = Draw(track, space, span, stream))
      return pawl::Propose(track, *std::move(drawn));
  }
  return std::nullopt;
}

}  // namespace pawl
