// The real NVRTC, where there is one: what pawl ships compiles for every architecture it is for.
// Needs no GPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "kernels/render.h"
#include "kernels/space.h"
#include "tests/cuda/cuda_orders.h"
#include "tests/support/places.h"
#include "worker/device/cuda/builder.h"
#include "worker/device/cuda/source_text.h"
#include "worker/object_cache.h"

namespace pawl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kArchitectures[] = {80, 86, 89, 90, 120};
constexpr std::uint64_t kSampled = 4;  // of a structure's configurations, beside its start

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("PAWL_LIBNVRTC");
    Result<std::unique_ptr<ObjectCache>> opened = ObjectCache::Open(folder_.path(), 256 << 20);
    ASSERT_TRUE(opened);
    cache_ = std::move(*opened);
    BuilderOptions options;
    options.children = 2;
    Result<std::unique_ptr<Builder>> started = Builder::Open(*cache_, options);
    // The real compiler, where the CUDA toolkit is installed; pawl builds without it, and the tests
    // on a stand-in NVRTC (builder_test.cc) run everywhere.
    if (!started) GTEST_SKIP() << started.error().message;
    builder = std::move(*started);
  }

  bool Makes(int architecture) const {
    const std::vector<int>& made = builder->architectures();
    return std::find(made.begin(), made.end(), architecture) != made.end();
  }

  void ExpectAllBuild(const std::vector<CudaUnit>& units) {
    const Result<std::vector<CudaBuilt>> built = builder->Build(units);
    ASSERT_TRUE(built) << built.error().message;
    for (std::size_t i = 0; i < units.size(); ++i) {
      const CudaObject& object = (*built)[i].object;
      EXPECT_TRUE(object.ok) << units[i].name << " " << units[i].options.front() << ": "
                             << object.problem;
      EXPECT_GT(ParseResourceUse(object.log).registers, 0u) << units[i].name;
    }
  }

  CudaObject Build(const std::string& text, const std::string& kernel, std::size_t arguments = 3) {
    Order order = CudaOrder(kernel, text);
    order.arms[1].launches[0].arguments.resize(arguments);
    const Result<std::vector<CudaBuilt>> built =
        builder->Build({KernelUnitFor(order.sources[2], {}, order.arms[1].launches, {}, 90)});
    EXPECT_TRUE(built);
    return built ? built->front().object : CudaObject{};
  }

  std::unique_ptr<Builder> builder;

 private:
  const test::TempFolder folder_;
  std::unique_ptr<ObjectCache> cache_;
};

TEST_F(NvrtcTest, BuildsTheDevicesOwnKernelsForEveryArchitecture) {
  std::vector<CudaUnit> units;
  for (const int architecture : kArchitectures) {
    if (Makes(architecture)) units.push_back(OwnUnit(architecture));
  }
  ASSERT_FALSE(units.empty());
  ExpectAllBuild(units);
}

// The emulated device compiles the same file (tests/emulated).
TEST_F(NvrtcTest, TakesEveryStandardHeader) {
  std::ifstream file(test::SourceFolder() + "/tests/data/cuda_headers/all.cu");
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(source.empty());
  const CudaObject object = Build(source, "one");
  EXPECT_TRUE(object.ok) << object.problem;
}

