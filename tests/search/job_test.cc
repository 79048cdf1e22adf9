#include "coordinator/search/job.h"
#include "tests/support/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace pawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kLeast[] = "operation = \"matmul\"\nshape = { m = 64, n = 32, k = 16 }\n";

// A start value, wherever it was said.
testing::Matcher<const StartValue&> Starts(const std::string& knob, KnobValue value) {
  return testing::AllOf(testing::Field(&StartValue::knob, knob),
                        testing::Field(&StartValue::value, std::move(value)));
}

Result<Job> Parse(const std::string& text) { return ParseJob(text, "jobs/unit.toml"); }

Job Read(const std::string& text) {
  auto job = Parse(text);
  if (!job) ADD_FAILURE() << job.error().message;
  return job ? *std::move(job) : Job{};
}

const TrackRequest& Only(const Job& job) { return job.tracks.at(0).base; }

std::string Fault(const std::string& text) {
  const auto job = Parse(text);
  return job ? "no fault" : job.error().message;
}

TEST(Job, NeedsOnlyAnOperationAndAShape) {
  const Job job = Read(kLeast);
  EXPECT_EQ(job.name, "unit");
  EXPECT_EQ(job.text, kLeast);
  ASSERT_EQ(job.tracks.size(), 1u);
  const TrackRequest& track = Only(job);
  EXPECT_EQ(track.label, "matmul 64x32x16 f32");
  EXPECT_EQ(track.operation, "matmul");
  EXPECT_EQ(track.shape, (std::vector<Scalar>{{"m", 64}, {"n", 32}, {"k", 16}}));
  EXPECT_EQ(track.backend, "best");
  EXPECT_EQ(track.structure, "");
  EXPECT_THAT(track.devices, ElementsAre("any"));
  EXPECT_FALSE(track.instrument.has_value());
  EXPECT_EQ(track.policy, "field_note");
  EXPECT_EQ(track.proposer, "coordinate");
  EXPECT_EQ(track.budget, Budget{});
  EXPECT_EQ(track.in_flight, 1u);
  EXPECT_TRUE(track.confirm);
  EXPECT_FALSE(track.require_pinned);
  EXPECT_FALSE(track.deadlines.has_value());
}

TEST(Job, TakesEveryKey) {
  const Job job = Read(R"toml(
name = "night"
operation = "matmul"
shape = { m = 64, n = 32, k = 16 }
dtype = "f64"
backend = "host"
structure = "blocked"
devices = ["host", "AMD EPYC (2 cores)"]
instrument = "cpu_time"
warmup = 0
iterations = 7
in_flight = 4
seed = 9
clocks = "require-pinned"
confirm = false
label = "small"
[policy]
name = "field_note"
min_gain = 0.02
void_is_refusal = true
[proposer]
name = "random"
[budget]
generations = 5
minutes = 1.5
stale = 3
[start]
block = "64x32"
tile = [4, 8]
packed = true
step = 16
order = "ikj"
[deadlines]
build_ms = 1000
)toml");
  EXPECT_EQ(job.name, "night");
  const TrackRequest& track = Only(job);
  EXPECT_EQ(track.label, "small");
  EXPECT_EQ(track.dtype, DType::kF64);
  EXPECT_EQ(track.backend, "host");
  EXPECT_EQ(track.structure, "blocked");
  EXPECT_THAT(track.devices, ElementsAre("host", "AMD EPYC (2 cores)"));
  EXPECT_EQ(track.instrument, Instrument::kCpuTime);
  EXPECT_EQ(track.warmup, 0u);
  EXPECT_EQ(track.iterations, 7u);
  EXPECT_EQ(track.in_flight, 4u);
  EXPECT_EQ(track.seed, 9u);
  EXPECT_FALSE(track.confirm);
  EXPECT_TRUE(track.require_pinned);
  EXPECT_EQ(track.policy_parameters, (Parameters{{"min_gain", 0.02}, {"void_is_refusal", 1.0}}));
  EXPECT_EQ(track.proposer, "random");
  EXPECT_EQ(track.budget, (Budget{5, 1.5, 3}));
  EXPECT_THAT(
      track.start,
      ElementsAre(Starts("block", KnobValue(Tuple{64, 32})), Starts("tile", KnobValue(Tuple{4, 8})),
                  Starts("packed", KnobValue(true)), Starts("step", KnobValue(std::int64_t{16})),
                  Starts("order", KnobValue(std::string("ikj")))));
  EXPECT_EQ(track.deadlines.value().build_ms, 1000u);
  EXPECT_EQ(track.deadlines.value().run_ms, Deadlines{}.run_ms);
}

