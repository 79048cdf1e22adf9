#include "tests/packages/built_kernel.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "schema/check.h"
#include "worker/device/fill.h"

namespace pawl::test {
namespace {

// As the host device compiles; PAWL_TEST_COMPILER is ccache and the compiler, where there is a
// ccache.
const std::vector<std::string> kOptions = {
    "-std=c++20",         "-O3",      "-march=native", "-fno-math-errno",
    "-ffp-contract=fast", "-fopenmp", "-fPIC"};

std::vector<std::string> Compiler() {
  std::vector<std::string> words;
  std::string text = PAWL_TEST_COMPILER;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

constexpr float kBandValue = -77.25f;

}  // namespace

Result<std::string> CompileObject(const SourceText& source, const std::string& folder) {
  const std::string place = folder + "/" + source.digest.Short();
  std::filesystem::create_directories(place);
  WriteFile(place + "/kernel.cc", source.text);
  // From within the folder, so that a compiler cache meets the same command again.
  std::vector<std::string> command = {"env", "-C", place, "CCACHE_NOHASHDIR=1"};
  for (const std::string& word : Compiler()) command.push_back(word);
  command.insert(command.end(), kOptions.begin(), kOptions.end());
  for (const char* word : {"-Wall", "-Wextra", "-Werror", "-c", "kernel.cc", "-o", "kernel.o"}) {
    command.push_back(word);
  }
  const Finished compiled = RunToEnd(command, 120'000);
  if (compiled.code == -1) return Error{source.name + ": the compiler did not end in 120 s"};
  if (compiled.code != 0) return Error{source.name + ": " + compiled.err};
  return place + "/kernel.o";
}

std::vector<std::string> CompileObjects(const std::vector<SourceText>& sources,
                                        const std::string& folder) {
  std::vector<std::string> objects(sources.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      Result<std::string> object = CompileObject(sources[i], folder);
      CHECK(object.has_value(), object.error().message);
      objects[i] = *object;
    }
  };
  std::thread other(work);
  work();
  other.join();
  return objects;
}

BuiltKernel::BuiltKernel(const std::string& object, const std::string& name,
                         const std::vector<std::string>& libraries) {
  const std::string library = object.substr(0, object.size() - 1) + "so";
  std::vector<std::string> command = {
      Compiler().back(), "-shared", "-fopenmp", object, "-o", library};
  command.insert(command.end(), libraries.begin(), libraries.end());
  const Finished linked = RunToEnd(command, 60'000);
  CHECK(linked.code == 0, linked.err);
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  CHECK(library_ != nullptr, dlerror());
  function_ = dlsym(library_, name.c_str());
  CHECK(function_ != nullptr, name, "is not in", library);
}

BuiltKernel::~BuiltKernel() { dlclose(library_); }

void BuiltKernel::Call(const std::vector<void*>& buffers,
                       const std::vector<std::int64_t>& scalars) const {
  const auto call = [&]<std::size_t... B, std::size_t... S>(std::index_sequence<B...>,
                                                            std::index_sequence<S...>) {
    // A kernel's own pointer types do not matter to how it is called.
    using Function =
        void (*)(decltype(B, static_cast<void*>(nullptr))..., decltype(S, std::int64_t{})...);
    reinterpret_cast<Function>(function_)(buffers[B]..., scalars[S]...);
  };
  const auto with_scalars = [&](auto count) {
    if (scalars.size() == 2) return call(count, std::make_index_sequence<2>());
    CHECK(scalars.size() == 3, scalars.size());
    call(count, std::make_index_sequence<3>());
  };
  if (buffers.size() == 3) return with_scalars(std::make_index_sequence<3>());
  if (buffers.size() == 4) return with_scalars(std::make_index_sequence<4>());
  CHECK(buffers.size() == 5, buffers.size());
  with_scalars(std::make_index_sequence<5>());
}

void GuardedBuffer::Free::operator()(float* all) const { std::free(all); }

GuardedBuffer::GuardedBuffer(std::int64_t elements) : size_(elements) {
  const std::size_t bytes = static_cast<std::size_t>(elements + 2 * kBand) * sizeof(float);
  all_.reset(static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
  CHECK(all_ != nullptr);
  for (std::int64_t i = 0; i < kBand; ++i) {
    all_[static_cast<std::size_t>(i)] = kBandValue;
    all_[static_cast<std::size_t>(kBand + elements + i)] = kBandValue;
  }
}

bool GuardedBuffer::BandsAreWhole() const {
  for (std::int64_t i = 0; i < kBand; ++i) {
    if (all_[static_cast<std::size_t>(i)] != kBandValue) return false;
    if (all_[static_cast<std::size_t>(kBand + size_ + i)] != kBandValue) return false;
  }
  return true;
}

Problem::Problem(const Operation& operation, const std::vector<Scalar>& shape, std::uint64_t seed,
                 bool exact) {
  Result<std::vector<Buffer>> buffers = BuffersAt(operation, shape);
  CHECK(buffers.has_value(), buffers.error().message);
  CHECK(buffers->back().role == BufferRole::kOutput);
  for (std::size_t b = 0; b < buffers->size(); ++b) {
    Buffer& buffer = (*buffers)[b];
    CHECK(SizeOf(buffer.dtype) == sizeof(float), Name(buffer.dtype));
    GuardedBuffer& made = buffers_.emplace_back(buffer.Elements());
    if (buffer.role == BufferRole::kOutput) continue;
    CHECK(!exact || operation.exact.has_value());
    if (exact && buffer.dtype == DType::kF32) buffer.fill = *operation.exact;
    FillBuffer(buffer, static_cast<std::uint32_t>(b), seed, made.data());
    std::vector<std::byte>& original = originals_.emplace_back(made.bytes());
    std::memcpy(original.data(), made.data(), original.size());
  }
  for (const Scalar& scalar : shape) scalars_.push_back(scalar.value);
}

std::string Problem::Run(const BuiltKernel& kernel) {
  std::vector<void*> buffers;
  for (GuardedBuffer& buffer : buffers_) buffers.push_back(buffer.data());
  float* const output = buffers_.back().data();
  std::fill(output, output + out().size(), std::nanf(""));
  kernel.Call(buffers, scalars_);
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    if (!buffers_[b].BandsAreWhole()) return "wrote beside buffer " + std::to_string(b);
    if (b < originals_.size() &&
        std::memcmp(originals_[b].data(), buffers_[b].data(), originals_[b].size()) != 0) {
      return "changed input " + std::to_string(b);
    }
  }
  return {};
}

std::string Problem::Compare(const std::vector<double>& reference, double rtol, double atol) const {
  CHECK(reference.size() == static_cast<std::size_t>(out().size()));
  std::string first;
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < out().size(); ++i) {
    const double wanted = reference[static_cast<std::size_t>(i)];
    const double seen = static_cast<double>(out().data()[i]);
    if (std::abs(seen - wanted) <= atol + rtol * std::abs(wanted)) continue;  // false for NaN
    if (wrong++ == 0) {
      first = "element " + std::to_string(i) + " is " + std::to_string(seen) + ", reference " +
              std::to_string(wanted);
    }
  }
  return wrong == 0 ? ""
                    : first + "; " + std::to_string(wrong) + " of " + std::to_string(out().size()) +
                          " wrong";
}

std::vector<float> Problem::output() const { return {out().data(), out().data() + out().size()}; }

}  // namespace pawl::test
