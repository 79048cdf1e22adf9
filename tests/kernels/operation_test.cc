#include "kernels/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/document.h"
#include "kernels/space.h"
#include "tests/kernels/sample_package.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kKernels = test::SourceFolder() + "/kernels";

Operation Loaded(const PackageFiles& files) {
  Result<Operation> operation = LoadOperation(files, "saxpy");
  EXPECT_TRUE(operation) << operation.error().message;
  return std::move(*operation);
}

template <typename T>
std::string MessageOf(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}

TEST(Operation, ReadsAWholePackage) {
  const Operation operation = Loaded(SamplePackage());
  EXPECT_EQ(operation.name, "saxpy");
  EXPECT_EQ(operation.summary, "Y = 2 X");
  EXPECT_THAT(operation.letters, ElementsAre("rows", "width"));
  ASSERT_EQ(operation.tensors.size(), 2u);
  EXPECT_EQ(operation.tensors[0].fill, (Fill{FillKind::kNormal, 0, 1}));
  EXPECT_EQ(operation.tensors[1].role, BufferRole::kOutput);
  EXPECT_EQ(operation.rtol, 1e-5);
  EXPECT_EQ(operation.exact, (Fill{FillKind::kIntegers, -8, 8}));
  EXPECT_THAT(operation.audit_shapes, ElementsAre(std::vector<Scalar>{{"rows", 8}, {"width", 64}}));

  const Structure* structure = operation.FindStructure("host", "chunk");
  ASSERT_NE(structure, nullptr);
  EXPECT_EQ(structure->source, "host/chunk.cc");
  EXPECT_EQ(structure->kernel, "saxpy_chunk");
  std::vector<std::string> knobs;
  for (const Knob& knob : structure->knobs) knobs.push_back(knob.name);
  EXPECT_THAT(knobs, ElementsAre("unroll", "fused", "order", "block", "threads"));
  EXPECT_EQ(structure->start.Text(), "unroll=1 fused=false order=rows block=8x8 threads=1");
  EXPECT_EQ(structure->constraints[0].place, (Place{"saxpy/host/chunk.toml", 23}));
  EXPECT_THAT(structure->used_derived, ElementsAre("lanes"));
  EXPECT_THAT(
      structure->repairs,
      ElementsAre(std::pair(std::string("order"), std::vector<KnobValue>{std::string("rows")}),
                  std::pair(std::string("threads"), std::vector<KnobValue>{std::int64_t{1}})));
  EXPECT_EQ(operation.FindStructure("cuda", "chunk"), nullptr);
  EXPECT_EQ(operation.FindStructure("host", "other"), nullptr);

  const Backend* backend = operation.FindBackend("host");
  ASSERT_EQ(backend->committed.size(), 2u);
  EXPECT_THAT(backend->committed[0].build_options, ElementsAre("-funroll-loops"));
  EXPECT_EQ(backend->rivals[0].source, "host/blas.cc");
}

TEST(Operation, KeepsEveryFileItUsesAndNoOther) {
  PackageFiles files = SamplePackage();
  files["README.md"] = "not used";
  files["host/notes.txt"] = "not used";
  const Operation operation = Loaded(files);
  files.erase("README.md");
  files.erase("host/notes.txt");
  EXPECT_EQ(operation.files, files);
  const std::map<std::string, Digest> digests = operation.Digests();
  EXPECT_EQ(digests.size(), files.size());
  EXPECT_EQ(digests.at("host/chunk.cc"), Sha256(files.at("host/chunk.cc")));
  // What was kept loads again: a ledger holds no more than that.
  EXPECT_EQ(Loaded(operation.files).files, operation.files);
}

TEST(Operation, OfAFolderEqualsTheSameFromBytes) {
  for (const std::string name : {"matmul", "layer_norm", "bias_gelu", "triangle_contraction",
                                 "neighbour_aggregation", "gemm"}) {
    const Result<Operation> folder = LoadOperation(kKernels + "/" + name);
    ASSERT_TRUE(folder) << folder.error().message;
    const Result<Operation> bytes = LoadOperation(folder->files, folder->folder);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(folder->files, bytes->files);
    EXPECT_EQ(folder->Digests(), bytes->Digests());
    ASSERT_EQ(folder->backends.size(), bytes->backends.size());
    for (std::size_t i = 0; i < folder->backends.size(); ++i) {
      EXPECT_EQ(folder->backends[i].structures.size(), bytes->backends[i].structures.size());
    }
  }
}