TEST(Job, NamesSeveralStructuresAndTheirKnobs) {
  EXPECT_EQ(Only(Read(std::string(kLeast) + "structure = \"any\"\n")).structure, "any");
  EXPECT_EQ(Only(Read(std::string(kLeast) + "structures = [\"tiled\"]\n")).structure, "tiled");
  const Job job = Read(std::string(kLeast) + R"toml(
structures = ["tiled", "structured"]
[start]
structure = "structured"
structured = { block = [64, 64], split = 2 }
"tiled.k_step" = 32
[[track]]
[[track]]
label = "one"
structure = "tiled"
)toml");
  const TrackRequest& both = job.tracks[0].base;
  EXPECT_EQ(both.structure, "tiled+structured");
  EXPECT_THAT(both.start, ElementsAre(Starts("structure", KnobValue(std::string("structured"))),
                                      Starts("structured.block", KnobValue(Tuple{64, 64})),
                                      Starts("structured.split", KnobValue(std::int64_t{2})),
                                      Starts("tiled.k_step", KnobValue(std::int64_t{32}))));
  EXPECT_EQ(job.tracks[1].base.structure, "tiled");
  const auto fault = [](const std::string& rest) { return Fault(std::string(kLeast) + rest); };
  EXPECT_EQ(fault("structure = \"tiled\"\nstructures = [\"tiled\"]\n"),
            "jobs/unit.toml:4: structures is given beside structure; one of them is wanted");
  EXPECT_EQ(fault("structures = []\n"),
            "jobs/unit.toml:3: structures is empty; structure = \"any\" means all there are");
  EXPECT_THAT(fault("structures = [\"a+b\"]\n"), HasSubstr("structures holds 'a+b'"));
  EXPECT_EQ(fault("[start]\n\"tiled.k_step\" = 1\ntiled.k_step = 2\n"),
            "jobs/unit.toml:5: knob 'tiled.k_step' is given twice");
}

TEST(Job, TracksSayWhatIsDifferent) {
  const Job job = Read(std::string(kLeast) + R"toml(
[policy]
min_gain = 0.02
rounds = 5
[budget]
generations = 5
stale = 3
[start]
step = 16
packed = true
[[track]]
[[track]]
shape = { m = 8, n = 8, k = 8 }
iterations = 9
[track.policy]
rounds = 7
[track.budget]
stale = 0
minutes = 2
[track.start]
step = 32
)toml");
  ASSERT_EQ(job.tracks.size(), 2u);
  EXPECT_EQ(job.tracks[0].base.label, "matmul 64x32x16 f32");
  const TrackRequest& second = job.tracks[1].base;
  EXPECT_EQ(second.label, "matmul 8x8x8 f32");
  EXPECT_EQ(second.policy_parameters, (Parameters{{"min_gain", 0.02}, {"rounds", 7.0}}));
  EXPECT_EQ(second.budget, (Budget{5, 2, 0}));
  EXPECT_THAT(second.start,
              testing::UnorderedElementsAre(Starts("step", KnobValue(std::int64_t{32})),
                                            Starts("packed", KnobValue(true))));
  EXPECT_EQ(second.iterations, 9u);
  EXPECT_FALSE(job.tracks[0].base.iterations.has_value());
  EXPECT_EQ(second.place, "jobs/unit.toml:14");
}

TEST(Job, AnotherOperationOrRuleDropsWhatBelongedToTheOneBefore) {
  const Job job = Read(std::string(kLeast) + R"toml(
structure = "blocked"
[proposer]
freeze = 3
[start]
step = 16
[[track]]
[[track]]
operation = "layer_norm"
shape = { rows = 8, width = 8 }
[track.proposer]
name = "random"
)toml");
  EXPECT_EQ(job.tracks[0].base.proposer_parameters, (Parameters{{"freeze", 3.0}}));
  const TrackRequest& second = job.tracks[1].base;
  EXPECT_EQ(second.structure, "");
  EXPECT_THAT(second.start, IsEmpty());
  EXPECT_EQ(second.proposer_parameters, Parameters{});
  EXPECT_EQ(Fault(std::string(kLeast) + "[[track]]\noperation = \"layer_norm\"\n"),
            "jobs/unit.toml:3: no shape; give every shape letter of layer_norm a value, as in "
            "shape = { m = "
            "1024, n = 1024, k = 1024 }");
}

