#include "kernels/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/operation.h"
#include "kernels/space.h"
#include "tests/kernels/sample_package.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RenderTest : public testing::Test {
 protected:
  void Load(const PackageFiles& files) {
    Result<Operation> operation = LoadOperation(files, "saxpy");
    ASSERT_TRUE(operation) << operation.error().message;
    operation_ = std::move(*operation);
    structure_ = operation_.FindStructure("host", "chunk");
    Result<Space> space = Space::Make(*structure_, shape_);
    ASSERT_TRUE(space) << space.error().message;
    space_ = std::make_unique<Space>(std::move(*space));
  }
  void SetUp() override { Load(SamplePackage()); }

  Configuration With(const std::string& text) const {
    return *ParseConfiguration(text, *structure_, structure_->start);
  }
  SourceText Rendered(const std::string& text) const {
    Result<SourceText> source = Render(operation_, *structure_, *space_, With(text));
    EXPECT_TRUE(source) << source.error().message;
    return std::move(*source);
  }

  const std::vector<Scalar> shape_ = {{"rows", 16}, {"width", 64}};
  Operation operation_;
  const Structure* structure_ = nullptr;
  std::unique_ptr<Space> space_;
};

TEST_F(RenderTest, PutsTheValuesBetweenTheMarkersAndLeavesTheRestAlone) {
  const SourceText source = Rendered("unroll=2 fused=true order=columns block=4x32");
  const std::string& text = operation_.files.at("host/chunk.cc");
  const std::string tail = text.substr(text.find("// pawl: end"));
  EXPECT_EQ(source.text,
            "// saxpy host/chunk: unroll=2 fused=true order=columns block=4x32 threads=1\n"
            "#line 1 \"saxpy/host/chunk.cc\"\n"
            "#include <cstdint>\n"
            "// pawl: knobs\n"
            "constexpr int unroll = 2;\n"
            "constexpr bool fused = true;\n"
            "enum class Order { rows, columns };\n"
            "constexpr Order order = Order::columns;\n"
            "constexpr int block_m = 4;\n"
            "constexpr int block_n = 32;\n"
            "constexpr int threads = 1;\n"
            "constexpr int lanes = 16;\n"
            "#line 10 \"saxpy/host/chunk.cc\"\n" +
                tail);
  EXPECT_EQ(source.digest, Sha256(source.text));
  EXPECT_THAT(source.name, testing::MatchesRegex("chunk\\.[0-9a-f]+\\.cc"));
  EXPECT_EQ(source.name.size(), std::string("chunk.123456789012.cc").size());
}

TEST_F(RenderTest, GivesTheSameBytesEveryTime) {
  const SourceText first = Rendered("unroll=2 fused=true");
  Load(SamplePackage());  // another reading of the same files
  EXPECT_EQ(Rendered("unroll=2 fused=true"), first);
  // Recorded once: what a ledger holds must render to it for ever.
  EXPECT_EQ(first.digest.Short(), "0c488639f89e");
}

TEST_F(RenderTest, NamesAConfigurationAndNotItsRole) {
  // A candidate that becomes the incumbent is the same source under the same name.
  const SourceText candidate = Rendered("threads=2");
  const SourceText incumbent = Rendered("threads=2");
  EXPECT_EQ(candidate, incumbent);
  EXPECT_EQ(candidate.name, "chunk." + With("threads=2").Hash().Short() + ".cc");
}

TEST_F(RenderTest, GivesEqualBytesForConfigurationsThatAreTheSameKernel) {
  EXPECT_EQ(Rendered("unroll=1 fused=true"), Rendered("unroll=1 fused=false"));
  EXPECT_NE(Rendered("unroll=2 fused=true").digest, Rendered("unroll=2 fused=false").digest);
}

TEST_F(RenderTest, GivesEveryDistinctConfigurationItsOwnBytes) {
  std::set<Digest> digests;
  std::set<std::string> names;
  space_->EnumerateDistinct([&](const Configuration& configuration) {
    const Result<SourceText> source = Render(operation_, *structure_, *space_, configuration);
    EXPECT_TRUE(source) << source.error().message;
    digests.insert(source->digest);
    names.insert(source->name);
    return true;
  });
  EXPECT_EQ(digests.size(), space_->CountDistinct());
  EXPECT_EQ(names.size(), space_->CountDistinct());
}