TEST(Operation, NamesThePackagesWhenOneIsMissing) {
  EXPECT_THAT(
      MessageOf(LoadOperation(kKernels + "/matmull")),
      testing::AllOf(HasSubstr("/matmull: no such operation; nearest is 'matmul'; there are"),
                     HasSubstr("gemm"), HasSubstr("layer_norm")));
  EXPECT_THAT(MessageOf(LoadOperation("/nonexistent/matmul")), HasSubstr("no such operation"));
}

TEST(Operation, ListsPackages) {
  EXPECT_THAT(ListOperations(kKernels),
              testing::IsSupersetOf({"bias_gelu", "gemm", "layer_norm", "neighbour_aggregation",
                                     "matmul", "triangle_contraction"}));
  EXPECT_TRUE(ListOperations("/nonexistent").empty());
}

// Integers that are indices of the shape: their bounds are known once the shape is.
TEST(Operation, FillsMayDependOnTheShape) {
  const Result<Operation> graph = LoadOperation(kKernels + "/neighbour_aggregation");
  ASSERT_TRUE(graph) << graph.error().message;
  const auto buffers = BuffersAt(*graph, {{"nodes", 7}, {"features", 9}, {"edges", 23}});
  ASSERT_TRUE(buffers) << buffers.error().message;
  EXPECT_EQ((*buffers)[2].fill, (Fill{FillKind::kRowPointers, 23, 0}));
  EXPECT_THAT((*buffers)[2].extents, ElementsAre(8));
  EXPECT_EQ((*buffers)[3].fill, (Fill{FillKind::kIntegers, 0, 6}));
  EXPECT_THAT(MessageOf(BuffersAt(*graph, {{"nodes", 1 << 25}, {"features", 1}, {"edges", 23}})),
              HasSubstr("neighbour_aggregation/operation.toml: tensor s: the fill's 'nodes - 1' = "
                        "33554431 at this shape; -16777216 to 16777216 is wanted"));

  PackageFiles files = SamplePackage();
  std::string& text = files["operation.toml"];
  const std::string fill = "fill    = { kind = \"normal\", mean = 0.0, stddev = 1.0 }";
  const auto with = [&](const std::string& other) {
    PackageFiles changed = files;
    std::string& operation = changed["operation.toml"];
    operation.replace(operation.find(fill), fill.size(), "fill    = { " + other + " }");
    return changed;
  };
  ASSERT_NE(text.find(fill), std::string::npos);
  EXPECT_THAT(MessageOf(BuffersAt(Loaded(with("kind = \"integers\", low = 3, high = \"rows - 8\"")),
                                  {{"rows", 8}, {"width", 64}})),
              HasSubstr("tensor X: fill has low 3 above high 0 at this shape"));
  text.replace(text.find("\"f32\""), 5, "\"i32\"");
  const Operation pointers = Loaded(with("kind = \"row_pointers\", last = \"width\""));
  EXPECT_THAT(MessageOf(BuffersAt(pointers, {{"rows", 1}, {"width", 1}})),
              HasSubstr("tensor X: one row pointer; 2 and more are wanted"));
}

TEST(Operation, FillsOfUnsignedIntegersHaveNoNegativeNumber) {
  PackageFiles files = SamplePackage();
  std::string& text = files["operation.toml"];
  text.replace(text.find("\"f32\""), 5, "\"u32\"");
  const std::string fill = "fill    = { kind = \"normal\", mean = 0.0, stddev = 1.0 }";
  const std::size_t at = text.find(fill);
  const auto with = [&](const std::string& other) {
    PackageFiles changed = files;
    changed["operation.toml"].replace(at, fill.size(), "fill    = { " + other + " }");
    return changed;
  };
  EXPECT_THAT(MessageOf(LoadOperation(with("kind = \"integers\", low = -1, high = 3"), "saxpy")),
              HasSubstr("low is -1; an integer from 0 to 16777216 is wanted"));
  EXPECT_THAT(MessageOf(LoadOperation(with("kind = \"constant\", value = -1"), "saxpy")),
              HasSubstr("value is -1; an integer from 0 to 1000000 is wanted"));
  EXPECT_THAT(MessageOf(LoadOperation(with("kind = \"constant\", value = 0.5"), "saxpy")),
              HasSubstr("value is 0.5"));
  EXPECT_THAT(MessageOf(BuffersAt(Loaded(with("kind = \"integers\", low = \"rows - 9\", high = 3")),
                                  {{"rows", 8}, {"width", 64}})),
              HasSubstr("the fill's 'rows - 9' = -1 at this shape; 0 to 16777216 is wanted"));
}

