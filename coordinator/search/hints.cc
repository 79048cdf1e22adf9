// PrepareHint: what may come next, guessed and given back.

#include <utility>

#include "coordinator/search/orders.h"
#include "coordinator/search/outlook.h"
#include "kernels/render.h"

namespace pawl {
namespace {

constexpr int kMostGuesses = 32;  // invalid proposals among them have no source

}  // namespace

Prepare PrepareHint(const Workshop& workshop, Track& track, std::size_t ahead) {
  Prepare hint;
  hint.backend = workshop.base.backend;
  hint.build_options = workshop.base.build_options;
  hint.buffers = workshop.base.buffers;
  hint.scalars = workshop.base.scalars;
  if (workshop.structure->source.empty() || track.generations.empty()) return hint;
  Outlook guess(track);
  for (int i = 0; i < kMostGuesses && hint.sources.size() < ahead; ++i) {
    const auto proposal = workshop.proposer->Propose(guess.state(), *workshop.space);
    if (!proposal) break;
    Proposed proposed;
    proposed.generation = guess.state().last.Next();
    proposed.candidate = proposal->candidate;
    proposed.incumbent = guess.state().incumbent;
    proposed.changes = proposal->changes;
    if (proposal->violations.empty()) {
      auto source =
          Render(*workshop.operation, *workshop.structure, *workshop.space, proposal->candidate);
      auto all = LaunchesOf(*workshop.operation, *workshop.structure, *workshop.space,
                            proposal->candidate);
      if (!source || !all) break;  // the proposal itself will say why
      // A hint carries one launch a source; what takes more is built when it is ordered.
      if (all->launches.size() == 1 && all->scratch.empty()) {
        hint.sources.push_back(*std::move(source));
        hint.launches.push_back(std::move(all->launches.front()));
      }
    }
    guess.Reject(proposed);
  }
  return hint;
}

}  // namespace pawl
