// Which of a machine's devices a job is for.

#include "coordinator/commands/pick_devices.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "coordinator/search/binding.h"
#include "tests/support/places.h"
#include "tests/support/process.h"

namespace pawl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

ListedDevice Device(const std::string& kind, const std::string& name,
                    std::uint64_t memory_bytes = 0) {
  ListedDevice device;
  device.name = name;
  device.kind = device.facts.kind = kind;
  device.backend = device.facts.backend = kind;
  device.model = device.facts.model = "a " + kind + " device";
  if (kind == "cuda") device.facts.uuid = "GPU-" + name;
  device.facts.instruments = {Instrument::kWallTime, Instrument::kEventSpan};
  device.memory_bytes = memory_bytes;
  return device;
}

const ListedDevice kHost = Device("host", "host", 3 << 20);
const ListedDevice kGpu = Device("cuda", "cuda:0");

Job Parsed(const std::string& tracks) {
  auto job = ParseJob(
      "operation = \"matmul\"\nshape = { m = 64, n = 64, k = 64 }\n[host]\nstructure = "
      "\"blocked\"\n[cuda]\nstructure = \"tiled\"\n" +
          tracks,
      "unit.toml");
  CHECK(job, job.error().message);
  return *std::move(job);
}

std::string Track(const std::string& label, const std::string& more = "") {
  return "[[track]]\nlabel = \"" + label + "\"\n" + more;
}

// The shipped packages, "hosted" (matmul without its cuda kernels) and "noted" (without a source
// for them).
Result<std::shared_ptr<const Operation>> Lookup(const std::string& name) {
  const bool altered = name == "hosted" || name == "noted";
  auto loaded =
      LoadOperation(test::SourceFolder() + "/kernels/" + (altered ? "matmul" : name.c_str()));
  if (!loaded) return loaded.error();
  for (Backend& backend : loaded->backends) {
    if (backend.name != "cuda") continue;
    if (name == "hosted") backend.structures.clear();
    if (name == "noted") {
      for (Structure& structure : backend.structures) structure.source.clear();
    }
  }
  return std::shared_ptr<const Operation>(std::make_shared<Operation>(*std::move(loaded)));
}

// The tracks that a worker for this device would search.
std::vector<std::string> SearchedOn(const ListedDevice& device, const Job& job) {
  const auto bound = BindJob(job, device.facts, Lookup);
  CHECK(bound, bound.error().message);
  std::vector<std::string> labels;
  for (const TrackSpec& spec : bound->specs) labels.push_back(spec.label);
  return labels;
}

std::vector<std::string> Taken(const std::vector<ListedDevice>& listed, Job& job) {
  PickedDevices picked;
  const Status taken = TakeListed(listed, Lookup, job, picked);
  if (!taken) return {taken.error().message};
  return picked.names;
}

TEST(PickDevices, TheBestIsAGpuBeforeTheHost) {
  Job job = Parsed(Track("a"));
  EXPECT_THAT(Taken({kHost, kGpu}, job), ElementsAre("cuda:0"));
  job = Parsed(Track("a"));
  EXPECT_THAT(Taken({kHost}, job), ElementsAre("host"));
  ListedDevice broken = kGpu;
  broken.problem = "no driver";
  job = Parsed(Track("a", "backend = \"cuda\"\n"));
  EXPECT_THAT(Taken({kHost, broken}, job), ElementsAre(HasSubstr("cuda:0: no driver")));
}

TEST(PickDevices, ATrackThatHasItsBestIsNotSearchedOnWhatAnotherBrings) {
  Job job = Parsed(Track("a") + Track("b", "backend = \"host\"\n"));
  EXPECT_THAT(Taken({kHost, kGpu}, job), ElementsAre("cuda:0", "host"));
  EXPECT_THAT(SearchedOn(kGpu, job), ElementsAre("a"));
  EXPECT_THAT(SearchedOn(kHost, job), ElementsAre("b"));
}

TEST(PickDevices, TheBestIsOneThatTheOperationHasKernelsFor) {
  for (const char* name : {"hosted", "noted"}) {
    const std::string operation = "operation = \"" + std::string(name) +
                                  "\"\nshape = { m = 64, n = 64, k = 64 }\n"
                                  "structure = \"blocked\"\n";
    Job job = Parsed(Track("a", operation));
    EXPECT_THAT(Taken({kHost, kGpu}, job), ElementsAre("host")) << name;
    EXPECT_THAT(SearchedOn(kHost, job), ElementsAre("a")) << name;
    job = Parsed(Track("a", operation) + Track("b"));
    EXPECT_THAT(Taken({kHost, kGpu}, job), ElementsAre("cuda:0", "host")) << name;
    EXPECT_THAT(SearchedOn(kGpu, job), ElementsAre("b")) << name;
    EXPECT_THAT(SearchedOn(kHost, job), ElementsAre("a")) << name;
    job = Parsed(Track("a", operation));
    EXPECT_THAT(Taken({kGpu}, job),
                ElementsAre(AllOf(HasSubstr("no device of this machine"),
                                  HasSubstr("of track 'a' has kernels for host alone"))))
        << name;
  }
  Job job = Parsed(Track("a", "operation = \"absent\"\nshape = { m = 64 }\n"));
  EXPECT_THAT(Taken({kHost, kGpu}, job), ElementsAre("cuda:0")) << "which is said with its place";
}

TEST(PickDevices, TheBestOfTheDevicesThatATrackNamesIsItsBest) {
  Job job = Parsed(Track("a") + Track("b", "devices = [\"host\"]\n"));
  EXPECT_THAT(Taken({kHost, kGpu}, job), ElementsAre("cuda:0", "host"));
  EXPECT_THAT(SearchedOn(kGpu, job), ElementsAre("a"));
  EXPECT_THAT(SearchedOn(kHost, job), ElementsAre("b"));
}

TEST(PickDevices, WhatAWorkerMayTakeOfTheMemoryIsWhatItSays) {
  Job job = Parsed(Track("a"));
  PickedDevices picked;
  ASSERT_TRUE(TakeListed({kHost}, Lookup, job, picked));
  EXPECT_EQ(picked.devices.at(0).memory_bytes, std::uint64_t{3 << 20});
}

TEST(ListWorkerDevices, ReadsWhatAWorkerMayTakeOfTheMemory) {
  test::TempFolder temp;
  const std::string program = temp / "worker";
  test::WriteFile(program,
                  "#!/bin/sh\necho '{\"name\": \"host\", \"kind\": \"host\", "
                  "\"memory_bytes\": 98765432100}'\necho '{\"name\": \"cuda\"}'\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const auto listed = ListWorkerDevices(program);
  ASSERT_TRUE(listed) << listed.error().message;
  ASSERT_EQ(listed->size(), 2U);
  EXPECT_EQ((*listed)[0].memory_bytes, 98'765'432'100U);
  EXPECT_EQ((*listed)[1].memory_bytes, 0U);
}

}  // namespace
}  // namespace pawl