// The rounding of a sum grows with its terms, and what it may differ by with it.
TEST(Operation, TheAbsoluteToleranceMayDependOnTheShape) {
  PackageFiles files = SamplePackage();
  EXPECT_EQ(AbsoluteToleranceAt(Loaded(files), {{"rows", 8}, {"width", 64}}).value(), 1e-5);
  std::string& text = files["operation.toml"];
  text.replace(text.find("rtol  ="), 0, "atol_times = \"width / 16\"\n");
  const Operation operation = Loaded(files);
  EXPECT_EQ(AbsoluteToleranceAt(operation, {{"rows", 8}, {"width", 64}}).value(), 4e-5);
  EXPECT_THAT(
      MessageOf(AbsoluteToleranceAt(operation, {{"rows", 8}, {"width", 8}})),
      HasSubstr("operation.toml: atol_times 'width / 16' = 0 at this shape; 1 and more is wanted"));
  const Result<Operation> matmul = LoadOperation(kKernels + "/matmul");
  ASSERT_TRUE(matmul) << matmul.error().message;
  const auto at = [&](std::int64_t k) {
    return AbsoluteToleranceAt(*matmul, {{"m", 1}, {"n", 1}, {"k", k}}).value();
  };
  EXPECT_EQ(at(1024), 1e-4);
  EXPECT_DOUBLE_EQ(at(65536), 8e-4);
}

// A grid's y ends at 65535.
TEST(Operation, AWideBiasGeluHasAControlThatFits) {
  const Result<Operation> gelu = LoadOperation(kKernels + "/bias_gelu");
  ASSERT_TRUE(gelu) << gelu.error().message;
  const auto control = [&](std::int64_t width) {
    return (*CommittedAt(*gelu, *gelu->FindBackend("cuda"), {{"rows", 2}, {"width", width}}))
        ->kernel;
  };
  EXPECT_EQ(control(16776960), "bias_gelu_quads");
  EXPECT_EQ(control(16776964), "bias_gelu_guarded");
}

// Packages on a network share, or of a build system, are often made of links.
TEST(Operation, FilesMayBeLinks) {
  const std::string root = testing::TempDir() + "/pawl_operation_test_links";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root + "/saxpy/host");
  std::filesystem::create_directories(root + "/elsewhere");
  int number = 0;
  for (const auto& [name, bytes] : SamplePackage()) {
    const std::string file = root + "/elsewhere/" + std::to_string(number++);
    std::ofstream(file) << bytes;
    std::filesystem::create_symlink(file, root + "/saxpy/" + name);
  }
  std::filesystem::create_symlink("ring", root + "/saxpy/ring");
  const Result<Operation> linked = LoadOperation(root + "/saxpy");
  ASSERT_TRUE(linked) << linked.error().message;
  EXPECT_EQ(linked->files, Loaded(SamplePackage()).files);
  std::filesystem::remove(root + "/saxpy/reference.h");
  std::filesystem::create_symlink("reference.h", root + "/saxpy/reference.h");
  EXPECT_THAT(MessageOf(LoadOperation(root + "/saxpy")), HasSubstr("reference.h"));
  std::filesystem::remove_all(root);
}

TEST(Operation, FolderAndNameMustAgree) {
  const std::string root = testing::TempDir() + "/pawl_operation_test_name";
  std::filesystem::create_directories(root + "/other/host");
  for (const auto& [name, bytes] : SamplePackage()) std::ofstream(root + "/other/" + name) << bytes;
  EXPECT_THAT(MessageOf(LoadOperation(root + "/other")),
              HasSubstr("other/operation.toml: name is 'saxpy' in the folder 'other'"));
  std::filesystem::rename(root + "/other", root + "/saxpy");
  EXPECT_EQ(MessageOf(LoadOperation(root + "/saxpy")), "no error");
  EXPECT_EQ(MessageOf(LoadOperation(root + "/saxpy/")), "no error");
  std::filesystem::remove_all(root);
}

