// The main job, as a person runs it on a machine without a GPU.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <chrono>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using nlohmann::json;

TEST(HostSearch, MatmulEndsCheckedAndFarFasterThanItsStart) {
  TempFolder folder;
  const auto began = std::chrono::steady_clock::now();
  const Finished run = Pawl({"run", Source("jobs/matmul.toml"), "--device", "host", "--json",
                             "--ledger", folder / "ledger"},
                            560'000);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  // Of pawl and all below it: what else runs on the machine makes it last, not work.
  rusage used{};
  ASSERT_EQ(::getrusage(RUSAGE_CHILDREN, &used), 0);
  const double cpu_seconds =
      static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) / ::get_nprocs();
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const std::vector<json> lines = JsonLines(run.out);
  const json& confirmed = lines.back();
  ASSERT_TRUE(confirmed.contains("confirmation")) << run.out;
  ASSERT_TRUE(confirmed["valid"]) << confirmed;
  std::map<std::string, double> ratio;  // incumbent / other, measured in the same rounds
  for (const json& beside : confirmed["beside"]) ratio[beside["label"]] = beside["ratio"];
  std::printf(
      "matmul: %.0f s, %.0f s of every core, %zu generations; incumbent/start %.3f, "
      "incumbent/openblas %.3f, gain over "
      "committed %.3f\n",
      seconds, cpu_seconds, lines.size() - 1, ratio["start"], ratio["openblas"],
      confirmed["gain"].get<double>());
  EXPECT_LT(cpu_seconds, 180);
  EXPECT_LT(seconds, 360) << "3 minutes on a machine of its own; as long again for what else runs";
  EXPECT_LE(ratio["start"], 1.0 / 3);
  EXPECT_LE(ratio["openblas"], 2.0);
  EXPECT_GT(ratio["start"], 0);
  EXPECT_GT(ratio["openblas"], 0);
  for (const json& line : lines) {
    if (!line.contains("generation") || line["medians_us"].empty()) continue;
    EXPECT_EQ(line["check"]["passed"], true) << line;
    EXPECT_GE(line["check"]["elements"].get<std::uint64_t>(), 512U * 512U);
  }
}

TEST(HostSearch, SmokeEndsInSeconds) {
  TempFolder folder;
  const Finished run =
      Pawl({"run", Source("jobs/smoke.toml"), "--device", "host", "--ledger", folder / "ledger"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  const Finished verify = Pawl({"verify", "--ledger", folder / "ledger"});
  EXPECT_EQ(verify.code, 0) << verify.out << verify.err;
}

}  // namespace
}  // namespace pawl::test
