// Candidates that go wrong on purpose: each is rejected with its own reason, and the next
// generation is measured as if nothing had been.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using nlohmann::json;

TEST(HostFaults, EachIsRejectedWithItsReasonAndTheNextGenerationIsUnharmed) {
  TempFolder folder;
  WriteFile(folder / "planted.toml",
            "operation = \"planted\"\nbackend = \"host\"\nshape = { n = 5000 }\nconfirm = false\n"
            "devices = [\"host\"]\ninstrument = \"wall_time\"\nwarmup = 1\niterations = 5\n"
            "[policy]\nname = \"field_note\"\ncontrol_tolerance = 100\n"
            "[proposer]\nname = \"exhaustive\"\n[budget]\ngenerations = 40\n"
            "[deadlines]\nbuild_ms = 60000\ncheck_ms = 8000\nrun_ms = 8000\n");
  const Finished run = RunToEnd({Program("pawl"), "run", folder / "planted.toml", "--ledger",
                                 folder / "ledger", "--kernels", Source("tests/data/packages")},
                                200'000);
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const std::vector<json> log = LogOf(folder / "ledger", "1");
  ASSERT_EQ(log.size(), 28U) << run.out;
  const std::map<std::string, std::string> wanted = {
      {"segfault", "crashed"},
      {"spin", "hung"},
      {"wrong_value", "wrong_output"},
      {"past_end", "wrong_output"},
      {"before_start", "wrong_output"},
      {"modifies_input", "wrong_output"},
      {"stale", "wrong_output"},
      {"unwritten", "wrong_output"},
      {"aborts", "crashed"},
      {"exits", "crashed"},
      {"not_finite", "wrong_output"},
      {"no_such_function", "launch"},
      {"skips_unless_poisoned", "wrong_output"},
      {"skips_when_poisoned", "wrong_output"},
  };
  for (const json& generation : log) {
    const std::string fault = generation["configuration"]["fault"];
    SCOPED_TRACE(generation.dump());
    if (const auto expected = wanted.find(fault); expected != wanted.end()) {
      EXPECT_EQ(generation["verdict"], "reject");
      EXPECT_EQ(generation["reason_code"], expected->second);
      EXPECT_NE(generation["reason"], "");
      EXPECT_TRUE(generation["ratio"].is_null()) << "a wrong kernel's time is never judged";
    } else {
      EXPECT_THAT(generation["reason_code"], testing::AnyOf("not_faster", "faster"));
      EXPECT_EQ(generation["check"]["passed"], true);
      EXPECT_EQ(generation["ratios"].size(), 3U);
    }
  }
}

}  // namespace
}  // namespace pawl::test