TEST(Operation, NeedsAReferenceOnceSomethingCanBeBuilt) {
  PackageFiles files = SamplePackage();
  files.erase("reference.h");
  EXPECT_EQ(LoadMessage(files),
            "saxpy/reference.h: no such file; host/chunk.toml has a source, and what is built is "
            "checked against the reference");
  Edit(files, "host/chunk.toml", "source = \"chunk.cc\"\n", "");
  EXPECT_EQ(LoadMessage(files), "no error");
}

TEST(Operation, ReferenceMustNameEveryOutput) {
  PackageFiles files = SamplePackage();
  Edit(files, "reference.h", "reference_Y", "reference_Z");
  EXPECT_THAT(LoadMessage(files), HasSubstr("saxpy/reference.h: no function reference_Y"));
}

TEST(Shape, TakesEveryLetterOnceInTheOperationsOrder) {
  const Operation operation = Loaded(SamplePackage());
  const Place place{"job.toml", 7};
  const Result<std::vector<Scalar>> shape =
      CheckShape(operation, {{"width", 64}, {"rows", 8}}, place);
  ASSERT_TRUE(shape);
  EXPECT_THAT(*shape, ElementsAre(Scalar{"rows", 8}, Scalar{"width", 64}));
  EXPECT_EQ(MessageOf(CheckShape(operation, {{"rows", 8}}, place)),
            "job.toml:7: shape letter 'width' is missing");
  EXPECT_EQ(MessageOf(CheckShape(operation, {{"rows", 8}, {"cols", 8}}, place)),
            "job.toml:7: saxpy has no shape letter 'cols'; its letters are rows, width");
  EXPECT_EQ(MessageOf(CheckShape(operation, {{"rows", 8}, {"rows", 8}}, place)),
            "job.toml:7: shape letter 'rows' is given twice");
  EXPECT_EQ(MessageOf(CheckShape(operation, {{"rows", 0}, {"width", 8}}, place)),
            "job.toml:7: shape letter 'rows' is 0; at least 1 is wanted");
}

TEST(Shape, GivesBuffersFlopsAndBytes) {
  const Operation operation = Loaded(SamplePackage());
  const std::vector<Scalar> shape = {{"rows", 8}, {"width", 64}};
  const Result<std::vector<Buffer>> buffers = BuffersAt(operation, shape);
  ASSERT_TRUE(buffers) << buffers.error().message;
  ASSERT_EQ(buffers->size(), 2u);
  EXPECT_EQ((*buffers)[1].name, "Y");
  EXPECT_THAT((*buffers)[1].extents, ElementsAre(8, 64));
  EXPECT_EQ((*buffers)[0].Elements(), 512);
  EXPECT_EQ(*FlopsAt(operation, shape), 512);
  EXPECT_EQ(*BytesAt(operation, shape), 4096);
}

TEST(Shape, RefusesBuffersThatCannotBe) {
  PackageFiles files = SamplePackage();
  Edit(files, "operation.toml", "extents = [\"rows\", \"width\"]",
       "extents = [\"rows - 8\", \"width\"]");
  const Operation operation = Loaded(files);
  EXPECT_THAT(MessageOf(BuffersAt(operation, {{"rows", 8}, {"width", 64}})),
              HasSubstr("saxpy/operation.toml: tensor X has the extent 'rows - 8' = 0"));
}

TEST(Shape, RefusesMoreElementsThanAnOrderMayHave) {
  const Operation operation = Loaded(SamplePackage());
  const auto at = [&](std::int64_t rows, std::int64_t width) {
    return MessageOf(BuffersAt(operation, {{"rows", rows}, {"width", width}}));
  };
  const std::int64_t half = std::int64_t{1} << 16;
  EXPECT_EQ(at(half, half), "no error");
  EXPECT_EQ(at(half, half + 1),
            "the tensors together have 8590065664 elements at this shape (34.4 GB), the largest is "
            "X; at most 8589934592 are taken");
  EXPECT_EQ(at(1'000'000, 1'000'000),
            "tensor X has 1000000000000 elements at this shape (4000.0 GB); at most 8589934592 are "
            "taken");
  EXPECT_THAT(at(std::int64_t{1} << 40, std::int64_t{1} << 40),
              HasSubstr("tensor X has 1208925819614629174706176 elements"));
}

