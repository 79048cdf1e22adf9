#include "coordinator/search/job_board.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

Event Numbered(std::uint64_t seq, EventBody body, std::uint32_t track = 0) {
  return {Seq(seq), 0, TrackId(track), std::move(body)};
}

TEST(JobBoard, HoldsWhatWasSubmittedAndWhatIsWantedOfIt) {
  JobBoard board;
  board.Apply(Numbered(4, JobSubmitted{"a", "a.toml", "text", 3, "ann@boss"}));
  board.Apply(Numbered(5, JobSubmitted{"b", "b.toml", "other", 0, "bob@boss"}));
  board.Apply(Numbered(9, JobMoved{"a", JobStatus::kPaused, "bob@boss"}));
  ASSERT_EQ(board.jobs().size(), 2U);
  EXPECT_EQ(
      *board.Find("a"),
      (JobState{{"a", "a.toml", "text", 3, "ann@boss"}, JobStatus::kPaused, "bob@boss", Seq(9)}));
  EXPECT_EQ(board.Find("b")->status, JobStatus::kGoing);
  EXPECT_EQ(board.Find("c"), nullptr);
}

TEST(JobBoard, AJobSubmittedAgainGoesWithItsNewText) {
  JobBoard board;
  board.Apply(Numbered(1, JobSubmitted{"a", "a.toml", "text", 3, "ann@boss"}));
  board.Apply(Numbered(2, JobMoved{"a", JobStatus::kCancelled, "ann@boss"}));
  board.Apply(Numbered(3, JobSubmitted{"a", "a.toml", "better", -1, "ann@boss"}));
  EXPECT_EQ(board.Find("a")->submitted.text, "better");
  EXPECT_EQ(board.Find("a")->status, JobStatus::kGoing);
  EXPECT_EQ(board.jobs().size(), 1U);
}

TEST(JobBoard, RefusesWhatCannotFollow) {
  const JobBoard board;
  EXPECT_EQ(board.WhyNotApply(Numbered(1, JobMoved{"a", JobStatus::kPaused, ""})),
            "job 'a' is paused, and was never submitted");
  EXPECT_EQ(board.WhyNotApply(Numbered(1, JobSubmitted{"a", "a.toml", "", 0, ""}, 2)),
            "a job's event is about track 2, not the ledger");
  EXPECT_EQ(board.WhyNotApply(Numbered(1, EpochStarted{Epoch(2), "1"})), std::nullopt);
}

TEST(JobBoard, IsItsSnapshotAgain) {
  JobBoard board;
  board.Apply(Numbered(1, JobSubmitted{"b", "b.toml", "text", 3, "ann@boss"}));
  board.Apply(Numbered(2, JobSubmitted{"a", "a.toml", "text", 3, "ann@boss"}));
  board.Apply(Numbered(3, JobMoved{"b", JobStatus::kCancelled, "ann@boss"}));
  EXPECT_TRUE(JobBoard(board.Snapshot()) == board);
}

}  // namespace
}  // namespace pawl
