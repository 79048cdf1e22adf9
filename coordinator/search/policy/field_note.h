#pragma once
// The policy "field_note": keeps a candidate when its time, paired round by round with the
// incumbent's, is better by more than a least gain, and the committed kernel beside it held still.
//
// Source: superposition/mage, field note 005 (the loop's decision rule and its recorded ledgers).
//
// Rounds. The base order is committed, candidate, incumbent; round r is that order rotated left by
// r. All arms of a round work on the same input set; input sets alternate by round, and over 12
// rounds every set meets every order equally often.
//
// Decision, the first that applies:
//   1. invalid                             reject geometry (before any build: core's)
//   2. a build failed                      reject build
//   3. no timing of the committed kernel,  void device_fault
//      though no run failed
//   4. wrong output, or a run failed       its own reason (DecisionOf)
//   5. an arm without timing in a round    void device_fault
//   6. control drift: max/min of           void control_drift when above 1 + control_tolerance;
//      committed over the rounds           one sample reads 1
//   7. ratio: median over the rounds of    keep when below 1 - min_gain, else reject not_faster
//      candidate/incumbent
// The figures of 5, 6 and 7 are worked out wherever rounds were reported, so that a wrong output
// shows its times too. void_is_refusal = 1 leaves decisions as they are: it tells the track's fold
// to count voids as refusals, as the note's loop did.
//
// Known weakness (noise_factor 0): three rounds say nothing about how far off the ratio would be
// the next time. The note's own layer_norm ledger has a generation (0.9697, against an incumbent
// that took 13.0, 12.7 and 12.4 us) that this rule keeps and the fastest rounds (12.288 against
// 12.352) do not bear out.
//
// noise_factor k above 0 is for devices whose noise is of the gain's own size, a busy host above
// all. The rule becomes a sequential one over up to max_batches batches, the first of `rounds`
// rounds, every further one doubling the rounds so far (7, 14, 28, 56, 112):
//
//   keep      ratio < 1 - min_gain, and the signed-rank test (signed_rank.h) of candidate against
//             incumbent over all rounds so far is as unlikely under "no difference" as k standard
//             errors: chance <= NormalTail(k); 3.4: 1 in 3,000 a look
//   reject    the same test against (1 - min_gain) * incumbent says "slower than that" by
//             futility_factor standard errors or more: another batch would be wasted
//   ask more  neither, and batches remain
//   reject    neither after max_batches: inconclusive
//
// The test is exact for arms that are the same kernel, so the chance of keeping one is at most
// max_batches * NormalTail(k), whatever the noise looks like (in fact about two thirds of it,
// since looks overlap and the ratio must pass too). It needs at least log2(1 / NormalTail(k))
// rounds, 12 for 3.4; settings that never reach them are refused.
//
// What the test cannot see is a difference that is tied to the order. Therefore every second block
// of three rounds rotates the mirrored base order, so that candidate and incumbent come first
// equally often; whether the first block is mirrored is drawn from the seed and the generation.
//
// The control is then judged apart for each batch (a batch may run minutes later or on another
// worker; pairs do not mind) and by the medians of the batch's first and second half, so that one
// slow visit is not a drift. Where a job does not set control_tolerance it is 1, a factor of two:
// a neighbour that comes and goes on the other thread of a core moves the control by as much, and
// moves both arms of a round alike.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/search/policy.h"

namespace pawl {

class FieldNote final : public Policy {
 public:
  // Errors: unknown parameters, ranges, and a noise_factor that the rounds can never meet.
  static Result<std::unique_ptr<Policy>> Make(const Parameters& parameters);

  std::vector<RoundPlan> Rounds(std::uint64_t seed, Generation generation, std::uint32_t batch,
                                Arms arms, std::uint32_t input_sets) const override;
  std::variant<Decision, AskMore> Decide(const std::vector<Report>& reports) const override;
  Parameters Effective() const override;

 private:
  // What the rounds so far say where noise is weighed, with the arithmetic.
  struct Look {
    enum class Finding { kFaster, kFutile, kOpen };
    Finding finding = Finding::kOpen;
    std::string text;
  };

  explicit FieldNote(const Parameters& filled);
  // `pairs`: candidate and incumbent, by round; `better`: their ratio's median is.
  Look LookAt(const std::vector<std::pair<double, double>>& pairs, bool better) const;

  const double min_gain_;
  const double control_tolerance_;
  const std::uint32_t rounds_;
  const bool void_is_refusal_;
  const double noise_factor_;
  const double futility_factor_;
  const std::uint32_t max_batches_;
};

}  // namespace pawl
