#include "worker/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/places.h"
#include "tests/worker/faults.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class EvidenceTest : public ::testing::Test {
 protected:
  std::unique_ptr<Evidence> Open(std::uint64_t max_bytes = 1 << 30) {
    Result<std::unique_ptr<Evidence>> evidence =
        Evidence::Open(folder_.path() + "/evidence", max_bytes);
    EXPECT_TRUE(evidence);
    return std::move(*evidence);
  }

  static std::vector<Samples> TwoVisits(double first_us = 1.5) {
    return {{0, true, ArmRole::kCommitted, 0, 2400.5, {first_us, 2.25, 0.1}},
            {1, false, ArmRole::kCandidate, 1, 0, {3}}};
  }

  std::size_t Count() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_.path() + "/evidence"))
      ++count;
    return count;
  }

  test::TempFolder folder_;
  const Order order_ = FaultOrder("slow");
};

TEST_F(EvidenceTest, GivesBackEverySampleExactly) {
  const auto evidence = Open();
  Report report;
  report.worker = WorkerId("here/host/0");
  const Result<Digest> digest = evidence->Store(order_, report, TwoVisits());
  ASSERT_TRUE(digest);
  EXPECT_TRUE(fs::exists(folder_.path() + "/evidence/" + digest->Hex() + ".jsonl.zst"));

  const Result<std::string> lines = Open()->Load(*digest);
  ASSERT_TRUE(lines);
  std::istringstream stream(*lines);
  std::string line;
  std::vector<nlohmann::json> parsed;
  while (std::getline(stream, line)) parsed.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(parsed.size(), 3u);
  EXPECT_EQ(parsed[0]["worker"], "here/host/0");
  EXPECT_EQ(parsed[0]["instrument"], "wall_time");
  EXPECT_EQ(parsed[0]["arms"][1]["role"], "candidate");
  EXPECT_EQ(parsed[1]["us"], nlohmann::json({1.5, 2.25, 0.1}));
  EXPECT_EQ(parsed[1]["clock_mhz"], 2400.5);
  EXPECT_EQ(parsed[2]["recorded"], false);
  EXPECT_EQ(parsed[2]["arm"], "candidate");
}

TEST_F(EvidenceTest, NamesEqualContentsEquallyAndOthersNot) {
  const auto evidence = Open();
  const Result<Digest> one = evidence->Store(order_, Report(), TwoVisits());
  const Result<Digest> same = evidence->Store(order_, Report(), TwoVisits());
  const Result<Digest> other = evidence->Store(order_, Report(), TwoVisits(1.6));
  ASSERT_TRUE(one && same && other);
  EXPECT_EQ(*one, *same);
  EXPECT_NE(*one, *other);
  EXPECT_EQ(Count(), 2u);
}

TEST_F(EvidenceTest, KeepsNothingWhereThereAreNoSamples) {
  const Result<Digest> digest = Open()->Store(order_, Report(), {});
  ASSERT_TRUE(digest);
  EXPECT_TRUE(digest->IsZero());
  EXPECT_EQ(Count(), 0u);
}

TEST_F(EvidenceTest, DropsTheOldestAtItsCapAndNeverTheNewest) {
  const auto evidence = Open(1);
  Digest last;
  for (int i = 0; i < 5; ++i) {
    const Result<Digest> digest = evidence->Store(order_, Report(), TwoVisits(i + 1));
    ASSERT_TRUE(digest);
    last = *digest;
    EXPECT_EQ(Count(), 1u);
    EXPECT_TRUE(evidence->Load(last));
  }
}

TEST_F(EvidenceTest, SaysWhichFileIsGoneOrDamaged) {
  const auto evidence = Open();
  const Result<Digest> digest = evidence->Store(order_, Report(), TwoVisits());
  ASSERT_TRUE(digest);
  const Result<std::string> gone = evidence->Load(Sha256("another"));
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("no such evidence"));
  std::ofstream(folder_.path() + "/evidence/" + digest->Hex() + ".jsonl.zst", std::ios::app) << "x";
  const Result<std::string> damaged = evidence->Load(*digest);
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, HasSubstr("damaged"));
}

}  // namespace
}  // namespace pawl
