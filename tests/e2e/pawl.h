#pragma once
// The built programs, run as a person would.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "schema/check.h"
#include "tests/support/process.h"

namespace pawl::test {

inline std::string Program(const std::string& name) { return BinFolder() + "/" + name; }
inline std::string Source(const std::string& path) { return SourceFolder() + "/" + path; }

// Runs pawl from the source folder's kernels.
inline Finished Pawl(std::vector<std::string> arguments, int timeout_ms = 60'000) {
  arguments.insert(arguments.begin(), Program("pawl"));
  return RunToEnd(arguments, timeout_ms, {"PAWL_KERNELS=" + Source("kernels")});
}

// One line of pawl's on stderr, and the exit code.
inline void ExpectOneLine(const Finished& finished, int code,
                          const testing::Matcher<std::string>& matcher) {
  EXPECT_EQ(finished.code, code) << finished.out << finished.err;
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
  EXPECT_THAT(finished.err, testing::AllOf(testing::StartsWith("pawl: "), matcher));
}

// A search of the recorded gemm space, at random, without a confirmation.
inline std::string GemmJob(int generations, const std::string& extra = "") {
  return "operation = \"gemm\"\nbackend = \"cuda\"\nstructure = \"clblast\"\n"
         "shape = { m = 4096, n = 4096, k = 4096 }\nconfirm = false\n"
         "devices = [\"replay:" +
         Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz") +
         "\"]\n[proposer]\nname = \"random\"\n[budget]\ngenerations = " +
         std::to_string(generations) + "\n" + extra;
}

inline std::vector<nlohmann::json> JsonLines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    if (!line.empty()) lines.push_back(nlohmann::json::parse(line));
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return lines;
}

// The generations of a `pawl log --json`, of one track.
inline std::vector<nlohmann::json> LogOf(const std::string& ledger, const std::string& track) {
  const Finished log = Pawl({"log", track, "--json", "--ledger", ledger});
  CHECK(log.code == 0, log.err);
  return JsonLines(log.out);
}

}  // namespace pawl::test