TEST(Job, HasOneTo256CandidatesOfATrackInFlight) {
  EXPECT_EQ(Fault(std::string(kLeast) + "in_flight = 256\n"), "no fault");
  for (const char* number : {"0", "257"}) {
    EXPECT_THAT(Fault(std::string(kLeast) + "in_flight = " + number + "\n"),
                testing::HasSubstr("in_flight"));
  }
}

TEST(Job, BackendTablesAreLaidOverTheRest) {
  const Job job = Read(std::string(kLeast) + R"toml(
iterations = 1
warmup = 1
seed = 1
[host]
iterations = 2
warmup = 2
in_flight = 3
[host.policy]
noise_factor = 3
rounds = 12
[[track]]
iterations = 3
[track.host]
warmup = 4
[track.cuda]
structure = "tiled"
)toml");
  const Job::Entry& entry = job.tracks.at(0);
  EXPECT_EQ(entry.base.iterations, 3u);
  EXPECT_EQ(entry.base.warmup, 1u);
  EXPECT_EQ(entry.base.policy_parameters, Parameters{});
  const TrackRequest& host = entry.by_backend.at("host");
  EXPECT_EQ(host.iterations, 2u);
  EXPECT_EQ(host.warmup, 4u);
  EXPECT_EQ(host.in_flight, 3u);
  EXPECT_EQ(entry.base.in_flight, 1u);
  EXPECT_EQ(host.seed, 1u);
  EXPECT_EQ(host.policy_parameters, (Parameters{{"noise_factor", 3.0}, {"rounds", 12.0}}));
  EXPECT_EQ(host.label, entry.base.label);
  EXPECT_EQ(entry.by_backend.at("cuda").structure, "tiled");
  EXPECT_EQ(entry.by_backend.at("cuda").iterations, 3u);
}

TEST(Job, BackendsMaySayAllThatTheBaseLeavesOut) {
  const std::string host = "operation = \"matmul\"\n[host]\nshape = { m = 8, n = 8, k = 8 }\n";
  EXPECT_THAT(Fault(host), HasSubstr("no shape")) << "on cuda";
  const Job job = Read(host + "[cuda]\nshape = { m = 9, n = 9, k = 9 }\n");
  EXPECT_EQ(job.tracks[0].by_backend.at("cuda").label, "matmul 9x9x9 f32");
  EXPECT_EQ(Only(Read("backend = \"host\"\n" + host)).shape[0].value, 8);
}

TEST(Job, ReplayFilesAreRelativeToTheJobFile) {
  const Job job = Read(std::string(kLeast) +
                       "devices = [\"replay:data/a.json\", \"replay:../b.csv.gz?jitter=0.01\", "
                       "\"replay:/abs/c.json\", \"any\", \"host\"]\n");
  EXPECT_THAT(job.Devices(), ElementsAre("replay:jobs/data/a.json", "replay:b.csv.gz?jitter=0.01",
                                         "replay:/abs/c.json", "host"));
  const auto beside =
      ParseJob(std::string(kLeast) + "devices = [\"replay:a.json\"]\n", "unit.toml");
  EXPECT_THAT(beside->Devices(), ElementsAre("replay:a.json"));
}

TEST(Job, ListsEachDeviceOnce) {
  const Job job = Read(std::string(kLeast) + R"toml(
[[track]]
label = "one"
devices = ["host", "cuda"]
[[track]]
label = "two"
devices = ["cuda", "any", "host"]
)toml");
  EXPECT_THAT(job.Devices(), ElementsAre("host", "cuda"));
}

