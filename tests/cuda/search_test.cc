// Whole programs over the stand-ins: a search on a GPU as a person runs one, from `pawl devices` to
// `pawl verify`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

Finished PawlOnStandin(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), Program("pawl"));
  return RunToEnd(arguments, 100'000,
                  {"PAWL_KERNELS=" + Source("tests/data/packages"),
                   std::string("PAWL_LIBCUDA=") + PAWL_STANDIN_CUDA,
                   std::string("PAWL_LIBNVRTC=") + PAWL_STANDIN_NVRTC, "PAWL_LIBNVML=/nonexistent",
                   "PAWL_LIBCUPTI=/nonexistent"});
}

TEST(CudaSearch, RunsFromDevicesToVerify) {
  const Finished devices = PawlOnStandin({"devices"});
  EXPECT_EQ(devices.code, 0) << devices.err;
  EXPECT_THAT(devices.out, HasSubstr("cuda:0  Stand-in GPU"));
  EXPECT_THAT(devices.out, HasSubstr("can be pinned: no: NVML is needed"));

  TempFolder folder;
  WriteFile(folder / "doubled.toml",
            "operation = \"doubled\"\nbackend = \"cuda\"\nstructure = \"plain\"\n"
            "shape = { n = 4096 }\n[policy]\nname = \"field_note\"\n"
            "[proposer]\nname = \"exhaustive\"\n[budget]\ngenerations = 4\n");
  // No --device: the GPU that this machine has comes before its CPU.
  const Finished run = PawlOnStandin(
      {"run", folder / "doubled.toml", "--ledger", folder / "ledger", "--state", folder / "state"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const std::vector<json> log = LogOf(folder / "ledger", "1");
  ASSERT_EQ(log.size(), 4u) << run.out;
  for (const json& generation : log) {
    SCOPED_TRACE(generation.dump());
    EXPECT_EQ(generation["reason_code"], "not_faster");
    EXPECT_EQ(generation["check"]["passed"], true);
    // The stand-in's kernels take 10 us; a graph's own start is shared by hundreds of calls.
    EXPECT_NEAR(generation["medians_us"]["candidate"][0].get<double>(), 10, 0.05);
  }
  const Finished verify = PawlOnStandin({"verify", "--ledger", folder / "ledger"});
  EXPECT_EQ(verify.code, 0) << verify.out << verify.err;
}

Finished BenchOnStandin(const std::string& instrument, std::vector<std::string> environment = {}) {
  environment.insert(
      environment.end(),
      {"PAWL_KERNELS=" + Source("tests/data/packages"), "PYTHONPATH=" + Source("kernels"),
       std::string("PAWL_LIBCUDA=") + PAWL_STANDIN_CUDA,
       std::string("PAWL_LIBNVRTC=") + PAWL_STANDIN_NVRTC,
       std::string("PAWL_LIBCUPTI=") + PAWL_STANDIN_CUPTI, "PAWL_LIBNVML=/nonexistent"});
  return RunToEnd({Program("pawl"), "bench", "doubled", "--shape", "n=4096", "--device", "cuda:0",
                   "--instrument", instrument, "--rounds", "2", "--iterations", "5", "--warmup",
                   "1", "--rival", Source("tests/data/rivals/doubled_on_cuda.py"), "--json"},
                  100'000, environment);
}

TEST(CudaBench, ReadsARivalsTimeByEveryInstrument) {
  for (const std::string instrument : {"event_span", "graph_time", "kernel_time"}) {
    SCOPED_TRACE(instrument);
    const Finished bench = BenchOnStandin(instrument);
    ASSERT_EQ(bench.code, 0) << bench.out << bench.err;
    const std::vector<json> arms = JsonLines(bench.out);
    const auto rival = std::find_if(arms.begin(), arms.end(), [](const json& arm) {
      return arm.value("arm", "") == "doubled_on_cuda";
    });
    ASSERT_NE(rival, arms.end()) << bench.out;
    // Two of the stand-in's kernels a call, 10 us each.
    EXPECT_NEAR((*rival)["median_us"].get<double>(), 20, 0.1) << *rival;
    EXPECT_EQ((*rival)["check"]["passed"], true) << *rival;
  }
}

TEST(CudaBench, ARivalsTraceThatLostARecordIsNoTime) {
  const Finished bench = BenchOnStandin("kernel_time", {"PAWL_STANDIN_CUPTI=drop"});
  EXPECT_EQ(bench.code, 1) << bench.out << bench.err;
  EXPECT_THAT(bench.out, HasSubstr("kernel_time: 1 records of 1 calls, 1 lost"));
}

TEST(CudaSearch, NamesTheGpuThatIsNotThere) {
  TempFolder folder;
  WriteFile(folder / "doubled.toml",
            "operation = \"doubled\"\nbackend = \"cuda\"\nstructure = \"plain\"\n"
            "shape = { n = 4096 }\n");
  const Finished run = PawlOnStandin({"run", folder / "doubled.toml", "--device", "cuda:5",
                                      "--ledger", folder / "ledger", "--state", folder / "state"});
  EXPECT_NE(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("no GPU '5' (have: 0 Stand-in GPU"));
}

TEST(CudaSearch, TakesTheNumberInAJobForThatGpuAndNoOther) {
  TempFolder folder;
  const auto job = [&](const std::string& devices) {
    WriteFile(folder / "doubled.toml",
              "operation = \"doubled\"\nbackend = \"cuda\"\nstructure = \"plain\"\n"
              "shape = { n = 4096 }\ndevices = [" +
                  devices +
                  "]\n[policy]\nname = \"field_note\"\n[proposer]\nname = \"exhaustive\"\n"
                  "[budget]\ngenerations = 1\n");
    return PawlOnStandin({"run", folder / "doubled.toml", "--ledger", folder / "ledger", "--state",
                          folder / "state"});
  };
  const Finished absent = job("\"cuda:7\"");
  EXPECT_EQ(absent.code, 3);
  EXPECT_THAT(absent.err, HasSubstr("is for device 'cuda:7', which this machine does not have "
                                    "(have: "));
  EXPECT_THAT(absent.err, HasSubstr("cuda:0, "));
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger"));
  const Finished there = job("\"cuda:7\", \"cuda:0\"");
  EXPECT_EQ(there.code, 0) << there.out << there.err;
  EXPECT_EQ(LogOf(folder / "ledger", "1").size(), 1u);
}

}  // namespace
}  // namespace pawl::test
