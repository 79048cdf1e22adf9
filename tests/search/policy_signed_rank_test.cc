#include "coordinator/search/policy/signed_rank.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace pawl {
namespace {

using Pairs = std::vector<std::pair<double, double>>;

// By definition: every way the signs can fall, each as likely.
double TailByCounting(const Pairs& given) {
  std::vector<std::pair<double, bool>> apart;
  for (const auto& [a, b] : given) {
    if (a != b) apart.emplace_back(std::max(a, b) / std::min(a, b), a < b);
  }
  std::vector<double> ranks;
  double seen = 0;
  for (const auto& [size, smaller] : apart) {
    double below = 0, equal = 0;
    for (const auto& [other, unused] : apart) {
      below += other < size ? 1 : 0;
      equal += other == size ? 1 : 0;
    }
    ranks.push_back(below + (equal + 1) / 2);
    if (smaller) seen += ranks.back();
  }
  double at_least = 0;
  const std::size_t ways = std::size_t{1} << ranks.size();
  for (std::size_t way = 0; way < ways; ++way) {
    double sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) sum += (way >> i & 1) != 0 ? ranks[i] : 0;
    at_least += sum >= seen ? 1 : 0;
  }
  return at_least / static_cast<double>(ways);
}

TEST(SignedRank, IsTheLeastChanceWhenEveryPairAgrees) {
  EXPECT_EQ(SignedRankTail({{9, 10}, {8, 10}, {7, 10}}), 1.0 / 8);
  EXPECT_EQ(SignedRankTail({{9, 10}, {9, 10}, {9, 10}}), 1.0 / 8);
  EXPECT_EQ(SignedRankTail({{10, 9}, {10, 8}, {10, 7}}), 1.0);
}

// Ten pairs with a rank sum of 45 against 10: 0.042 in the published tables.
TEST(SignedRank, AgreesWithThePublishedTable) {
  Pairs pairs;
  for (int rank = 1; rank <= 10; ++rank) {
    const double other = 100.0 + rank;
    pairs.push_back(rank == 10 ? std::pair(other, 100.0) : std::pair(100.0, other));
  }
  EXPECT_DOUBLE_EQ(SignedRankTail(pairs), 43.0 / 1024);
}

TEST(SignedRank, EqualPairsSayNothing) {
  EXPECT_EQ(SignedRankTail({}), 1.0);
  EXPECT_EQ(SignedRankTail({{5, 5}, {5, 5}}), 1.0);
  EXPECT_EQ(SignedRankTail({{5, 5}, {9, 10}}), 0.5);
}

TEST(SignedRank, HowFarAnOutlierLiesDoesNotMatter) {
  EXPECT_EQ(SignedRankTail({{9, 10}, {8, 10}, {7, 10}, {20, 10}}),
            SignedRankTail({{9, 10}, {8, 10}, {7, 10}, {6000, 10}}));
}

TEST(SignedRank, IsSmallForManyAgreeingPairs) {
  const double tail = SignedRankTail(Pairs(240, {9, 10}));
  EXPECT_EQ(tail, std::ldexp(1.0, -240));
}

RC_GTEST_PROP(SignedRank, CountsEveryWayTheSignsCanFall, ()) {
  // Few distinct times, so that ties and equal pairs are common.
  const auto times = *rc::gen::container<std::vector<std::pair<int, int>>>(
      *rc::gen::inRange(0, 10), rc::gen::pair(rc::gen::inRange(1, 6), rc::gen::inRange(1, 6)));
  Pairs pairs;
  for (const auto& [a, b] : times) pairs.emplace_back(a, b);
  RC_ASSERT(std::abs(SignedRankTail(pairs) - TailByCounting(pairs)) < 1e-12);
}

TEST(NormalTail, IsTheTextbooks) {
  EXPECT_DOUBLE_EQ(NormalTail(0), 0.5);
  EXPECT_NEAR(NormalTail(1.959964), 0.025, 1e-7);
  EXPECT_NEAR(NormalTail(3.4), 3.369e-4, 1e-7);
}

}  // namespace
}  // namespace pawl
