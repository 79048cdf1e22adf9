// PrepareHint: what may come next, guessed and given back.

#include <unordered_set>
#include <utility>

#include "coordinator/search/orders.h"
#include "kernels/render.h"

namespace pawl {
namespace {

constexpr int kMostGuesses = 32;  // invalid proposals among them have no source

// A track's state in which what comes is guessed. Takes the set of what was tried out of the track
// and puts it back as it was.
class Guess {
 public:
  explicit Guess(TrackState& lender) : lender_(lender) {
    std::unordered_set<std::uint64_t> tried = std::move(lender.tried);
    lender.tried.clear();
    state_ = lender;
    state_.tried = std::move(tried);
  }
  ~Guess() {
    for (const std::uint64_t name : added_) state_.tried.erase(name);
    lender_.tried = std::move(state_.tried);
  }
  Guess(const Guess&) = delete;
  Guess& operator=(const Guess&) = delete;

  const TrackState& state() const { return state_; }

  void Reject(const Proposed& proposed) {
    for (const Configuration& configuration : {proposed.candidate, Unrepaired(proposed)}) {
      const std::uint64_t name = configuration.Hash().Prefix64();
      if (!state_.tried.contains(name)) added_.insert(name);
    }
    Decision decision;
    decision.verdict = Verdict::kReject;
    decision.reason = Reason::kNotFaster;
    SettleInto(state_, proposed, decision);
  }

 private:
  TrackState& lender_;
  TrackState state_;
  std::unordered_set<std::uint64_t> added_;
};

}  // namespace

Prepare PrepareHint(const Workshop& workshop, Track& track, std::size_t ahead) {
  Prepare hint;
  hint.backend = workshop.base.backend;
  hint.build_options = workshop.base.build_options;
  hint.buffers = workshop.base.buffers;
  hint.scalars = workshop.base.scalars;
  if (workshop.structure->source.empty() || !track.generation) return hint;
  Guess guess(track.state);
  guess.Reject(track.generation->proposed);
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
