#include "coordinator/report/track_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/places.h"

namespace pawl {
namespace {

using testing::HasSubstr;

TrackState Track(TrackStatus status, std::uint32_t done, std::uint32_t budget) {
  TrackState state;
  state.id = TrackId(1);
  state.status = status;
  state.last = Generation(done);
  state.spec.budget.generations = budget;
  return state;
}

// What is said is what running the job again would do.
TEST(WhatNext, IsToRunAgainWhereSomethingIsLeft) {
  const TrackState searching = Track(TrackStatus::kSearching, 3, 10);
  const TrackState paused = Track(TrackStatus::kPaused, 3, 10);
  const TrackState used_up = Track(TrackStatus::kClosed, 10, 10);
  const TrackState at_end = Track(TrackStatus::kClosed, 4, 10);
  EXPECT_EQ(WhatNext({&searching}), "run again to go on");
  EXPECT_EQ(WhatNext({&used_up, &paused}), "run again to go on");
  EXPECT_THAT(WhatNext({&used_up}), HasSubstr("a larger [budget] in the job goes on"));
  EXPECT_THAT(WhatNext({&at_end, &used_up}), HasSubstr("a larger [budget]"));
  EXPECT_THAT(WhatNext({&at_end}), HasSubstr("nothing is left to try"));
}

TEST(TrackJson, HasTheLastConfirmationOrNull) {
  const TrackState state = Track(TrackStatus::kClosed, 10, 10);
  EXPECT_TRUE(TrackJson(state, 0, nullptr, Seq(7))["confirmation"].is_null());
  Confirmed confirmed;
  confirmed.number = 2;
  confirmed.valid = true;
  confirmed.gain = 0.25;
  const nlohmann::json json = TrackJson(state, 0, &confirmed, Seq(7));
  EXPECT_EQ(json["confirmation"]["confirmation"], 2);
  EXPECT_EQ(json["confirmation"]["gain"], 0.25);
  EXPECT_EQ(json["status"], "closed");
  EXPECT_EQ(json["head"], 7);
}

// Two tracks asked for of three that were confirmed, one of them long ago: each has its own last.
TEST(LastConfirmations, AreThoseOfTheTracksThatAreAskedFor) {
  const test::TempFolder folder;
  auto ledger = Ledger::Open(folder / "ledger", Ledger::Mode::kWrite);
  ASSERT_TRUE(ledger) << ledger.error().message;
  const auto append = [&](std::uint32_t track, std::uint32_t number) {
    Confirmed confirmed;
    confirmed.number = number;
    confirmed.detail = "throttled";
    std::vector<Event> events = {{Seq(), 0, TrackId(track), confirmed}};
    ASSERT_TRUE((*ledger)->Append(events));
  };
  append(1, 1);
  append(2, 1);
  const Seq settled = (*ledger)->head().seq;
  std::vector<Event> between(5000, Event{Seq(), 0, TrackId(1), TrackPaused{"as told"}});
  ASSERT_TRUE((*ledger)->Append(between));
  append(3, 1);
  append(3, 2);
  std::vector<TrackState> tracks(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    tracks[i].id = TrackId(i + 1);
    tracks[i].confirmations = i < 2 ? 1 : 0;
    tracks[i].settled = (*ledger)->head().seq;
  }
  tracks[1].settled = settled;  // its own last event
  const auto found = LastConfirmations(**ledger, {&tracks[0], &tracks[1], &tracks[2]});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->size(), 2U);
  EXPECT_TRUE(found->contains(TrackId(1)));
  EXPECT_TRUE(found->contains(TrackId(2)));
  tracks[2].confirmations = 2;
  EXPECT_EQ(LastConfirmations(**ledger, {&tracks[2]})->at(TrackId(3)).number, 2U);
}

TEST(ConfirmationText, SaysWhenAnotherIncumbentHasComeSince) {
  TrackState state = Track(TrackStatus::kSearching, 3, 10);
  Confirmed confirmed;
  confirmed.detail = "throttled";
  EXPECT_EQ(ConfirmationText(confirmed, state), "no figure: throttled");
  state.incumbent.settings = {{"unroll", std::int64_t{2}}};
  EXPECT_EQ(ConfirmationText(confirmed, state), "no figure: throttled; of an earlier incumbent");
}

}  // namespace
}  // namespace pawl
