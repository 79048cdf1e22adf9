#pragma once
// Kernels built as the host device builds them, and called on guarded buffers: the packages' own
// tests need neither a worker nor an order.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/operation.h"
#include "schema/order.h"
#include "schema/result.h"
#include "tests/support/process.h"

namespace pawl::test {

// Compiles `source` to an object in a folder of its own below `folder`, always under the same file
// name, so that equal code gives equal bytes. The result is the object's path.
Result<std::string> CompileObject(const SourceText& source, const std::string& folder);

// Compiles many, two at a time; in their order. CHECKs that each compiles.
std::vector<std::string> CompileObjects(const std::vector<SourceText>& sources,
                                        const std::string& folder);

// A loaded kernel of an operation, called by its launch's name with buffers and shape letters.
class BuiltKernel {
 public:
  // `libraries`: the structure's own build options.
  BuiltKernel(const std::string& object, const std::string& name,
              const std::vector<std::string>& libraries = {});
  ~BuiltKernel();
  BuiltKernel(const BuiltKernel&) = delete;
  BuiltKernel& operator=(const BuiltKernel&) = delete;

  // Three to five buffers, two or three scalars.
  void Call(const std::vector<void*>& buffers, const std::vector<std::int64_t>& scalars) const;

 private:
  void* library_ = nullptr;
  void* function_ = nullptr;
};

// Elements of four bytes between bands that nobody may touch, aligned to 64 bytes.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::int64_t elements);
  float* data() { return all_.get() + kBand; }
  const float* data() const { return all_.get() + kBand; }
  std::int64_t size() const { return size_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(float); }
  bool BandsAreWhole() const;

 private:
  static constexpr std::int64_t kBand = 64;
  struct Free {
    void operator()(float* all) const;
  };
  std::int64_t size_;
  std::unique_ptr<float[], Free> all_;
};

// An operation's buffers at a shape: inputs filled as operation.toml says from `seed` (floats with
// its exact fill where `exact`), outputs NaN.
class Problem {
 public:
  Problem(const Operation& operation, const std::vector<Scalar>& shape, std::uint64_t seed,
          bool exact);

  // Poisons the outputs, runs, and says what is wrong: an input or band that changed. Empty:
  // nothing.
  std::string Run(const BuiltKernel& kernel);
  // The elements of the one output that are further from `reference` than rtol and atol allow, in a
  // line; empty: none. Zero tolerances ask for the very value.
  std::string Compare(const std::vector<double>& reference, double rtol, double atol) const;

  const float* input(std::size_t index) const { return buffers_[index].data(); }
  const std::int32_t* integers(std::size_t index) const {
    return reinterpret_cast<const std::int32_t*>(buffers_[index].data());
  }
  std::vector<float> output() const;

 private:
  const GuardedBuffer& out() const { return buffers_.back(); }

  std::vector<GuardedBuffer> buffers_;  // inputs, then the output
  std::vector<std::vector<std::byte>> originals_;
  std::vector<std::int64_t> scalars_;
};

}  // namespace pawl::test
