// What a package says of launches: several, clusters, scratch, memsets, headers.

#include <gmock/gmock.h>

#include "kernels/render.h"
#include "kernels/space.h"
#include "tests/kernels/sample_package.h"

namespace pawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The sample's host structure, as a cuda one that writes partial sums first.
PackageFiles CudaPackage() {
  PackageFiles files = SamplePackage();
  std::string structure = files.at("host/chunk.toml");
  const std::string launches = R"(
[[launch]]
memset = "partial"
byte   = 255

[[launch]]
kernel  = "saxpy_split"
grid    = ["2 * rows", 1, 1]
block   = [32, "threads", 1]
cluster = [2, 1, 1]
dynamic_shared_bytes = "4 * block.n"
arguments = ["X", "partial", "rows"]

[[launch]]
kernel = "saxpy_join"

[[scratch]]
name     = "partial"
dtype    = "f32"
elements = "rows * block.n"
)";
  structure.replace(structure.find("source = \"chunk.cc\"\nkernel = \"saxpy_chunk\"\n"), 43,
                    "source = \"chunk.cu\"\n");
  files["cuda/chunk.toml"] = structure + launches;
  files["cuda/chunk.cu"] =
      "#include \"pawl_device.h\"\n  # include \"tile.h\"\n" + files.at("host/chunk.cc");
  files["cuda/tile.h"] = "#include \"lane.h\"\n";
  files["cuda/lane.h"] = "// lanes\n";
  files["cuda/unused.h"] = "// nobody includes it\n";
  return files;
}

struct Loaded {
  Operation operation;
  const Structure* structure = nullptr;
  std::unique_ptr<Space> space;
};

std::unique_ptr<Loaded> Load(const PackageFiles& files) {
  auto loaded = std::make_unique<Loaded>();
  Result<Operation> operation = LoadOperation(files, "saxpy");
  EXPECT_TRUE(operation) << operation.error().message;
  if (!operation) return nullptr;
  loaded->operation = *std::move(operation);
  loaded->structure = loaded->operation.FindStructure("cuda", "chunk");
  Result<Space> space = Space::Make(*loaded->structure, {{"rows", 8}, {"width", 64}});
  EXPECT_TRUE(space) << space.error().message;
  if (!space) return nullptr;
  loaded->space = std::make_unique<Space>(*std::move(space));
  return loaded;
}

TEST(Launches, AreThoseOfThePackageInOrder) {
  const auto loaded = Load(CudaPackage());
  ASSERT_TRUE(loaded);
  const Result<Launches> all =
      LaunchesOf(loaded->operation, *loaded->structure, *loaded->space, loaded->structure->start);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_THAT(all->scratch, ElementsAre(Scratch{"partial", DType::kF32, 64}));
  ASSERT_THAT(all->launches, SizeIs(3));
  const Launch& memset = all->launches[0];
  EXPECT_EQ(memset.kind, LaunchKind::kMemset);
  EXPECT_EQ(memset.byte, 255);
  EXPECT_EQ(memset.kernel, "");
  EXPECT_THAT(memset.arguments, ElementsAre(Argument{Argument::Kind::kScratch, 0}));
  const Launch& split = all->launches[1];
  EXPECT_EQ(split.kernel, "saxpy_split");
  EXPECT_EQ(split.grid, (std::array<std::uint32_t, 3>{16, 1, 1}));
  EXPECT_EQ(split.block, (std::array<std::uint32_t, 3>{32, 1, 1}));
  EXPECT_EQ(split.cluster, (std::array<std::uint32_t, 3>{2, 1, 1}));
  EXPECT_EQ(split.dynamic_shared_bytes, 32u);
  EXPECT_THAT(split.arguments, ElementsAre(Argument{Argument::Kind::kBuffer, 0},
                                           Argument{Argument::Kind::kScratch, 0},
                                           Argument{Argument::Kind::kScalar, 0}));
  EXPECT_THAT(
      all->launches[2].arguments,
      ElementsAre(Argument{Argument::Kind::kBuffer, 0}, Argument{Argument::Kind::kBuffer, 1},
                  Argument{Argument::Kind::kScalar, 0}, Argument{Argument::Kind::kScalar, 1},
                  Argument{Argument::Kind::kScratch, 0}));
  EXPECT_EQ(loaded->structure->kernel, "saxpy_split");
}