TEST_F(NvrtcTest, BuildsWhatPawlShipsForEveryArchitecture) {
  const std::string root = test::SourceFolder() + "/kernels";
  std::vector<CudaUnit> units;
  std::size_t structures = 0;
  for (const std::string& name : ListOperations(root)) {
    SCOPED_TRACE(name);
    const Result<Operation> operation = LoadOperation(root + "/" + name);
    ASSERT_TRUE(operation) << operation.error().message;
    const Backend* const backend = operation->FindBackend("cuda");
    if (backend == nullptr || operation->audit_shapes.empty()) continue;
    const std::vector<Scalar>& shape = operation->audit_shapes.front();
    const std::vector<HeaderText> headers = HeadersOf(*operation, *backend);
    const Result<std::vector<Buffer>> buffers = BuffersAt(*operation, shape);
    ASSERT_TRUE(buffers);
    if (const auto committed = CommittedAt(*operation, *backend, shape);
        committed && !(*committed)->source.empty()) {
      const auto source = CommittedSource(*operation, **committed);
      const auto launches = LaunchesOf(*operation, **committed, shape);
      const auto reference = ReferenceSource(*operation);
      ASSERT_TRUE(source && launches && reference);
      for (const int architecture : kArchitectures) {
        if (!Makes(architecture)) continue;
        units.push_back(KernelUnitFor(*source, headers, launches->launches, {}, architecture));
        units.push_back(ReferenceUnitFor(*reference, {}, *buffers, shape, architecture));
      }
    }
    for (const Structure& structure : backend->structures) {
      if (structure.source.empty()) continue;
      ++structures;
      const Result<Space> space = Space::Make(structure, shape);
      ASSERT_TRUE(space) << space.error().message;
      std::vector<Configuration> chosen;
      if (space->Validate(structure.start).empty()) chosen.push_back(structure.start);
      for (std::uint64_t k = 0; k < kSampled; ++k) {
        const auto next = space->NextValid(space->Cartesian() / kSampled * k);
        if (next) chosen.push_back(next->configuration);
      }
      ASSERT_FALSE(chosen.empty());
      for (std::size_t k = 0; k < chosen.size(); ++k) {
        const auto source = Render(*operation, structure, *space, chosen[k]);
        const auto launches = LaunchesOf(*operation, structure, *space, chosen[k]);
        ASSERT_TRUE(source && launches);
        for (const int architecture : kArchitectures) {
          if (!Makes(architecture) || (k > 0 && architecture != 90)) continue;
          units.push_back(KernelUnitFor(*source, headers, launches->launches, {}, architecture));
        }
      }
    }
  }
  EXPECT_GT(structures, 0u);
  ExpectAllBuild(units);
}

TEST_F(NvrtcTest, RefusesAKernelWithOtherArgumentsThanItsLaunch) {
  const std::string right = ElementKernel("k", "out[i] = in[i];");
  EXPECT_TRUE(Build(right, "k").ok);
  EXPECT_THAT(Build(right, "k", 2).problem, HasSubstr("the launch gives k 2 arguments"));
  EXPECT_THAT(Build("extern \"C\" __global__ void k(float* a, float* b, float c) {}", "k").problem,
              HasSubstr("pointers for buffers and whole numbers for scalars"));
  EXPECT_THAT(Build("__global__ void other(float* a) {}", "k").problem,
              AllOf(HasSubstr("(launch)"), HasSubstr("\"k\" is undefined")));
  // Not extern "C", and an instance of a template.
  EXPECT_EQ(Build("__global__ void k(const float* a, float* b, int c) {}", "k").names.front(),
            "_Z1kPKfPfi");
  EXPECT_TRUE(
      Build("template <int t> __global__ void k(const float*, float*, long) {}", "k<4>").ok);
}

TEST_F(NvrtcTest, GivesTheSameBytesForTheSameUnit) {
  const Result<std::vector<CudaBuilt>> one = builder->Build({OwnUnit(90)});
  const test::TempFolder folder;
  const Result<std::unique_ptr<ObjectCache>> cache = ObjectCache::Open(folder.path(), 1 << 20);
  const Result<std::unique_ptr<Builder>> other = Builder::Open(**cache, {});
  const Result<std::vector<CudaBuilt>> two = (*other)->Build({OwnUnit(90)});
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->front().digest, two->front().digest);
  EXPECT_EQ(one->front().object.log, two->front().object.log);
}

TEST_F(NvrtcTest, BuildsPlantedFaultsThatFailOnlyWhenTheyRun) {
  for (const char* kernel :
       {"illegal_address", "misaligned", "device_assert", "infinite_loop", "too_much_shared",
        "stale_output", "skips_when_right", "skips_its_own", "changes_input", "one_past_end"}) {
    std::ifstream file(test::SourceFolder() + "/tests/data/cuda_faults/" + kernel + ".cu");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const CudaObject object = Build(text, kernel);
    EXPECT_TRUE(object.ok) << kernel << ": " << object.problem;
  }
}

}  // namespace
}  // namespace pawl
