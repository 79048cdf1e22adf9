// Every key that a command prints with --json is in its table of docs/commands.md or docs/bench.md.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

using nlohmann::json;

// The words in code spans of the sections whose headings hold `commands`.
std::set<std::string> Documented(const std::vector<std::string>& commands,
                                 const std::string& file = "docs/commands.md") {
  const std::string text = ReadFile(Source(file));
  std::set<std::string> words;
  for (const std::string& command : commands) {
    const std::string heading = "`pawl " + command + " --json`";
    std::size_t begin = 0, found = std::string::npos;
    while ((begin = text.find("\n## ", begin)) != std::string::npos) {
      ++begin;
      const std::size_t end = text.find('\n', begin);
      if (text.substr(begin, end - begin).find(heading) != std::string::npos) found = end;
    }
    EXPECT_NE(found, std::string::npos) << heading;
    if (found == std::string::npos) continue;
    const std::string section = text.substr(found, text.find("\n## ", found) - found);
    const std::regex span("`[^`]*`"), word("[a-z_0-9]+");
    for (std::sregex_iterator at(section.begin(), section.end(), span), none; at != none; ++at) {
      const std::string code = at->str();
      for (std::sregex_iterator w(code.begin(), code.end(), word); w != none; ++w) {
        words.insert(w->str());
      }
    }
  }
  return words;
}

void ExpectDocumented(const Finished& run, const std::set<std::string>& words) {
  const std::vector<json> lines = JsonLines(run.out);
  EXPECT_FALSE(lines.empty()) << run.err;
  for (const json& line : lines) {
    for (const auto& [key, value] : line.items()) {
      EXPECT_TRUE(words.contains(key)) << "'" << key << "' of " << line;
    }
  }
}

TEST(JsonKeys, OfALedgersCommandsAreDocumented) {
  TempFolder folder;
  std::string job = GemmJob(3);
  job.replace(job.find("confirm = false\n"), 16, "");
  WriteFile(folder / "job.toml", job);
  const auto pawl = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "--ledger", folder / "ledger"});
    return Pawl(arguments);
  };
  const std::set<std::string> run = Documented({"run", "log", "status"});
  ExpectDocumented(pawl({"run", folder / "job.toml"}), run);
  ExpectDocumented(pawl({"run", folder / "job.toml"}), run);  // of a closed track
  ExpectDocumented(pawl({"log"}), Documented({"log"}));
  ExpectDocumented(pawl({"show", "1", "1"}), Documented({"log", "show"}));
  ExpectDocumented(pawl({"status"}), Documented({"status"}));
  ExpectDocumented(pawl({"verify"}), Documented({"verify"}));
  ExpectDocumented(pawl({"confirm", "1", "--device",
                         "replay:" + Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz")}),
                   Documented({"confirm"}));
}

TEST(JsonKeys, OfTheOtherCommandsAreDocumented) {
  TempFolder folder;
  const auto pawl = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), Program("pawl"));
    arguments.push_back("--json");
    return RunToEnd(arguments, 100'000, {"PAWL_KERNELS=" + Source("tests/data/packages")});
  };
  ExpectDocumented(pawl({"devices"}), Documented({"devices"}));
  ExpectDocumented(pawl({"audit", "passes", "--backend", "host", "--shapes", "n=100"}),
                   Documented({"audit"}));
  WriteFile(folder / "m.toml",
            "operation = \"passes\"\nshape = { n = 500 }\nbackend = \"host\"\nwarmup = 1\n"
            "iterations = 3\nrounds = 2\n");
  ExpectDocumented(pawl({"measure", folder / "m.toml"}), Documented({"measure"}));
  std::set<std::string> bench = Documented({"bench"}, "docs/bench.md");
  bench.merge(Documented({"measure"}));
  ExpectDocumented(pawl({"bench", "passes", "--manifest", folder / "m.toml"}), bench);
}

}  // namespace
}  // namespace pawl::test