TEST(Job, RefusesUnknownKeysWithTheNearest) {
  EXPECT_EQ(Fault(std::string(kLeast) + "iteratons = 3\n"),
            "jobs/unit.toml:3: unknown key 'iteratons'; nearest is 'iterations'");
  EXPECT_EQ(Fault(std::string(kLeast) + "[budget]\ngenrations = 3\n"),
            "jobs/unit.toml:4: unknown key 'genrations'; nearest is 'generations'");
  EXPECT_EQ(Fault(std::string(kLeast) + "[[track]]\n[track.host]\nwarmpu = 3\n"),
            "jobs/unit.toml:5: unknown key 'warmpu'; nearest is 'warmup'");
  EXPECT_THAT(Fault(std::string(kLeast) + "[host]\ndevices = [\"host\"]\n"),
              HasSubstr("unknown key 'devices'"));
  EXPECT_THAT(Fault(std::string(kLeast) + "[[track]]\nname = \"x\"\n"),
              HasSubstr("unknown key 'name'"));
}

TEST(Job, RefusesUnknownParametersWhereTheyStand) {
  EXPECT_EQ(
      Fault(std::string(kLeast) + "[policy]\nrounds = 3\nmin_gian = 0.01\n"),
      "jobs/unit.toml:5: unknown parameter of policy field_note 'min_gian'; nearest is 'min_gain'");
  EXPECT_EQ(
      Fault(std::string(kLeast) + "[policy]\nmin_gain = 0.01\nrounds = 2.5\n"),
      "jobs/unit.toml:5: policy field_note: rounds is 2.5; wanted a whole number from 1 to 120");
  EXPECT_EQ(Fault(std::string(kLeast) + "[proposer]\nname = \"coordinat\"\n"),
            "jobs/unit.toml:4: unknown proposer 'coordinat'; nearest is 'coordinate'");
  EXPECT_EQ(
      Fault(std::string(kLeast) + "[[track]]\n[track.proposer]\nfreeze = 0\n"),
      "jobs/unit.toml:5: proposer coordinate: freeze is 0; wanted a whole number from 1 to 1000");
  EXPECT_THAT(Fault(std::string(kLeast) + "[policy]\nmin_gain = [1]\n"),
              HasSubstr("jobs/unit.toml:4: min_gain is a list"));
  EXPECT_THAT(Fault(std::string(kLeast) + "[host.policy]\nnoise_factor = 3.4\n"),
              HasSubstr("needs at least 12 rounds"));
}

TEST(Job, RefusesWhatIsOutOfRange) {
  for (const char* line : {"iterations = 0",
                           "warmup = -1",
                           "seed = -1",
                           "dtype = \"f16\"",
                           "instrument = \"clock\"",
                           "backend = \"gpu\"",
                           "devices = []",
                           "devices = [\"\"]",
                           "devices = [\"replay:\"]",
                           "label = \"\"",
                           "label = \"a\\nb\"",
                           "operation = \"../x\"",
                           "name = \"a/b\"",
                           "name = \"\"",
                           "structure = \"a b\"",
                           "confirm = 1",
                           "budget = 3",
                           "track = 3",
                           "policy = \"field_note\"",
                           "start = { a = [] }",
                           "start = { a = 1.5 }"}) {
    std::string text = line;
    text += "\n";
    // TOML has no second definition of a key.
    text += text.starts_with("operation") ? "shape = { m = 1 }\n" : kLeast;
    EXPECT_THAT(Fault(text), testing::StartsWith("jobs/unit.toml:1: ")) << line;
  }
  EXPECT_THAT(Fault("operation = \"matmul\"\nshape = { m = 0 }\n"),
              HasSubstr("jobs/unit.toml:2: m is 0"));
  EXPECT_THAT(Fault(std::string(kLeast) + "[budget]\nminutes = -1\n"),
              HasSubstr("jobs/unit.toml:4: minutes is -1"));
}

TEST(Job, SaysWhatAChoiceMayBe) {
  EXPECT_EQ(Fault("instrument = \"wal_time\"\n" + std::string(kLeast)),
            "jobs/unit.toml:1: unknown instrument 'wal_time'; nearest is 'wall_time'");
  EXPECT_EQ(Fault("backend = \"vulkan\"\n" + std::string(kLeast)),
            "jobs/unit.toml:1: unknown backend 'vulkan'; known are best, host, cuda");
}

