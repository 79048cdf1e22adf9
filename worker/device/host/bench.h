#pragma once
// The bench of one order: guarded buffers that every arm is called on, at the same addresses. It
// checks one call, or times a visit and checks what its last iteration left. Knows no report and no
// verdict.
//
// What a kernel cannot get away with:
// - leaving an output unwritten: all outputs are NaN before a checked call, before a visit and
//   before its last timed iteration;
// - returning an earlier output: the same, and visits switch the inputs' contents at one address;
// - keeping answers by its inputs: between timed calls one element of every input takes another
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

struct Visit {
  std::vector<double> us;  // a timed iteration's time for one call
  double clock_mhz = 0;    // right after the last iteration
  CallCheck check;
};

class Bench {
 public:
  // With timing.cold_cache all buffers rotate, call by call, over copies that together exceed three
  // last-level caches (at most 1 GiB and 256 copies).
  static Result<std::unique_ptr<Bench>> Make(const Order& order, OrderSets sets,
                                             std::uint64_t cache_bytes);

  // One call on the contents of one of sets(), everything compared.
  CallCheck Check(KernelCall call, const InputSet& set);

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
  void ChangeInputs(Copy& copy);  // one element each; puts back the one before
  void RestoreInputs();
  Copy& NextCopy();
  void CallNext(KernelCall call);  // on the next copy, its inputs changed
  std::uint64_t FindCalls(KernelCall call);
  CallCheck Verify(const Copy& written) const;

  const Order& order_;
  const OrderSets sets_;
  std::vector<std::int64_t> scalars_;
  std::vector<Copy> copies_;
  const InputSet* loaded_ = nullptr;  // the set whose contents the inputs hold
  std::size_t next_copy_ = 0;
  std::vector<std::uint64_t> calls_;  // by arm; 0: not known yet
  std::uint64_t changes_ = 0;
};

}  // namespace pawl