TEST_F(RenderTest, RefusesAConfigurationThatIsNotValid) {
  const Result<SourceText> source =
      Render(operation_, *structure_, *space_, With("unroll=4 order=columns block=4x32 threads=2"));
  ASSERT_FALSE(source);
  EXPECT_EQ(
      source.error().message,
      "host/chunk.toml: the configuration is not valid: unroll by 4 goes along rows only (order = "
      "columns, unroll = 4); block: 256 elements, 128 allowed");
  EXPECT_FALSE(LaunchesOf(operation_, *structure_, *space_, With("block=4x32 threads=2")));
}

TEST_F(RenderTest, SpellsEveryKindOfValue) {
  PackageFiles files = SamplePackage();
  Edit(files, "host/chunk.toml", "order   = [\"rows\", \"columns\"]",
       "order   = [\"rows\", \"columns\", \"for\"]\nbig_knob = [4294967296, -5]");
  Edit(files, "host/chunk.toml", "unroll  = 1\n", "unroll  = 1\nbig_knob = 4294967296\n");
  Edit(files, "host/chunk.toml", "[audit]\n", "[audit]\norder = [\"rows\", \"diagonal\"]\n");
  Edit(files, "host/chunk.cc", "static_assert(", "static_assert(big_knob != 0 && ");
  Load(files);
  const std::string text = Rendered("order=for big_knob=-5").text;
  EXPECT_THAT(text, HasSubstr("enum class Order { rows, columns, for_, diagonal };\n"
                              "constexpr Order order = Order::for_;\n"));
  EXPECT_THAT(text, HasSubstr("constexpr int big_knob = -5;\n"));
  EXPECT_THAT(Rendered("").text, HasSubstr("constexpr long long big_knob = 4294967296LL;\n"));
  EXPECT_THAT(Rendered("order=diagonal").text,
              HasSubstr("constexpr Order order = Order::diagonal;\n"));
}

TEST_F(RenderTest, DoesNotTakeACommentForAUse) {
  PackageFiles files = SamplePackage();
  Edit(files, "host/chunk.cc", "threads > 0 && ", "");
  for (const char* mention :
       {"// threads\n", "/* threads\n threads */", "const char* s = \"threads\";",
        "const char* s = R\"x(threads \" )y\" threads)x\";", "int my_threads;"}) {
    PackageFiles mentioned = files;
    mentioned.at("host/chunk.cc") += mention;
    EXPECT_THAT(LoadMessage(mentioned), HasSubstr("knob threads is never used")) << mention;
  }
  files.at("host/chunk.cc") += "int x = 1'000; char c = '\\''; /* */ int y = threads;";
  EXPECT_EQ(LoadMessage(files), "no error");
}

TEST_F(RenderTest, TakesAUsedDerivedValueForAUseOfItsKnobs) {
  PackageFiles files = SamplePackage();
  Edit(files, "host/chunk.toml", "chunks = \"rows / block.m\"",
       "half = \"threads * 2\"\nchunks = \"rows / block.m + half\"");
  Edit(files, "host/chunk.cc", "threads > 0 && block_m", "chunks");
  Load(files);
  EXPECT_THAT(structure_->used_derived, ElementsAre("lanes", "chunks"));
  EXPECT_THAT(Rendered("threads=2").text,
              HasSubstr("constexpr int lanes = 8;\nconstexpr int chunks = 6;\n"));
}

TEST_F(RenderTest, GivesHandWrittenSourcesAsTheyStand) {
  const Backend& host = *operation_.FindBackend("host");
  const Result<SourceText> committed = CommittedSource(operation_, host.committed.front());
  ASSERT_TRUE(committed);
  EXPECT_EQ(
      *committed,
      (SourceText{"committed.cc", Sha256("// committed\n"), "// committed\n", {"-funroll-loops"}}));
  const Result<SourceText> rival = RivalSource(operation_, host.rivals.front());
  ASSERT_TRUE(rival);
  EXPECT_EQ(*rival, (SourceText{"blas.cc", Sha256("// blas\n"), "// blas\n", {"-lopenblas"}}));
  const Result<SourceText> reference = ReferenceSource(operation_);
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->text, operation_.files.at("reference.h"));
}

