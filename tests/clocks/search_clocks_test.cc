// Searches over the stand-ins: what pawl makes of pinned clocks and of jobs that demand them.

#include <gmock/gmock.h>

#include "tests/clocks/worker_world.h"

namespace pawl::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SearchClocks : public WorkerClocks {
 protected:
  std::string Job(const std::string& clocks) const {
    const std::string path = folder_ / "doubled.toml";
    WriteFile(path,
              "operation = \"doubled\"\nbackend = \"cuda\"\nstructure = \"plain\"\n"
              "shape = { n = 4096 }\n" +
                  clocks +
                  "[policy]\nname = \"field_note\"\n"
                  "[proposer]\nname = \"exhaustive\"\n[budget]\ngenerations = 2\n");
    return path;
  }
  // `traced`: with the stand-in of CUPTI, so that there is kernel_time.
  Finished Pawl(std::vector<std::string> arguments, const std::string& told = "",
                bool traced = false) const {
    arguments.insert(arguments.begin(), Program("pawl"));
    std::vector<std::string> environment = Environment(told);
    if (traced) environment.push_back(std::string("PAWL_LIBCUPTI=") + PAWL_STANDIN_CUPTI);
    return RunToEnd(arguments, 100'000, environment);
  }
  std::vector<std::string> Run(const std::string& job, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"run",      job,
                                          "--device", "cuda:0",
                                          "--ledger", folder_ / "ledger",
                                          "--state",  folder_ / "state"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  json LastGeneration() const {
    const Finished log = Pawl({"log", "--json", "--ledger", folder_ / "ledger"});
    const std::vector<json> lines = JsonLines(log.out);
    return lines.empty() ? json() : lines.back();
  }
};

TEST_F(SearchClocks, AreObservedUnlessToldOtherwiseWhichIsSaidOnce) {
  const Finished run = Pawl(Run(Job("")));
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_EQ(Times(run.out, "GPU clocks are observed, not pinned"), 1u) << run.out;
  EXPECT_THAT(run.out, HasSubstr("Stand-in GPU, clocks observed"));
  EXPECT_EQ(LastGeneration()["conditions"]["pinned_mhz"], 0);
  EXPECT_EQ(Count("nvmlDeviceSet") + Count("nvmlDeviceReset"), 0u);
}

TEST_F(SearchClocks, ArePinnedWhileItRunsAndRecordedWithEveryReport) {
  const std::string job = Job("clocks = \"require-pinned\"\n");
  const Finished run = Pawl(Run(job, {"--clocks", "pin", "--clock-mhz", "1200"}));
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("Stand-in GPU, clocks pinned at 1200 MHz"),
                             Not(HasSubstr("observed"))));
  EXPECT_EQ(LastGeneration()["conditions"]["pinned_mhz"], 1200);
  const Finished show = Pawl({"show", "1", "1", "--ledger", folder_ / "ledger"});
  EXPECT_THAT(show.out, HasSubstr("clocks     pinned at 1200 MHz\n"));
  EXPECT_TRUE(NothingIsLeft());
  const Finished verify = Pawl({"verify", "--ledger", folder_ / "ledger"});
  EXPECT_EQ(verify.code, 0) << verify.out << verify.err;
  // What was measured pinned does not go on observed.
  const Finished other = Pawl(Run(Job(""), {"--clocks", "pin"}));
  EXPECT_EQ(other.code, 3);
  EXPECT_THAT(other.err, HasSubstr("clocks was 'require-pinned' when the track was opened and is "
                                   "'observe' now"));
}

TEST_F(SearchClocks, OfAJobThatDemandsThemPinnedAreRefusedInOneLine) {
  const std::string job = Job("clocks = \"require-pinned\"\n");
  const Finished run = Pawl(Run(job));
  ExpectOneLine(run, 3,
                HasSubstr("wants pinned clocks (clocks = \"require-pinned\"), this worker observes "
                          "them; start it with --clocks pin"));
  EXPECT_EQ(Count("nvmlDeviceSet"), 0u);
  // Pinning is tried and refused: the worker says that it observes, and gets nothing.
  const Finished refused = Pawl(Run(job, {"--clocks", "pin"}), "deny=4");
  EXPECT_EQ(refused.code, 3) << refused.out << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("wants pinned clocks"));
  const Finished required = Pawl(Run(job, {"--clocks", "require-pinned"}), "deny=4");
  EXPECT_EQ(required.code, 3) << required.out << required.err;
  EXPECT_THAT(required.err, HasSubstr("root is needed"));
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(SearchClocks, OfATrackThatDemandsThemPinnedArePinnedForItsMeasurementAndCaptureToo) {
  const std::string job = Job("clocks = \"require-pinned\"\nconfirm = false\n");
  const std::vector<std::string> pin = {"--clocks", "pin", "--clock-mhz", "1200"};
  const Finished run = Pawl(Run(job, pin), "", true);
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  WriteFile(folder_ / "m.toml", "ledger = \"ledger\"\ntrack = 1\nrounds = 1\n");
  const std::vector<std::string> commands[] = {
      {"measure", folder_ / "m.toml", "--device", "cuda:0", "--json"},
      {"capture", "1", "--ledger", folder_ / "ledger", "--device", "cuda:0", "--json"}};
  for (std::vector<std::string> command : commands) {
    ExpectOneLine(Pawl(command, "", true), 3,
                  AllOf(HasSubstr("the track wants pinned clocks"), HasSubstr("--clocks pin")));
    command.insert(command.end(), pin.begin(), pin.end());
    const Finished pinned = Pawl(command, "", true);
    ASSERT_EQ(pinned.code, 0) << pinned.out << pinned.err;
    EXPECT_EQ(JsonLines(pinned.out).at(0)["conditions"]["pinned_mhz"], 1200) << pinned.out;
    EXPECT_TRUE(NothingIsLeft());
  }
}

TEST_F(SearchClocks, AreListedWithWhoHoldsThem) {
  const std::string held = "clocks: the clock of " + std::string(kGpu0) + " at 1200 MHz, ";
  EXPECT_THAT(Pawl({"devices"}).out,
              AllOf(HasSubstr("clocks: observed, nobody pins them"), Not(HasSubstr(held))));
  const auto worker = Start(Pin());
  ASSERT_TRUE(ComesTo([&] { return Lease() && Lease()->reads_mhz != 0; }));
  const pid_t guardian = Lease()->pid;
  EXPECT_THAT(Pawl({"devices"}).out,
              HasSubstr(held + "held by process " + std::to_string(guardian) + "\n"));
  worker->Signal(SIGSTOP);  // so that it does not bring another
  ::kill(guardian, SIGKILL);
  ASSERT_TRUE(ComesTo([&] {
    return Pawl({"devices"})
               .out.find(held + "left by process " + std::to_string(guardian) +
                         ", which is gone: `pawl-worker --reset-clocks`") != std::string::npos;
  }));
  worker->Signal(SIGKILL);
  worker->Wait(kPatienceMs);
  EXPECT_EQ(ResetClocks().code, 0);
  EXPECT_TRUE(NothingIsLeft());
}

}  // namespace
}  // namespace pawl::test
