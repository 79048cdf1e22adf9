#include "coordinator/search/job_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "coordinator/search/binding.h"
#include "kernels/operation.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// The shipped packages, and "hosted", matmul with no structure for cuda.
Result<std::shared_ptr<const Operation>> Lookup(const std::string& name) {
  const bool hosted = name == "hosted";
  auto loaded =
      LoadOperation(test::SourceFolder() + "/kernels/" + (hosted ? "matmul" : name.c_str()));
  if (!loaded) return loaded.error();
  for (Backend& backend : loaded->backends) {
    if (hosted && backend.name == "cuda") backend.structures.clear();
  }
  return std::shared_ptr<const Operation>(std::make_shared<Operation>(*std::move(loaded)));
}

ProspectiveDevice Host(std::uint64_t memory_bytes = 0) {
  ProspectiveDevice device;
  device.facts.kind = device.facts.backend = "host";
  device.facts.model = "a host";
  device.facts.instruments = {Instrument::kCpuTime, Instrument::kWallTime};
  device.memory_bytes = memory_bytes;
  return device;
}

std::string Check(const std::string& text, const std::vector<ProspectiveDevice>& devices) {
  const auto job = ParseJob(text, "unit.toml");
  if (!job) return job.error().message;
  const auto reasons = CheckJob(*job, devices, Lookup);
  if (!reasons) return reasons.error().message;
  std::string joined;
  for (const std::string& reason : *reasons) joined += "cannot: " + reason + "\n";
  return joined;
}

std::string Matmul(const std::string& side, const std::string& rest = "") {
  return "operation = \"matmul\"\nshape = { m = " + side + ", n = " + side + ", k = " + side +
         " }\n" + rest;
}

TEST(JobCheck, TakesEveryShippedJobOnAMachineWithAGpu) {
  ProspectiveDevice gpu;
  gpu.facts.kind = gpu.facts.backend = "cuda";
  gpu.facts.model = "a GPU";
  gpu.facts.instruments = {Instrument::kEventSpan, Instrument::kGraphTime, Instrument::kKernelTime};
  std::size_t jobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::SourceFolder() + "/jobs")) {
    if (entry.path().extension() != ".toml") continue;
    SCOPED_TRACE(entry.path().filename());
    ++jobs;
    const auto job = ReadJob(entry.path());
    ASSERT_TRUE(job) << job.error().message;
    const auto reasons = CheckJob(*job, {Host(), gpu}, Lookup);
    ASSERT_TRUE(reasons) << reasons.error().message;
    EXPECT_THAT(*reasons, IsEmpty());
  }
  EXPECT_GE(jobs, 8U);
}

TEST(JobCheck, TakesAJobThatADeviceCanRun) {
  EXPECT_THAT(Check(Matmul("512"), {Host()}), IsEmpty());
  EXPECT_THAT(Check(Matmul("512"), {}), IsEmpty()) << "no device is known yet";
}

TEST(JobCheck, RefusesTensorsThatDoNotFitWithTheBytes) {
  // Three matrices of 4 MiB; four sets of two of them and the third in float64.
  EXPECT_THAT(Check(Matmul("1024"), {Host(76 << 20)}), IsEmpty());
  EXPECT_THAT(Check(Matmul("1024"), {Host((76 << 20) - 1)}),
              AllOf(StartsWith("unit.toml"), HasSubstr("79.7 MB"), HasSubstr("a host")));
  EXPECT_THAT(Check(Matmul("60000"), {Host()}),
              AllOf(StartsWith("unit.toml:2: "), HasSubstr("together have 10800000000 elements"),
                    HasSubstr("8589934592")));
  EXPECT_THAT(Check(Matmul("1000001"), {Host()}),
              AllOf(StartsWith("unit.toml:2: "), HasSubstr("tensor A has 1000002000001 elements")))
      << "before the start is found not to divide it";
  EXPECT_THAT(Check(Matmul("92688"), {Host()}),
              AllOf(StartsWith("unit.toml"), HasSubstr("tensor A has 8591065344 elements"),
                    HasSubstr("34.4 GB"), HasSubstr("8589934592")));
}

