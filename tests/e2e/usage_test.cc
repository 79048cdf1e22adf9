// What people type wrong is one line and code 2; what cannot be printed is said.

#include <filesystem>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Lt;
using testing::SizeIs;

TEST(Usage, EveryMistakeIsOneLineThatNamesItAndTheNearest) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob(5));
  const std::string job = folder / "job.toml";
  const std::pair<std::vector<std::string>, testing::Matcher<std::string>> cases[] = {
      {{}, AllOf(HasSubstr("no command"), HasSubstr("run, log, show"))},
      {{"frob"}, AllOf(HasSubstr("'frob'"), HasSubstr("known are run, log, show"))},
      {{"runn", job}, AllOf(HasSubstr("'runn'"), HasSubstr("nearest is 'run'"))},
      {{"fr\nob"}, HasSubstr("fr ob")},
      {{"--jason"}, HasSubstr("'--jason'")},
      {{"run"}, AllOf(HasSubstr("JOB"), HasSubstr("pawl run --help"))},
      {{"run", "/nonexistent/job.toml"}, HasSubstr("/nonexistent/job.toml")},
      {{"run", job, "--jason"}, AllOf(HasSubstr("'--jason'"), HasSubstr("nearest is '--json'"))},
      {{"run", job, "--ledger", ""}, AllOf(HasSubstr("--ledger"), HasSubstr("empty;"))},
      {{"run", job, "--workers", "many"}, HasSubstr("--workers")},
      {{"run", job, "--workers", "257"}, AllOf(HasSubstr("257"), HasSubstr("256"))},
      {{"run", job, "--listen", "tcp://127.0.0.1:99999"}, HasSubstr("65535")},
      {{"run", job, "--listen", "ipc://@name"}, HasSubstr("abstract")},
      {{"log", "--last", "0"}, AllOf(HasSubstr("--last"), HasSubstr("at least 1"))},
      {{"log", "--last", "-1"}, HasSubstr("--last")},
      {{"log", "1", "2"}, HasSubstr("'2'")},
      {{"show", "1", "0"}, AllOf(HasSubstr("GENERATION"), HasSubstr("at least 1"))},
      {{"show", "1", "99999999999"}, HasSubstr("99999999999")},
      {{"show", "", "1"}, AllOf(HasSubstr("TRACK"), HasSubstr("empty;"))},
      {{"verify", "--ledger", ""}, HasSubstr("empty;")},
  };
  for (const auto& [arguments, matcher] : cases) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const Finished finished = Pawl(arguments);
    ExpectOneLine(finished, 2, AllOf(matcher, SizeIs(Lt(300U))));
    EXPECT_EQ(finished.out, "");
  }
}

TEST(Usage, HelpAndVersionAreNoErrors) {
  EXPECT_EQ(Pawl({"--version"}).code, 0);
  EXPECT_EQ(Pawl({"--help"}).code, 0);
  EXPECT_EQ(Pawl({"log", "--help"}).code, 0);
}

// Runs a script that calls "$pawl" and has its arguments in "$@".
Finished InShell(const std::string& script, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"/bin/bash", "-c", script, "bash"});
  return RunToEnd(arguments, 60'000,
                  {"pawl=" + Program("pawl"), "PAWL_KERNELS=" + Source("kernels")});
}

TEST(Output, ThatCannotBeWrittenIsAnErrorWithItsReason) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob(5));
  const std::string ledger = folder / "ledger";
  // The search itself is not held up by where its rows go.
  ExpectOneLine(
      InShell("\"$pawl\" run \"$@\" >/dev/full", {folder / "job.toml", "--ledger", ledger}), 3,
      HasSubstr("cannot write the output"));
  EXPECT_EQ(LogOf(ledger, "1").size(), 5U);
  const std::vector<std::vector<std::string>> commands = {
      {"log"}, {"log", "--json"}, {"show", "1", "1"}, {"status"}, {"verify"}};
  for (const std::vector<std::string>& command : commands) {
    SCOPED_TRACE(testing::PrintToString(command));
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--ledger", ledger});
    ExpectOneLine(InShell("\"$pawl\" \"$@\" >/dev/full", arguments), 3,
                  AllOf(HasSubstr("cannot write the output"), HasSubstr("No space left")));
    ExpectOneLine(InShell("\"$pawl\" \"$@\" >&-", arguments), 3,
                  HasSubstr("cannot write the output"));
  }
  ExpectOneLine(InShell("\"$pawl\" --help >/dev/full", {}), 3,
                HasSubstr("cannot write the output"));
}

TEST(Output, AClosedStreamNeverBecomesAFileOfTheLedger) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob(20));
  const std::string ledger = folder / "ledger";
  const Finished run =
      InShell("\"$pawl\" run \"$@\" <&- >&- 2>&-", {folder / "job.toml", "--ledger", ledger});
  EXPECT_EQ(run.code, 3);
  EXPECT_EQ(Pawl({"verify", "--ledger", ledger}).code, 0);
  EXPECT_EQ(LogOf(ledger, "1").size(), 20U);
}

TEST(Output, AReaderThatHasEnoughEndsItQuietly) {
  TempFolder folder;
  WriteFile(folder / "job.toml", GemmJob(200));
  const std::string ledger = folder / "ledger";
  ASSERT_EQ(Pawl({"run", folder / "job.toml", "--ledger", ledger}).code, 0);
  for (const std::string before : {"", "trap '' PIPE; "}) {
    const Finished head =
        InShell(before +
                    "\"$pawl\" log --json --ledger \"$1\" | head -n 1 >/dev/null; "
                    "exit ${PIPESTATUS[0]}",
                {ledger});
    EXPECT_EQ(head.err, "");
    EXPECT_EQ(head.code, 141) << "128 + SIGPIPE";
  }
}

TEST(Output, WithJsonAnErrorLeavesNoHalfObject) {
  TempFolder folder;
  for (const char* command : {"log", "status", "verify"}) {
    const Finished finished = Pawl({command, "--json", "--ledger", folder / "absent"});
    ExpectOneLine(finished, 3, HasSubstr("absent"));
    EXPECT_EQ(finished.out, "");
  }
  WriteFile(folder / "job.toml", GemmJob(5, "[start]\nMGW = 64\n"));
  const Finished run = Pawl({"run", folder / "job.toml", "--json", "--ledger", folder / "ledger"});
  ExpectOneLine(run, 2, HasSubstr("MGW"));
  EXPECT_EQ(run.out, "");
}

}  // namespace
}  // namespace pawl::test
