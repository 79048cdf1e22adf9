// Thousands of damaged job files: each is read or refused with a place and one line, and never
// crashes.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "coordinator/search/job.h"
#include "coordinator/search/seed.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

std::vector<std::string> Corpus() {
  std::vector<std::string> texts;
  const std::string folder = test::SourceFolder() + "/tests/search/job_corpus";
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

// One fault, of a person's kind (a line lost, doubled, moved; a word changed) or a disk's (bytes).
std::string Mutate(std::string text, const std::string& other, std::uint64_t& stream) {
  const auto at = [&](const std::string& of) { return Below(stream, of.size() + 1); };
  const auto line_at = [&](const std::string& of) {
    const std::size_t begin = of.rfind('\n', at(of));
    return begin == std::string::npos ? std::size_t{0} : begin + 1;
  };
  const auto line_of = [](const std::string& of, std::size_t begin) {
    return of.substr(begin, of.find('\n', begin) - begin) + "\n";
  };
  static constexpr const char* kPieces[] = {"=",
                                            "\"",
                                            "[",
                                            "]",
                                            "[[track]]\n",
                                            "{",
                                            "}",
                                            "'''",
                                            "\"\"\"",
                                            "#",
                                            "\n",
                                            "\\",
                                            "\\u0000",
                                            "1e400",
                                            "nan",
                                            "-1",
                                            "9223372036854775807",
                                            "9999999999999999999",
                                            "true",
                                            "1979-05-27",
                                            "0x",
                                            "host",
                                            "a.b.c = 1\n",
                                            "[host]\n",
                                            "[track.host.policy]\n",
                                            "name = 3\n",
                                            "\xff",
                                            "\xf0\x9f\x90\x8c",
                                            ",",
                                            "replay:"};
  switch (Below(stream, 8)) {
    case 0: {  // a bit
      if (text.empty()) return text;
      text[Below(stream, text.size())] ^= static_cast<char>(1 << Below(stream, 8));
      return text;
    }
    case 1:  // cut short
      return text.substr(0, at(text));
    case 2: {  // a piece put in
      return text.insert(at(text), kPieces[Below(stream, std::size(kPieces))]);
    }
    case 3: {  // a few bytes lost
      return text.erase(std::min<std::size_t>(at(text), text.size()), 1 + Below(stream, 8));
    }
    case 4: {  // a line lost
      const std::size_t begin = line_at(text);
      return text.erase(std::min(begin, text.size()), line_of(text, begin).size());
    }
    case 5: {  // a line doubled
      const std::size_t begin = std::min(line_at(text), text.size());
      return text.insert(begin, line_of(text, begin));
    }
    case 6: {  // a line of another file
      const std::size_t begin = std::min(line_at(other), other.size());
      return text.insert(std::min(line_at(text), text.size()), line_of(other, begin));
    }
    default: {  // two letters swapped
      if (text.size() < 2) return text;
      const std::size_t first = Below(stream, text.size() - 1);
      std::swap(text[first], text[first + 1]);
      return text;
    }
  }
}

void ExpectReadOrRefused(const std::string& text) {
  const auto job = ParseJob(text, "m.toml");
  if (job) {
    EXPECT_FALSE(job->tracks.empty()) << text;
    return;
  }
  const std::string& message = job.error().message;
  EXPECT_TRUE(message.starts_with("m.toml")) << message << "\n" << text;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message << "\n" << text;
}

TEST(JobFiles, EveryDamagedOneIsReadOrRefusedInALine) {
  const std::vector<std::string> corpus = Corpus();
  ASSERT_GE(corpus.size(), 4u);
  std::uint64_t stream = SeedFor(1, "job mutations");
  int refused = 0;
  constexpr int kMutants = 10'000;
  for (int mutant = 0; mutant < kMutants && !HasFailure(); ++mutant) {
    std::string text = corpus[Below(stream, corpus.size())];
    const std::uint64_t faults = 1 + Below(stream, 4);
    for (std::uint64_t fault = 0; fault < faults; ++fault) {
      text = Mutate(std::move(text), corpus[Below(stream, corpus.size())], stream);
    }

    ExpectReadOrRefused(text);
    refused += ParseJob(text, "m.toml") ? 0 : 1;
  }
  EXPECT_GT(refused, kMutants / 4) << "mutants that break nothing test nothing";
  EXPECT_LT(refused, kMutants) << "mutants that break everything test only the parser";
}

TEST(JobFiles, EveryOneOfTheCorpusIsReadOrRefused) {
  for (const std::string& text : Corpus()) ExpectReadOrRefused(text);
}

TEST(JobFiles, EveryPrefixIsReadOrRefused) {
  for (const std::string& text : Corpus()) {
    for (std::size_t length = 0; length < text.size() && !HasFailure(); length += 3) {
      ExpectReadOrRefused(text.substr(0, length));
    }
  }
}

}  // namespace
}  // namespace pawl