TEST(Launches, AreLeftOutWhereTheirWhenDoesNotHold) {
  PackageFiles files = CudaPackage();
  Edit(files, "cuda/chunk.toml", "memset = \"partial\"",
       "when   = \"block.n > rows\"\nmemset = \"partial\"");
  Edit(files, "cuda/chunk.toml", "kernel = \"saxpy_join\"",
       "when   = \"threads == 2\"\nkernel = \"saxpy_join\"");
  const auto loaded = Load(files);
  ASSERT_TRUE(loaded);
  const auto kernels = [&](const std::string& settings) {
    const Result<Configuration> configuration =
        ParseConfiguration(settings, *loaded->structure, loaded->structure->start);
    const Result<Launches> all =
        LaunchesOf(loaded->operation, *loaded->structure, *loaded->space, *configuration);
    std::string text;
    for (const Launch& launch : all->launches) {
      text += launch.kind == LaunchKind::kMemset ? "memset " : launch.kernel + " ";
    }
    return text;
  };
  EXPECT_EQ(kernels("block=8x8 threads=1"), "saxpy_split ");
  EXPECT_EQ(kernels("block=8x8 threads=2"), "saxpy_split saxpy_join ");
  EXPECT_EQ(kernels("block=8x16 threads=1"), "memset saxpy_split ");
  // Its geometry is nobody's business then, and no kernel at all is none.
  Edit(files, "cuda/chunk.toml", "kernel = \"saxpy_join\"",
       "kernel = \"saxpy_join\"\ngrid = [\"threads - 1\", 1, 1]");
  Edit(files, "cuda/chunk.toml", "kernel  = \"saxpy_split\"",
       "when    = \"unroll == 1\"\nkernel  = \"saxpy_split\"");
  const auto other = Load(files);
  ASSERT_TRUE(other);
  const auto violation = [&](const std::string& settings) {
    const Result<Configuration> configuration =
        ParseConfiguration(settings, *other->structure, other->structure->start);
    const std::vector<Violation> violations = other->space->Validate(*configuration);
    return violations.empty() ? "valid" : violations.front().text;
  };
  EXPECT_EQ(violation("threads=1"), "valid");
  EXPECT_EQ(violation("threads=1 unroll=2"), "launch: none of a kernel is left, by their 'when'");
}

TEST(Launches, ThatCannotBeMadeAreViolations) {
  const auto violation = [](std::string_view from, std::string_view to) {
    PackageFiles files = CudaPackage();
    Edit(files, "cuda/chunk.toml", from, to);
    const auto loaded = Load(files);
    if (!loaded) return std::string("did not load");
    const std::vector<Violation> violations = loaded->space->Validate(loaded->structure->start);
    return violations.empty() ? std::string("valid") : violations.front().text;
  };
  EXPECT_EQ(violation("cluster = [2,", "cluster = [3,"),
            "launch: grid.x is 16, no multiple of the cluster's 3");
  EXPECT_EQ(violation("cluster = [2,", "cluster = [32,"),
            "launch: cluster.x is 32; 1 to 16 can be launched");
  EXPECT_EQ(violation("block   = [32,", "block   = [2048,"),
            "launch: block.x is 2048; 1 to 1024 can be launched");
  EXPECT_EQ(violation("rows * block.n\"", "rows - 8\""),
            "scratch: partial has 0 elements; 1 to 8589934592 are wanted");
}

// An expression that fails is the package's mistake wherever it stands; a figure that is refused is
// none.
TEST(Launches, ExpressionsThatFailAreToldFromRefusals) {
  const auto validate = [](std::string_view from, std::string_view to) {
    PackageFiles files = CudaPackage();
    Edit(files, "cuda/chunk.toml", from, to);
    const auto loaded = Load(files);
    return loaded ? loaded->space->Validate(loaded->structure->start) : std::vector<Violation>();
  };
  // `threads` is 1 at the start.
  const std::pair<std::string_view, std::string_view> fail[] = {
      {"\"rows / block.m\"", "\"rows / (threads - 1)\""},                      // derived
      {"\"order == 'rows' || unroll < 4\"", "\"rows % (threads - 1) == 0\""},  // need
      {"[\"2 * rows\", 1, 1]", "[\"rows / (threads - 1)\", 1, 1]"},            // grid
      {"[32, \"threads\", 1]", "[32, \"rows / (threads - 1)\", 1]"},           // block
      {"cluster = [2, 1, 1]", "cluster = [\"2 / (threads - 1)\", 1, 1]"},      // cluster
      {"\"4 * block.n\"", "\"4 / (threads - 1)\""},                            // shared
      {"kernel = \"saxpy_join\"",
       "when = \"rows / (threads - 1) > 1\"\nkernel = \"saxpy_join\""},  // when
      {"\"rows * block.n\"", "\"rows / (threads - 1)\""},                // scratch
  };
  for (const auto& [from, to] : fail) {
    const std::vector<Violation> violations = validate(from, to);
    ASSERT_THAT(violations, SizeIs(1)) << to;
    EXPECT_TRUE(violations[0].broken) << to << ": " << violations[0].text;
    EXPECT_THAT(violations[0].text, HasSubstr("by zero")) << to;
    EXPECT_THAT(violations[0].text, HasSubstr("chunk.toml:")) << to;
  }
  const std::pair<std::string_view, std::string_view> refuse[] = {
      {"\"order == 'rows' || unroll < 4\"", "\"threads == 2\""},
      {"[\"2 * rows\", 1, 1]", "[\"2 * (threads - 1)\", 1, 1]"},
      {"[32, \"threads\", 1]", "[32, \"threads - 1\", 1]"},
      {"cluster = [2, 1, 1]", "cluster = [\"threads + 2\", 1, 1]"},
      {"\"rows * block.n\"", "\"threads - 1\""},
  };
  for (const auto& [from, to] : refuse) {
    const std::vector<Violation> violations = validate(from, to);
    ASSERT_THAT(violations, SizeIs(1)) << to;
    EXPECT_FALSE(violations[0].broken) << to << ": " << violations[0].text;
  }
}