TEST_F(RenderTest, LaunchesWithAllBuffersAndThenAllScalars) {
  const Result<Launches> launch = LaunchesOf(operation_, *structure_, *space_, With("threads=2"));
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launches[0].kernel, "saxpy_chunk");
  EXPECT_THAT(
      launch->launches[0].arguments,
      ElementsAre(Argument{Argument::Kind::kBuffer, 0}, Argument{Argument::Kind::kBuffer, 1},
                  Argument{Argument::Kind::kScalar, 0}, Argument{Argument::Kind::kScalar, 1}));
  const Committed& committed = operation_.FindBackend("host")->committed.front();
  const Result<Launches> control = LaunchesOf(operation_, committed, shape_);
  ASSERT_TRUE(control);
  EXPECT_EQ(control->launches[0].kernel, "saxpy_committed");
  EXPECT_EQ(control->launches[0].arguments, launch->launches[0].arguments);
}

TEST_F(RenderTest, LaunchesACommittedKernelByItsOwnGeometry) {
  PackageFiles files = SamplePackage();
  Edit(files, "host/committed.toml", "kernel = \"saxpy_committed\"\nbuild",
       "kernel = \"saxpy_committed\"\ngrid = [\"ceil_div(rows, 3)\", 1, 1]\nblock = [64, 2, 1]\n"
       "dynamic_shared_bytes = \"4 * width\"\nbuild");
  Load(files);
  const Result<Launches> launch =
      LaunchesOf(operation_, operation_.FindBackend("host")->committed.front(), shape_);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launches[0].grid, (std::array<std::uint32_t, 3>{6, 1, 1}));
  EXPECT_EQ(launch->launches[0].block, (std::array<std::uint32_t, 3>{64, 2, 1}));
  EXPECT_EQ(launch->launches[0].dynamic_shared_bytes, 256u);
  Edit(files, "host/committed.toml", "ceil_div(rows, 3)", "rows - 16");
  Load(files);
  const Result<Launches> none =
      LaunchesOf(operation_, operation_.FindBackend("host")->committed.front(), shape_);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("saxpy/host/committed.toml:1: launch: grid.x is 0"));
}

// What can be replayed and not built.

TEST(SpaceOnly, LaunchesButHasNoSource) {
  const Result<Operation> gemm = LoadOperation(test::SourceFolder() + "/kernels/gemm");
  ASSERT_TRUE(gemm) << gemm.error().message;
  const std::vector<Scalar> shape = {{"m", 1024}, {"n", 1024}, {"k", 1024}};
  const Structure& clblast = *gemm->FindStructure("cuda", "clblast");
  const Result<Space> space = Space::Make(clblast, shape);
  ASSERT_TRUE(space);
  const Result<SourceText> source = Render(*gemm, clblast, *space, clblast.start);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().message,
            "cuda/clblast.toml: has no source: its configurations can be replayed, not built");
  EXPECT_TRUE(LaunchesOf(*gemm, clblast, *space, clblast.start));

  const Result<const Committed*> committed = CommittedAt(*gemm, *gemm->FindBackend("cuda"), shape);
  ASSERT_TRUE(committed) << committed.error().message;
  const Result<SourceText> none = CommittedSource(*gemm, **committed);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message,
              HasSubstr("cuda/committed.toml:3: has no source: it can be replayed, not built"));
}

TEST(SpaceOnly, CommittedConfigurationLaunchesAsItsStructureWould) {
  const Result<Operation> gemm = LoadOperation(test::SourceFolder() + "/kernels/gemm");
  ASSERT_TRUE(gemm) << gemm.error().message;
  const std::vector<Scalar> shape = {{"m", 4096}, {"n", 4096}, {"k", 4096}};
  const Result<const Committed*> committed = CommittedAt(*gemm, *gemm->FindBackend("cuda"), shape);
  ASSERT_TRUE(committed);
  EXPECT_EQ((*committed)->configuration.Text(),
            "MWG=64 NWG=64 MDIMC=16 NDIMC=16 MDIMA=16 NDIMB=16 VWM=2 VWN=2 SA=1 SB=1");
  const Result<Launches> launch = LaunchesOf(*gemm, **committed, shape);
  ASSERT_TRUE(launch) << launch.error().message;
  EXPECT_EQ(launch->launches[0].kernel, "Xgemm");
  EXPECT_FALSE(CommittedSource(*gemm, **committed));
  EXPECT_FALSE(ReferenceSource(*gemm));
}

}  // namespace
}  // namespace pawl
