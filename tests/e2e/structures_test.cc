// A search over two structures of a backend, on this machine's CPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// The package `passes` with a second structure, whose kernels do 40 and 30 passes, not 100 and 95.
class TwoStructures : public testing::Test {
 protected:
  TwoStructures() {
    std::filesystem::create_directories(folder_ / "kernels");
    std::filesystem::copy(Source("tests/data/packages/passes"), folder_ / "kernels/passes",
                          std::filesystem::copy_options::recursive);
    WriteFile(folder_ / "kernels/passes/host/pairs.toml",
              "source = \"pairs.cc\"\nkernel = \"passes_pairs\"\n[knobs]\npairs = [20, 15]\n"
              "[start]\npairs = 20\n");
    WriteFile(folder_ / "kernels/passes/host/pairs.cc",
              "#include <cstdint>\n// pawl: knobs\nconstexpr int pairs = 20;\n// pawl: end\n"
              "extern \"C\" void passes_pairs(const float* X, float* Y, std::int64_t n) {\n"
              "  for (int pass = 0; pass < 2 * pairs; ++pass) {\n"
              "    for (std::int64_t i = 0; i < n; ++i) Y[i] = X[i] * 1.5f + 1.0f;\n"
              "    asm volatile(\"\" ::: \"memory\");\n  }\n}\n");
  }

  Finished Run(int generations, const std::string& ledger) {
    WriteFile(folder_ / "job.toml",
              "operation = \"passes\"\nbackend = \"host\"\nshape = { n = 20000 }\n"
              "structures = [\"repeat\", \"pairs\"]\nstart = { structure = \"repeat\" }\n"
              "devices = [\"host\"]\ninstrument = \"cpu_time\"\nwarmup = 1\niterations = 5\n"
              "confirm = false\n"
              "[policy]\nname = \"field_note\"\ncontrol_tolerance = 100\nrounds = 5\n"
              "[budget]\ngenerations = " +
                  std::to_string(generations) + "\n");
    return WithPackages({"run", folder_ / "job.toml", "--ledger", folder_ / ledger});
  }

  Finished WithPackages(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), Program("pawl"));
    return RunToEnd(arguments, 120'000, {"PAWL_KERNELS=" + folder_ / "kernels"});
  }

  TempFolder folder_;
};

TEST_F(TwoStructures, AreSearchedAsOneShownByTheirActiveKnobsAndDerivedAgain) {
  // In two parts: what comes after resuming is what would have come anyway.
  ASSERT_EQ(Run(1, "ledger").code, 0);
  const Finished run = Run(10, "ledger");
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const std::vector<json> log = LogOf(folder_ / "ledger", "1");
  ASSERT_EQ(log.size(), 2U) << run.out;
  EXPECT_EQ(log[0]["changes"], json::parse(R"([{"knob": "structure", "from": "repeat",
                                                "to": "pairs", "repair": false}])"));
  EXPECT_EQ(log[0]["configuration"], json::parse(R"({"structure": "pairs", "pairs.pairs": 20})"));
  EXPECT_EQ(log[0]["incumbent"], json::parse(R"({"structure": "repeat", "repeat.passes": 100})"));
  EXPECT_EQ(log[0]["verdict"], "keep");
  EXPECT_EQ(log[0]["check"]["passed"], true);
  EXPECT_EQ(log[1]["configuration"], json::parse(R"({"structure": "pairs", "pairs.pairs": 15})"));

  const Finished show = Pawl({"show", "1", "1", "--ledger", folder_ / "ledger"});
  EXPECT_THAT(show.out, HasSubstr("change     structure repeat -> pairs\n"));
  EXPECT_THAT(show.out, HasSubstr("candidate  structure=pairs pairs.pairs=20\n"));
  EXPECT_THAT(show.out, HasSubstr("incumbent  structure=repeat repeat.passes=100\n"));
  const Finished status = Pawl({"status", "--ledger", folder_ / "ledger"});
  EXPECT_THAT(status.out, HasSubstr("structure=pairs pairs.pairs="));
  const Finished verify = Pawl({"verify", "--ledger", folder_ / "ledger"});
  EXPECT_EQ(verify.code, 0) << verify.out << verify.err;

  WriteFile(folder_ / "incumbent.toml",
            "ledger = \"" + folder_ / "ledger" + "\"\ntrack = 1\nrounds = 1\n");
  const Finished measure =
      WithPackages({"measure", folder_ / "incumbent.toml", "--state", folder_ / "state"});
  EXPECT_EQ(measure.code, 0) << measure.out << measure.err;
  EXPECT_THAT(measure.out, HasSubstr("pairs="));
}

}  // namespace
}  // namespace pawl::test