TEST(Launches, MistakesAreNamedWithTheirPlace) {
  const auto message = [](std::string_view from, std::string_view to) {
    PackageFiles files = CudaPackage();
    Edit(files, "cuda/chunk.toml", from, to);
    return LoadMessage(files);
  };
  EXPECT_THAT(message("[\"X\", \"partial\",", "[\"X\", \"partail\","),
              HasSubstr("'partail' is no tensor, shape letter or scratch buffer; nearest is "
                        "'partial'"));
  EXPECT_THAT(message("memset = \"partial\"", "memset = \"X\""),
              HasSubstr("'X' is not to be written; memset wants an output or a scratch buffer"));
  EXPECT_THAT(message("name     = \"partial\"", "name     = \"X\""),
              HasSubstr("scratch 'X' is the name of something else already"));
  EXPECT_THAT(message("dtype    = \"f32\"", "dtype    = \"f16\""),
              HasSubstr("dtype is 'f16'; f32, f64, i32 or u32 is wanted"));
  EXPECT_THAT(message("source = \"chunk.cu\"", "source = \"chunk.cu\"\nkernel = \"one\""),
              HasSubstr("'kernel' stands beside [[launch]]; each launch says its own"));
  EXPECT_THAT(message("byte   = 255", "byte   = 256"), HasSubstr("byte"));
  EXPECT_THAT(message("byte   = 255", "when = \"thread > 1\""),
              HasSubstr("unknown name 'thread'; nearest is 'threads'"));
  EXPECT_THAT(message("[2, 1, 1]", "[2, 1]"), HasSubstr("cluster has 2 sides; 3 are wanted"));
  EXPECT_THAT(message("\"4 * block.n\"", "\"4 * blok.n\""), HasSubstr("blok"));
}

TEST(Headers, AreThoseThatSourcesInclude) {
  const auto loaded = Load(CudaPackage());
  ASSERT_TRUE(loaded);
  const std::vector<HeaderText> headers =
      HeadersOf(loaded->operation, *loaded->operation.FindBackend("cuda"));
  std::vector<std::string> names;
  for (const HeaderText& header : headers) names.push_back(header.name);
  EXPECT_THAT(names, ElementsAre("lane.h", "tile.h", "pawl_device.h"));
  EXPECT_EQ(headers[2].text, DeviceHeader());
  EXPECT_THAT(headers[2].text, HasSubstr("void CpAsync16("));
  EXPECT_THAT(HeadersOf(loaded->operation, *loaded->operation.FindBackend("host")), IsEmpty());
  // What a ledger has kept is what is compiled again.
  PackageFiles kept = loaded->operation.files;
  kept["pawl_device.h"] = "// as it was then\n";
  const auto again = Load(kept);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->operation.files.at("pawl_device.h"), "// as it was then\n");
}

TEST(Headers, ThatAreNotThereAreNamedWithTheirPlace) {
  PackageFiles files = CudaPackage();
  files.erase("cuda/lane.h");
  EXPECT_EQ(LoadMessage(files),
            "saxpy/cuda/tile.h:1: includes \"lane.h\", which is not in this folder; a header "
            "beside the source or \"pawl_device.h\" is wanted");
}

}  // namespace
}  // namespace pawl
