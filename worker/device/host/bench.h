#pragma once
// The bench of one order: guarded buffers that every arm is called on, at the same addresses. It
// checks one call, or times a visit and checks what its last iteration left. Knows no report and no
// verdict.
//
// What a kernel cannot get away with:
// - leaving an output unwritten: all outputs are NaN before a checked call, before a visit and
//   before the last timed iteration of every other visit;
// - looking at what its outputs hold, and working only over NaN, or only over numbers: a check is
//   also made over the call before's outputs, of which some elements were replaced by numbers just
//   as plausible, and so is the last timed iteration of the visits between;
// - returning an earlier output: the same, and visits switch the inputs' contents at one address;
// - keeping answers by its inputs: before a timed iteration one element of every input takes
// another
//   value of its array, and the last iteration of a visit on the first timed set sees its sibling,
//   which a few elements do not tell from it;
// - changing its inputs: they are compared with the originals after every check and visit;
// - writing outside its outputs: worker/device/host/guarded.h.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schema/order.h"
#include "schema/result.h"
#include "worker/device/host/guarded.h"
#include "worker/device/host/input_sets.h"
#include "worker/device/host/module.h"

namespace pawl {

// What the comparison of all outputs after one call found.
struct CallCheck {
  bool passed = true;
  std::uint64_t elements = 0;
  std::uint64_t wrong = 0;
  double max_abs_error = 0;
  std::string detail;  // of the first thing that is wrong
};

// What the outputs hold when a call is checked.
enum class OutputsBefore {
  kNaN,
  kNumbers,  // what the call before left, with about one element in 128 replaced
};

struct Visit {
  std::vector<double> us;  // a timed iteration's time for one call
  bool quiet = true;       // false: other threads of the process were still busy when it began
  double clock_mhz = 0;    // right after the last iteration
  CallCheck check;
};

class Bench {
 public:
  // With timing.cold_cache all buffers rotate, call by call, over copies that together exceed three
  // last-level caches (at most 1 GiB and 256 copies).
  static std::uint64_t CopiesOf(const Order& order, std::uint64_t cache_bytes);
  static Result<std::unique_ptr<Bench>> Make(const Order& order, OrderSets sets,
                                             std::uint64_t cache_bytes);

  // One call on the contents of one of sets(), everything compared.
  CallCheck Check(KernelCall call, const InputSet& set, OutputsBefore before);

  // Warm-up, then the timed iterations. An iteration is as many calls as take ShortestSpanNs, most
  // often one; their number is found at an arm's first visit and stays. `arm`: into the order's
  // arms.
  Visit Run(KernelCall call, std::uint32_t arm, std::uint32_t input_set);

  const OrderSets& sets() const { return sets_; }

 private:
  struct Array {
    GuardedMemory memory;
    std::uint32_t buffer;            // into order_.buffers
    std::size_t changed = SIZE_MAX;  // the element that holds another value just now
  };
  struct Copy {
    std::vector<Array> arrays;  // by buffer
    std::vector<void*> pointers;
  };

  Bench(const Order& order, OrderSets sets);
  void LoadInputs(const InputSet& set);
  void PoisonOutputs();
  void ReplaceOutputs(Copy& copy);       // OutputsBefore::kNumbers
  void ChangeInputs(Copy& copy);         // one element each; puts back the one before
  void ChangeNext(std::uint64_t calls);  // the inputs of the copies that these will be made on
  void RestoreInputs();
  Copy& NextCopy();
  void CallNext(KernelCall call);
  std::uint64_t FindCalls(KernelCall call);
  CallCheck Verify(const Copy& written) const;

  const Order& order_;
  const OrderSets sets_;
  std::vector<std::int64_t> scalars_;
  std::vector<Copy> copies_;
  const InputSet* loaded_ = nullptr;  // the set whose contents the inputs hold
  std::size_t next_copy_ = 0;
  std::vector<std::uint64_t> calls_;   // by arm; 0: not known yet
  std::vector<std::uint64_t> visits_;  // by arm
  std::uint64_t changes_ = 0;
  std::uint64_t replacements_ = 0;
};

}  // namespace pawl
