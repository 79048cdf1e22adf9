// Operation files as a careless editor or a broken disk leaves them: thousands of mutations, no
// crash, and every error one line. Replays the fuzzer's corpus too.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/kernels/operation_fuzz_target.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

const std::string kCorpus = test::SourceFolder() + "/tests/kernels/corpus";

std::string BytesOf(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::vector<std::string> Corpus() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const std::filesystem::path& path : paths) corpus.push_back(BytesOf(path));
  return corpus;
}

// Seeds: the corpus, the sample package's files and the shipped structures.
std::vector<std::string> Seeds() {
  std::vector<std::string> seeds = Corpus();
  const PackageFiles sample = SamplePackage();
  for (int i = 0; i < 4; ++i) {  // the sample is what loads: it counts more
    seeds.push_back("o" + sample.at("operation.toml"));
    seeds.push_back("s" + sample.at("host/chunk.toml"));
    seeds.push_back("t" + sample.at("host/chunk.cc"));
    seeds.push_back("c" + sample.at("host/committed.toml"));
  }
  const std::filesystem::path kernels = test::SourceFolder() + "/kernels";
  seeds.push_back("s" + BytesOf(kernels / "matmul/cuda/tiled.toml"));
  seeds.push_back("s" + BytesOf(kernels / "gemm/cuda/clblast.toml"));
  return seeds;
}

// SplitMix64: the same mutations on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::size_t Below(std::size_t bound) { return static_cast<std::size_t>(Next() % bound); }

 private:
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

void Mutate(std::string& text, Random& random) {
  static const std::vector<std::string> kPieces = {"",
                                                   "0",
                                                   "-1",
                                                   "9007199254740992",
                                                   "9223372036854775807",
                                                   "true",
                                                   "nan",
                                                   "\"\"",
                                                   "'x'",
                                                   "[",
                                                   "]",
                                                   "[[",
                                                   "{",
                                                   "}",
                                                   "=",
                                                   "\n",
                                                   "\"",
                                                   "'",
                                                   " == ",
                                                   " / 0",
                                                   " % ",
                                                   "(",
                                                   ")",
                                                   "&&",
                                                   "?",
                                                   ":",
                                                   ",",
                                                   "\xff",
                                                   "\x01",
                                                   "1e999",
                                                   "block.m",
                                                   "unroll",
                                                   "#",
                                                   "\\",
                                                   "x",
                                                   "64x64",
                                                   "[1,2]",
                                                   ".",
                                                   "\r\n",
                                                   "// pawl: end",
                                                   "constexpr ",
                                                   ";",
                                                   "[[k]]"};
  const std::size_t at = 1 + random.Below(text.size());  // the first byte says which file it is
  const std::size_t length =
      std::min<std::size_t>(1 + random.Below(16), text.size() - std::min(at, text.size()));
  switch (random.Below(6)) {
    case 0:
      text.insert(std::min(at, text.size()), kPieces[random.Below(kPieces.size())]);
      break;
    case 1:
      text.replace(std::min(at, text.size()), length, kPieces[random.Below(kPieces.size())]);
      break;
    case 2:
      text.erase(std::min(at, text.size()), length);
      break;
    case 3:
      if (at < text.size()) text[at] = static_cast<char>(random.Below(256));
      break;
    case 4:  // one line again somewhere else
      if (at < text.size()) {
        const std::size_t begin = std::max<std::size_t>(1, text.rfind('\n', at) + 1);
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (begin < end) {
          const std::string line = text.substr(begin, end - begin) + "\n";
          const std::size_t other = text.find('\n', 1 + random.Below(text.size()));
          text.insert(other == std::string::npos ? text.size() : other + 1, line);
        }
      }
      break;
    default:
      text.resize(std::max<std::size_t>(1, std::min(at, text.size())));
      break;
  }
}

TEST(OperationFiles, CorpusOfTheFuzzerHolds) {
  const std::vector<std::string> corpus = Corpus();
  EXPECT_GE(corpus.size(), 10u);
  for (const std::string& input : corpus) FuzzOperation(input);
}

TEST(OperationFiles, SurviveThousandsOfMutations) {
  const std::vector<std::string> seeds = Seeds();
  Random random(20260910);
  constexpr int kMutations = 4000;
  for (int i = 0; i < kMutations; ++i) {
    std::string text = seeds[random.Below(seeds.size())];
    for (std::size_t edits = 1 + random.Below(3); edits > 0; --edits) Mutate(text, random);
    SCOPED_TRACE(i);
    FuzzOperation(text);
  }
}

TEST(OperationFiles, SurviveEveryTruncation) {
  const PackageFiles sample = SamplePackage();
  for (const auto& [prefix, file] : {std::pair{"o", "operation.toml"}, {"s", "host/chunk.toml"}}) {
    const std::string& text = sample.at(file);
    for (std::size_t length = 0; length < text.size(); length += 3) {
      FuzzOperation(prefix + text.substr(0, length));
    }
  }
}

}  // namespace
}  // namespace pawl
