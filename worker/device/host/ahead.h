#pragma once
// Builds hints while an order is built and checked, one at a time, into the object cache; stands
// still while kernels are timed. At the usual priority: an order that wants what is under way waits
// for it.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "schema/digest.h"
#include "worker/device/host/compiler.h"

namespace pawl {

class BuildAhead {
 public:
  explicit BuildAhead(Compiler& compiler);
  BuildAhead(const BuildAhead&) = delete;
  BuildAhead& operator=(const BuildAhead&) = delete;
  ~BuildAhead();  // waits for the build under way

  // Takes the place of hints that have not been begun.
  void Queue(std::vector<Unit> units);

  // The caller is going to build this itself: waits if it is under way, else takes it out of the
  // queue.
  void Yield(const Digest& key);

  // Nothing of it runs between Stop and Continue.
  void Stop();
  void Continue();

 private:
  void Work();

  Compiler& compiler_;
  ProcessHold hold_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Unit> queue_;
  Digest under_way_;  // zero: none
  bool stopped_ = false;
  bool closing_ = false;
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace pawl