TEST(Committed, IsTheFirstThatCoversTheShape) {
  PackageFiles files = SamplePackage();
  Edit(files, "host/committed.toml", "kernel = \"saxpy_committed\"\n\n[[rival]]",
       "kernel = \"saxpy_any\"\n\n[[rival]]");
  Operation operation = Loaded(files);
  const Backend& host = *operation.FindBackend("host");
  EXPECT_EQ((*CommittedAt(operation, host, {{"rows", 8}, {"width", 64}}))->kernel,
            "saxpy_committed");
  EXPECT_EQ((*CommittedAt(operation, host, {{"rows", 8}, {"width", 63}}))->kernel, "saxpy_any");

  Edit(files, "host/committed.toml", "[[committed]]\nsource", "[[committed]]\nwhen = '0'\nsource");
  operation = Loaded(files);
  EXPECT_EQ(
      MessageOf(
          CommittedAt(operation, *operation.FindBackend("host"), {{"rows", 8}, {"width", 63}})),
      "saxpy/host/committed.toml: no committed kernel covers the shape (rows = 8, width = 63); "
      "one without 'when' covers every shape");
  files.erase("host/committed.toml");
  operation = Loaded(files);
  EXPECT_THAT(MessageOf(CommittedAt(operation, *operation.FindBackend("host"),
                                    {{"rows", 8}, {"width", 63}})),
              HasSubstr("host/committed.toml: no committed kernel"));
}

TEST(Configurations, ReadFromADocumentAndACommandLine) {
  const Operation operation = Loaded(SamplePackage());
  const Structure& chunk = *operation.FindStructure("host", "chunk");
  const auto read = [&](const std::string& text) {
    const Result<std::shared_ptr<Table>> table = ParseToml(text, "job.toml");
    EXPECT_TRUE(table);
    const Result<Configuration> configuration = ReadConfiguration(**table, chunk);
    return configuration ? configuration->Text() : configuration.error().message;
  };
  EXPECT_EQ(read("threads = 2\nblock = [4, 32]\norder = 'columns'\nfused = true\nunroll = 2\n"),
            "unroll=2 fused=true order=columns block=4x32 threads=2");
  EXPECT_EQ(read("threads = 2\nunrol = 2\n"),
            "job.toml:2: unknown knob 'unrol'; nearest is 'unroll'");
  EXPECT_EQ(read("\nthreads = 2\n"), "job.toml: knob unroll has no value");
  EXPECT_EQ(read("unroll = 2\nfused = 1\n"), "job.toml:2: fused is 1; true or false is wanted");
  EXPECT_EQ(read("unroll = 2\nfused = true\norder = 'row'\n"),
            "job.toml:3: order is never 'row'; nearest is 'rows'; its words are rows, columns");

  const auto parse = [&](const std::string& text) {
    const Result<Configuration> configuration = ParseConfiguration(text, chunk, chunk.start);
    return configuration ? configuration->Text() : configuration.error().message;
  };
  EXPECT_EQ(parse(""), chunk.start.Text());
  EXPECT_EQ(parse(" block=4x32  fused=true"),
            "unroll=1 fused=true order=rows block=4x32 threads=1");
  EXPECT_EQ(parse("block=2x64"), "unroll=1 fused=false order=rows block=2x64 threads=1");
  EXPECT_EQ(parse("blok=4x32"), "unknown knob 'blok'; nearest is 'block'");
  EXPECT_EQ(parse("speed=4"),
            "unknown knob 'speed'; known are unroll, fused, order, block, threads");
  EXPECT_EQ(parse("block=4x32x2"), "block is 4x32x2; 2 parts are wanted, such as 8x8");
  EXPECT_EQ(parse("block=64"), "block is 64; a tuple such as 8x8 is wanted");
  EXPECT_EQ(parse("unroll=fast"), "unroll is fast; an integer is wanted");
  EXPECT_EQ(parse("order=4"), "order is 4; a word such as rows is wanted");
  EXPECT_EQ(parse("unroll"), "'unroll' sets nothing; knob=value is wanted, such as unroll=1");
  EXPECT_EQ(parse("unroll=1.5"), "unroll is '1.5'; true, 64, guarded or 64x64 is wanted");
  EXPECT_EQ(parse("unroll=1 unroll=2"), "knob unroll is given twice");
}

}  // namespace
}  // namespace pawl
