#pragma once
// Builds with NVRTC in child processes, several at once, with the object cache in front.
//
// 1. A compiler that crashes or never ends costs its child, nothing else; children die with this
//    process.
// 2. What an order needs is built before any hint. A hint that has not been begun gives way to the
//    next hints; one that is under way is waited for when an order wants the same.
// 3. Equal units give equal objects, from whichever child, cached by text, headers, options and
//    NVRTC's version.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/digest.h"
#include "schema/result.h"
#include "worker/device/cuda/nvrtc.h"
#include "worker/object_cache.h"

namespace pawl {

struct CudaBuilt {
  CudaObject object;
  Digest digest;  // of the machine code
  bool cached = false;
  double seconds = 0;
};

struct BuilderOptions {
  std::vector<int> cores;  // of the children; empty: all allowed ones
  std::uint32_t children = 1;
  int hint_ms = 30'000;            // a hint's build is given up after this
  std::uint64_t memory_bytes = 0;  // of each child; 0: its share of three quarters of the machine's
};

class Builder {
 public:
  // Starts the first child. Errors: NVRTC's, or the child cannot be started.
  static Result<std::unique_ptr<Builder>> Open(ObjectCache& cache, const BuilderOptions& options);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder();  // ends the children, whatever they are doing

  const std::string& version() const;  // NVRTC's
  const std::vector<int>& architectures() const;

  // Waits for all of them, in this order. Errors: a child was killed from outside or cannot be
  // started. Takes as long as the compiler does: the caller's own deadline ends the process.
  Result<std::vector<CudaBuilt>> Build(const std::vector<CudaUnit>& units);

  // Begins them before any hint; Build waits for each.
  void Queue(const std::vector<CudaUnit>& units);
  void Hint(std::vector<CudaUnit> units);

 private:
  class Work;
  explicit Builder(std::unique_ptr<Work> work);
  std::unique_ptr<Work> work_;
};

// A child's main function: for a program whose first argument is "--cuda-builder"; nullopt for all
// others. Every program that opens a Builder calls it first.
std::optional<int> BuilderMain(int argc, const char* const* argv);

}  // namespace pawl
