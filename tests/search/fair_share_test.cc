// Whose turn it is: worker time is shared evenly, whatever an order takes.

#include "coordinator/search/fair_share.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

// Gives the one worker there is to whose turn it is, until `seconds` have gone by.
void Serve(FairShare& share, const std::map<std::string, double>& order_seconds, double seconds,
           std::map<std::string, double>& had) {
  while (seconds > 0) {
    std::string next;
    for (const auto& [job, takes] : order_seconds) {
      if (next.empty() || share.Turn(job) < share.Turn(next)) next = job;
    }
    const double charged = share.Went(next);
    share.Took(next, charged, order_seconds.at(next));
    had[next] += order_seconds.at(next);
    seconds -= order_seconds.at(next);
  }
}

TEST(FairShare, GivesShortAndLongOrdersTheSameWorkerTime) {
  FairShare share;
  std::map<std::string, double> had;
  Serve(share, {{"long", 10}, {"short", 0.1}, {"middle", 1}}, 3'000, had);
  for (const auto& [job, seconds] : had) EXPECT_NEAR(seconds, 1'000, 21) << job;
}

TEST(FairShare, LetsOneThatComesLaterBeginLevelAndSavesNothingUp) {
  FairShare share;
  std::map<std::string, double> had;
  Serve(share, {{"early", 2}}, 1'000, had);
  std::map<std::string, double> together;
  Serve(share, {{"early", 2}, {"late", 2}}, 100, together);
  EXPECT_NEAR(together["late"], 50, 4);
  EXPECT_NEAR(together["early"], 50, 4);
}

TEST(FairShare, ChargesWhatIsOutBeforeItIsKnown) {
  FairShare share;
  const double first = share.Went("a");
  EXPECT_GT(first, 0);
  EXPECT_LT(share.Turn("b"), share.Turn("a"));
  share.Took("a", first, 8);
  EXPECT_EQ(share.Turn("a"), 8);
  EXPECT_EQ(share.Went("a"), 8) << "the mean of its orders";
}

TEST(FairShare, ChargesNothingForAnOrderThatWasLost) {
  FairShare share;
  for (int lost = 0; lost < 100; ++lost) share.Took("unlucky", share.Went("unlucky"), 0);
  std::map<std::string, double> had;
  Serve(share, {{"unlucky", 1}, {"other", 1}}, 100, had);
  EXPECT_NEAR(had["unlucky"], 50, 3);
}

}  // namespace
}  // namespace pawl