TEST(JobCheck, ABackendThatIsThereMustBeRightAndOneThatIsNotNeedNotBe) {
  const std::string job = Matmul("512", "[cuda]\nstructure = \"nothing\"\n");
  EXPECT_THAT(Check(job, {Host()}), IsEmpty());
  EXPECT_THAT(Check(job, {}), IsEmpty()) << "the host can run it";
  EXPECT_THAT(Check(job + "[host]\nstructure = \"nought\"\n", {}), HasSubstr("'nought'"));
  EXPECT_THAT(Check("backend = \"cuda\"\n" + job, {}), HasSubstr("'nothing'"));
}

TEST(JobCheck, ABackendWithoutAStructureIsNoneOfThose) {
  const std::string job = "operation = \"hosted\"\nshape = { m = 64, n = 64, k = 64 }\n";
  EXPECT_EQ(Check("backend = \"cuda\"\n" + job, {}),
            "unit.toml: operation matmul has no structure for backend cuda (it has some for host); "
            "name another backend");
  EXPECT_THAT(Check(job + "structure = \"blocked\"\n", {}), IsEmpty()) << "the host can run it";
  EXPECT_THAT(Check("backend = \"cuda\"\nstructure = \"tiled\"\n" + job, {}),
              HasSubstr("has no structure for backend cuda"));
  ProspectiveDevice gpu;
  gpu.facts.kind = gpu.facts.backend = "cuda";
  gpu.facts.model = "a GPU";
  EXPECT_THAT(Check(job, {gpu}), StartsWith("cannot: unit.toml: operation matmul has no structure "
                                            "for backend cuda (it has some for host)"));
}

ProspectiveDevice Gpu() {
  ProspectiveDevice device;
  device.facts.kind = device.facts.backend = "cuda";
  device.facts.model = "a GPU";
  device.facts.instruments = {Instrument::kEventSpan, Instrument::kGraphTime};
  return device;
}

// The spec of its only track there.
TrackSpec BoundOnGpu(const std::string& rest) {
  const auto job = ParseJob(Matmul("1024", rest), "unit.toml");
  CHECK(job, job.error().message);
  const auto bound = BindJob(*job, Gpu().facts, Lookup);
  CHECK(bound && bound->specs.size() == 1);
  return bound->specs.front();
}

TEST(JobCheck, SearchesAllStructuresOfABackendUnlessAJobSaysWhich) {
  for (const char* every : {"", "structure = \"any\"\n"}) {
    EXPECT_THAT(Check(Matmul("1024", every), {Gpu()}), IsEmpty());
    const TrackSpec spec = BoundOnGpu(every);
    EXPECT_EQ(spec.structure, "structured+tiled");
    EXPECT_THAT(spec.start.Text(), StartsWith("structure=structured structured.block=128x64 "));
  }
  const TrackSpec turned = BoundOnGpu("structures = [\"tiled\", \"structured\"]\n");
  EXPECT_EQ(turned.structure, "tiled+structured");
  EXPECT_THAT(turned.start.Text(), StartsWith("structure=tiled tiled.transpose_a="));
  const TrackSpec one = BoundOnGpu("structure = \"tiled\"\n");
  EXPECT_EQ(one.structure, "tiled");
  EXPECT_THAT(one.start.Text(), StartsWith("transpose_a="));
  const TrackSpec alone = BoundOnGpu("structures = [\"tiled\"]\n");
  EXPECT_EQ(alone, one);
}