TEST(Job, MayDemandPinnedClocksOfAGpuAlone) {
  const Job job = Read(std::string(kLeast) + "[cuda]\nclocks = \"require-pinned\"\n" +
                       "[[track]]\nlabel = \"any\"\n" +
                       "[[track]]\nlabel = \"observed\"\n[track.cuda]\nclocks = \"observe\"\n");
  ASSERT_EQ(job.tracks.size(), 2u);
  EXPECT_FALSE(job.tracks[0].base.require_pinned);
  EXPECT_TRUE(job.tracks[0].by_backend.at("cuda").require_pinned);
  EXPECT_FALSE(job.tracks[1].by_backend.at("cuda").require_pinned);
  EXPECT_EQ(Fault("clocks = \"pin\"\n" + std::string(kLeast)),
            "jobs/unit.toml:1: unknown clocks 'pin'; known are observe, require-pinned");
}

TEST(Job, RefusesASearchThatNeverEnds) {
  EXPECT_EQ(Fault(std::string(kLeast) + "[proposer]\nname = \"same\"\n"),
            "jobs/unit.toml: proposer 'same' never ends by itself; give [budget] generations, "
            "minutes or stale");
  EXPECT_EQ(
      Fault(std::string(kLeast) + "[proposer]\nname = \"same\"\n[budget]\ngenerations = 200\n"),
      "no fault");
}

TEST(Job, RefusesTwoTracksOfOneName) {
  EXPECT_EQ(Fault(std::string(kLeast) + "[[track]]\n[[track]]\nseed = 2\n"),
            "jobs/unit.toml:4: label 'matmul 64x32x16 f32' is also that of the track at "
            "jobs/unit.toml:3; give "
            "one of them another label");
  EXPECT_EQ(Fault(std::string(kLeast) + "[[track]]\n[[track]]\nlabel = \"again\"\nseed = 2\n"),
            "no fault");
  const std::string two =
      std::string(kLeast) +
      "[[track]]\n[[track]]\nshape = { m = 1, n = 1, k = 1 }\n[track.host]\nshape = { m = "
      "64, n = 32, k = 16 }\n";
  EXPECT_THAT(Fault(two), HasSubstr("is also that of the track")) << "on the host they are one";
}

TEST(Job, NamesWhatIsMissing) {
  EXPECT_EQ(Fault(""),
            "jobs/unit.toml: no operation; say operation = \"matmul\" or another package's name");
  EXPECT_THAT(Fault("operation = \"matmul\"\n"), HasSubstr("no shape"));
}

TEST(Job, SaysWhereTomlIsBroken) {
  EXPECT_THAT(Fault("operation = \n"), HasSubstr("jobs/unit.toml:1: "));
}

TEST(Job, IsReadFromItsFile) {
  const std::filesystem::path folder = testing::TempDir();
  const std::string path = (folder / "small-job.toml").string();
  std::ofstream(path) << kLeast;
  const auto job = ReadJob(path);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->name, "small-job");
  EXPECT_EQ(job->file, path);
  EXPECT_EQ(ReadJob("/nowhere/x.toml").error().message, "/nowhere/x.toml: no such file");
}

// What the format's page shows works.
TEST(JobPage, ItsExampleIsAJob) {
  std::ifstream file(test::SourceFolder() + "/docs/jobs.md");
  ASSERT_TRUE(file);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const std::string opening = "```toml\n";
  const std::size_t start = page.find(opening);
  ASSERT_NE(start, std::string::npos);
  const std::size_t begin = start + opening.size();
  const Job job = Read(page.substr(begin, page.find("```", begin) - begin));
  ASSERT_EQ(job.tracks.size(), 2u);
  EXPECT_EQ(job.tracks[1].base.budget, (Budget{100, 0, 0}));
  EXPECT_EQ(job.tracks[0].by_backend.at("host").policy_parameters.at("max_batches"),
            (Parameters::mapped_type(5.0)));
}

TEST(ShippedJobs, EachIsReadable) {
  int read = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(test::SourceFolder() + "/jobs")) {
    if (entry.path().extension() != ".toml") continue;
    const auto job = ReadJob(entry.path().string());
    EXPECT_TRUE(job) << job.error().message;
    ++read;
  }
  EXPECT_GE(read, 6);
}

}  // namespace
}  // namespace pawl
