// How a track pauses, resumes, closes and is confirmed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/search/track.h"
#include "tests/search/track_story.h"

namespace pawl {
namespace {

using testing::HasSubstr;
using testing::Optional;

TEST(Track, PausesAndResumesUnderANewBudget) {
  Story story;
  story.Run({kTile64}, Reason::kControlDrift);
  story.Tell(TrackPaused{"unstable"});
  EXPECT_EQ(story.state().status, TrackStatus::kPaused);
  EXPECT_EQ(story.state().why, "unstable");
  EXPECT_THAT(story.Why(story.Proposal({kTile16})), Optional(HasSubstr("paused")));
  Budget budget;
  budget.generations = 99;
  story.Tell(TrackResumed{budget});
  EXPECT_EQ(story.state().status, TrackStatus::kSearching);
  EXPECT_EQ(story.state().why, "");
  EXPECT_EQ(story.state().voids_in_row, 0u);
  EXPECT_EQ(story.state().spec.budget, budget);
}

TEST(Track, ClosesAtOnceWithoutAConfirmation) {
  Story story;
  story.Tell(TrackClosed{"nothing left to propose"});
  EXPECT_EQ(story.state().status, TrackStatus::kClosed);
  EXPECT_EQ(story.state().why, "nothing left to propose");
  EXPECT_FALSE(story.track().confirmation);
  EXPECT_THAT(story.Why(story.Proposal({kTile16})), Optional(HasSubstr("closed")));
}

TEST(Track, IsClosedOnceItsConfirmationIsThere) {
  TrackSpec spec = Spec();
  spec.confirm = true;
  Story story(spec);
  story.Tell(TrackClosed{"nothing left to propose"});
  EXPECT_EQ(story.state().status, TrackStatus::kSearching);
  EXPECT_EQ(story.track().closing, "nothing left to propose");
  EXPECT_THAT(story.Why(story.Proposal({kTile16})), Optional(HasSubstr("closing")));
  story.Tell(story.Grant(OrderKind::kConfirm)).Tell(story.Measure(Attempt(1)));
  Confirmed confirmed;
  confirmed.number = 1;
  confirmed.incumbent = story.state().incumbent;
  confirmed.valid = true;
  story.Tell(confirmed);
  EXPECT_EQ(story.state().status, TrackStatus::kClosed);
  EXPECT_EQ(story.state().why, "nothing left to propose");
  EXPECT_EQ(story.state().confirmations, 1u);
  EXPECT_DOUBLE_EQ(story.state().worker_seconds, 1.75);
  EXPECT_FALSE(story.track().closing);
}

TEST(Track, ResumingWhileClosingDropsAConfirmationThatNobodyWorksOn) {
  TrackSpec spec = Spec();
  spec.confirm = true;
  Story story(spec);
  story.Tell(TrackClosed{"generation limit 20 reached"}).Tell(TrackResumed{spec.budget});
  EXPECT_FALSE(story.track().closing);
  EXPECT_FALSE(story.track().confirmation);
  story.Tell(TrackClosed{"generation limit 20 reached"}).Tell(story.Grant(OrderKind::kConfirm));
  story.Tell(TrackResumed{spec.budget});
  EXPECT_TRUE(story.track().confirmation) << "attempt 1 of it must not be granted twice";
}

TEST(Track, ConfirmationOfASearchingTrackLeavesItSearching) {
  Story story;
  story.Tell(story.Grant(OrderKind::kConfirm));
  EXPECT_THAT(story.Why(story.Proposal({kTile16})), Optional(HasSubstr("confirmation is open")));
  story.Tell(story.Measure(Attempt(1), OutcomeKind::kNoData));
  Confirmed confirmed;
  confirmed.number = 1;
  confirmed.incumbent = story.state().incumbent;
  confirmed.detail = "no recorded data";
  story.Tell(confirmed);
  EXPECT_EQ(story.state().status, TrackStatus::kSearching);
  EXPECT_EQ(story.state().confirmations, 1u);
}

}  // namespace
}  // namespace pawl