TEST(JobCheck, TakesTheStartOfTheStructureThatItNames) {
  const TrackSpec spec = BoundOnGpu(
      "structure = \"any\"\nstart = { \"tiled.k_step\" = 32, tiled.block = \"32x32\", "
      "structure = \"tiled\" }\n");
  EXPECT_THAT(spec.start.Text(), StartsWith("structure=tiled tiled.transpose_a=true "));
  EXPECT_THAT(spec.start.Text(), HasSubstr("tiled.k_step=32 tiled.block=32x32"));
  const auto fault = [](const std::string& start) {
    return Check(Matmul("1024", "structure = \"any\"\nstart = { " + start + " }\n"), {Gpu()});
  };
  EXPECT_EQ(fault("tiled.k_step = 32"),
            "unit.toml:4: knob 'tiled.k_step' in start is inactive where structure is "
            "'structured'; set structure = \"tiled\" there too");
  EXPECT_EQ(fault("structured.splitt = 2"),
            "unit.toml:4: unknown knob 'structured.splitt' in start of cuda/structured+tiled; "
            "nearest is 'structured.split'");
  EXPECT_EQ(fault("raster = 2"),
            "unit.toml:4: unknown knob 'raster' in start of "
            "cuda/structured+tiled; nearest is 'structured.raster'");
  EXPECT_THAT(fault("structure = \"tilled\""),
              HasSubstr("knob 'structure' in start is 'tilled', which is none of its values in "
                        "cuda/structured+tiled (structured, tiled)"));
  EXPECT_THAT(Check(Matmul("1024", "structures = [\"tiled\", \"strucured\"]\n"), {Gpu()}),
              HasSubstr("/matmul/cuda: no structure 'strucured'; nearest is 'structured' (have: "
                        "structured, tiled)"));
}

TEST(JobCheck, BindsATrackToTheFilesThatItsBackendCompiles) {
  auto matmul = LoadOperation(test::SourceFolder() + "/kernels/matmul");
  ASSERT_TRUE(matmul) << matmul.error().message;
  const std::map<std::string, Digest> host = BoundFiles(*matmul, "host");
  const std::map<std::string, Digest> cuda = BoundFiles(*matmul, "cuda");
  EXPECT_TRUE(host.contains("operation.toml") && cuda.contains("operation.toml"));
  EXPECT_TRUE(host.contains("host/blocked.cc"));
  EXPECT_FALSE(host.contains("pawl_device.h")) << "which only cuda files include";
  EXPECT_TRUE(cuda.contains("pawl_device.h"));
  EXPECT_FALSE(cuda.contains("host/blocked.cc"));
}

TEST(JobCheck, SaysWhyNoDeviceCanRunIt) {
  EXPECT_THAT(Check("backend = \"cuda\"\n" + Matmul("1024"), {Host()}),
              AllOf(StartsWith("cannot: "), HasSubstr("a host"), HasSubstr("cuda")));
}

TEST(JobCheck, SaysWhoDoesNotPinTheClocksThatAJobWantsPinned) {
  const std::string job = "clocks = \"require-pinned\"\n" + Matmul("512");
  EXPECT_THAT(
      Check(job, {Host()}),
      AllOf(StartsWith("cannot: unit.toml: track 'matmul 512x512x512 f32' wants pinned clocks"),
            HasSubstr("which a host device does not have")));
  ProspectiveDevice gpu;
  gpu.facts.kind = gpu.facts.backend = "cuda";
  gpu.facts.model = "a GPU";
  gpu.facts.instruments = {Instrument::kEventSpan, Instrument::kGraphTime};
  EXPECT_THAT(Check(job + "structure = \"tiled\"\n", {gpu}),
              HasSubstr("this worker observes them; start it with --clocks pin"));
  gpu.facts.pinned_mhz = 1500;
  EXPECT_THAT(Check(job + "structure = \"tiled\"\n", {gpu}), IsEmpty());
  EXPECT_THAT(Check(job, {}), IsEmpty()) << "no device is known yet";
}

TEST(JobCheck, AReplayIsFoundByItsFileAndNeedsABackend) {
  const std::string replay = "devices = [\"replay:data/rows.csv.gz?seed=1\"]\n" + Matmul("1024");
  const auto device = ProspectiveReplay("other/rows.csv.gz?seed=1");
  EXPECT_THAT(Check("backend = \"cuda\"\nstructure = \"tiled\"\n" + replay, {device}), IsEmpty());
  EXPECT_THAT(Check(replay, {device}), HasSubstr("leaves the backend to the device"));
}

TrackSpec BoundTo(const std::string& rest) {
  const auto job = ParseJob(Matmul("512", rest), "unit.toml");
  CHECK(job, job.error().message);
  const auto bound = BindJob(*job, Host().facts, Lookup);
  CHECK(bound && bound->specs.size() == 1);
  return bound->specs.front();
}

TEST(Resume, GoesOnWithAnotherBudgetAndNamesAnythingElseThatIsNotAsItWas) {
  const TrackSpec opened = BoundTo("");
  EXPECT_EQ(WhyNotResume(opened, BoundTo("[budget]\ngenerations = 3\n")), std::nullopt);
  const std::string then = "when the track was opened and is ";
  EXPECT_EQ(WhyNotResume(opened, BoundTo("confirm = false\n")),
            "confirm was 'true' " + then + "'false' now");
  EXPECT_EQ(WhyNotResume(opened, BoundTo("[deadlines]\nrun_ms = 5000\n")),
            "build_ms, check_ms and run_ms was '120000, 60000 and 60000' " + then +
                "'120000, 60000 and 5000' now");
  EXPECT_EQ(WhyNotResume(opened, BoundTo("seed = 7\n")), "the seed was '0' " + then + "'7' now");
  TrackSpec other = opened;
  other.dtype = DType::kF64;
  EXPECT_EQ(WhyNotResume(opened, other), "the dtype was 'f32' " + then + "'f64' now");
}

TEST(Resume, NamesAnotherListOfStructuresOrAnotherOrderOfIt) {
  const auto of = [](const std::string& names) {
    return BoundOnGpu("structures = [" + names + "]\n");
  };
  const TrackSpec opened = of("\"tiled\", \"structured\"");
  EXPECT_EQ(WhyNotResume(opened, opened), std::nullopt);
  const std::string was = "the structure was 'tiled+structured' when the track was opened and is ";
  EXPECT_EQ(WhyNotResume(opened, of("\"structured\", \"tiled\"")), was + "'structured+tiled' now");
  EXPECT_EQ(WhyNotResume(opened, of("\"tiled\"")), was + "'tiled' now");
}

TEST(Fork, StartsFromTheIncumbentInTheWordsOfItsStructures) {
  const auto matmul = *Lookup("matmul");
  const Backend& cuda = *matmul->FindBackend("cuda");
  const TrackSpec tiled = BoundOnGpu("structure = \"tiled\"\n");
  const TrackSpec structured = BoundOnGpu("structure = \"structured\"\n");
  const TrackSpec both = BoundOnGpu("structure = \"any\"\n");
  TrackState old;
  old.spec = tiled;
  old.incumbent = tiled.start;
  old.incumbent.Set("k_step", std::int64_t{32});
  const Configuration own = old.incumbent;
  const Configuration qualified = StartOfFork(old, both, cuda);
  EXPECT_THAT(qualified.Text(), StartsWith("structure=tiled tiled.transpose_a=true"));
  EXPECT_THAT(qualified.Text(), HasSubstr("tiled.k_step=32"));
  EXPECT_EQ(StartOfFork(old, tiled, cuda), own);
  EXPECT_EQ(StartOfFork(old, structured, cuda), structured.start) << "it has other knobs";
  old.spec = both;
  old.incumbent = qualified;
  EXPECT_EQ(StartOfFork(old, both, cuda), qualified) << "though the job starts in another";
  EXPECT_EQ(StartOfFork(old, tiled, cuda), own);
  EXPECT_EQ(StartOfFork(old, structured, cuda), structured.start);
  Backend without = cuda;
  std::erase_if(without.structures, [](const Structure& one) { return one.name == "structured"; });
  EXPECT_EQ(StartOfFork(old, tiled, without), own) << "though the other one is gone";
  old.incumbent.settings.back().knob = "tiled.renamed";
  EXPECT_EQ(StartOfFork(old, both, cuda), both.start) << "as many knobs, and others";
  old.incumbent.settings.pop_back();
  EXPECT_EQ(StartOfFork(old, both, cuda), both.start) << "the package has other knobs now";
}

}  // namespace
}  // namespace pawl
