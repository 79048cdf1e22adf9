// What a worker's clock mode makes of a device and of a guardian that pins, refuses or is lost.

#include "worker/clocks/clocked_child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OpenedChild final : public Child {
 public:
  OpenedChild() {
    facts.kind = "cuda";
    facts.model = "a GPU";
    facts.uuid = "GPU-1";
  }
  Result<DeviceFacts> Start() override {
    if (!error.empty()) return Error{error};
    running = true;
    return facts;
  }
  bool Running() const override { return running; }
  Status Send(const Order&) override { return {}; }
  void Hint(const pawl::Prepare&) override {}
  int fd() const override { return 7; }
  std::optional<ChildEvent> Next() override { return std::nullopt; }
  void Kill() override { running = false; }

  DeviceFacts facts;
  std::string error;
  bool running = false;
};

class FakeKeeper final : public ClockKeeper {
 public:
  Result<Pinned> Pin(const std::string& gpu) override {
    asked.push_back(gpu);
    if (dies > 0) {
      --dies;
      return Error{"the clocks' guardian ended before it answered", Advice::kRetry};
    }
    if (!refuses.empty()) return Error{refuses};
    holding = true;
    return pinned;
  }
  bool Holding() const override { return holding; }
  std::optional<std::string> Tend(std::int64_t) override { return std::nullopt; }
  int fd() const override { return -1; }
  std::int64_t NextBeat() const override { return 0; }
  void Release() override { holding = false; }

  std::vector<std::string> asked;
  std::string refuses;
  int dies = 0;  // so often before it answers
  Pinned pinned{1500, 0, ""};
  bool holding = false;
};

class ClockedChildTest : public ::testing::Test {
 protected:
  ClockedChild AChild(ClockMode mode) {
    return ClockedChild(child_, keeper_, mode,
                        [this](const std::string& line) { said_.push_back(line); });
  }

  OpenedChild child_;
  FakeKeeper keeper_;
  std::vector<std::string> said_;
};

TEST(ClockMode, IsNamed) {
  for (const ClockMode mode : {ClockMode::kObserve, ClockMode::kPin, ClockMode::kRequirePinned}) {
    EXPECT_EQ(ParseClockMode(Name(mode)), mode);
  }
  EXPECT_EQ(ParseClockMode("require-pinned"), ClockMode::kRequirePinned);
  EXPECT_EQ(ParseClockMode("lock"), std::nullopt);
}

TEST_F(ClockedChildTest, AsksForNothingWhereItObserves) {
  ClockedChild child = AChild(ClockMode::kObserve);
  EXPECT_EQ(*child.Start(), child_.facts);
  EXPECT_THAT(keeper_.asked, IsEmpty());
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(ClockedChildTest, PinsOnceForManyRunners) {
  ClockedChild child = AChild(ClockMode::kPin);
  DeviceFacts pinned = child_.facts;
  pinned.pinned_mhz = 1500;
  EXPECT_EQ(*child.Start(), pinned);
  child.Kill();
  EXPECT_EQ(*child.Start(), pinned);
  EXPECT_THAT(keeper_.asked, ElementsAre("GPU-1"));
  EXPECT_THAT(said_, ElementsAre("event=clocks_pinned gpu=GPU-1 mhz=1500"));
}

TEST_F(ClockedChildTest, TellsWhatElseIsPinnedOrNot) {
  keeper_.pinned = {1500, 9501, "the clock reads 1200 MHz"};
  ClockedChild child = AChild(ClockMode::kRequirePinned);
  ASSERT_TRUE(child.Start());
  EXPECT_THAT(said_, ElementsAre("event=clocks_pinned gpu=GPU-1 mhz=1500 memory_mhz=9501 "
                                 "note=\"the clock reads 1200 MHz\""));
}

TEST_F(ClockedChildTest, ObservesWherePinningIsRefusedAndSaysSoOnce) {
  keeper_.refuses = "root is needed";
  ClockedChild child = AChild(ClockMode::kPin);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(*child.Start(), child_.facts);
    child.Kill();
  }
  EXPECT_EQ(keeper_.asked.size(), 1u);
  EXPECT_THAT(said_, ElementsAre("event=clocks_observed why=\"root is needed\""));
}

// What it may have locked is not to stay so beside a worker that believes it observes.
TEST_F(ClockedChildTest, AsksAgainWhereAGuardianIsKilledBeforeItAnswers) {
  keeper_.dies = 1;
  ClockedChild child = AChild(ClockMode::kPin);
  EXPECT_EQ(child.Start()->pinned_mhz, 1500);
  EXPECT_THAT(keeper_.asked, ElementsAre("GPU-1", "GPU-1"));

  keeper_.holding = false;
  keeper_.dies = 2;
  ClockedChild other = AChild(ClockMode::kPin);
  EXPECT_EQ(other.Start()->pinned_mhz, 0);
  EXPECT_THAT(said_.back(),
              "event=clocks_observed why=\"the clocks' guardian ended before it answered\"");
}

TEST_F(ClockedChildTest, DoesNotWorkUnpinnedWherePinsAreRequired) {
  keeper_.refuses = "root is needed";
  ClockedChild child = AChild(ClockMode::kRequirePinned);
  const Result<DeviceFacts> facts = child.Start();
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().message,
            "the clocks must be pinned (clocks = require-pinned): root is needed");
  EXPECT_EQ(facts.error().advice, Advice::kReject);
  EXPECT_FALSE(child.Running());
}

TEST_F(ClockedChildTest, KnowsWhichDevicesHaveNoClocks) {
  child_.facts.kind = "host";
  ClockedChild pin = AChild(ClockMode::kPin);
  EXPECT_EQ(pin.Start()->pinned_mhz, 0);
  EXPECT_THAT(
      said_,
      ElementsAre("event=clocks_observed why=\"device host has no clocks that pawl can pin\""));
  ClockedChild require = AChild(ClockMode::kRequirePinned);
  EXPECT_FALSE(require.Start());
  // A replay runs nothing: what it plays has its clocks behind it.
  child_.facts.kind = "replay";
  child_.facts.needs_source = false;
  ClockedChild replay = AChild(ClockMode::kRequirePinned);
  EXPECT_TRUE(replay.Start());
  EXPECT_THAT(keeper_.asked, IsEmpty());
}

TEST_F(ClockedChildTest, PinsAgainWhatWasLostAndIsTheSameDevice) {
  ClockedChild child = AChild(ClockMode::kPin);
  const DeviceFacts first = *child.Start();
  keeper_.holding = false;
  keeper_.pinned.gpu_mhz = 1485;  // a step beside it
  EXPECT_EQ(*child.Start(), first);
  EXPECT_EQ(keeper_.asked.size(), 2u);
}

TEST_F(ClockedChildTest, EndsWhereALostPinCannotBeHadAgain) {
  ClockedChild child = AChild(ClockMode::kPin);
  ASSERT_TRUE(child.Start());
  keeper_.holding = false;
  keeper_.refuses = "held by process 7";
  EXPECT_EQ(child.Start().error().message,
            "the clocks were pinned at 1500 MHz and cannot be again: held by process 7");
  keeper_.refuses.clear();
  keeper_.pinned.gpu_mhz = 1200;
  EXPECT_EQ(child.Start().error().message,
            "the clocks were pinned at 1500 MHz and cannot be again: it now is 1200 MHz");
  EXPECT_FALSE(keeper_.holding);
}

TEST_F(ClockedChildTest, DoesNotFightForTheClocksForEver) {
  ClockedChild child = AChild(ClockMode::kPin);
  int started = 0;
  while (started < 100 && child.Start()) {
    ++started;
    keeper_.holding = false;
  }
  EXPECT_EQ(started, 6);
  EXPECT_EQ(child.Start().error().message,
            "the clocks were pinned at 1500 MHz and cannot be again: they were lost 6 times");
}

TEST_F(ClockedChildTest, PassesOnThatTheDeviceCannotBeOpened) {
  child_.error = "no GPU";
  ClockedChild child = AChild(ClockMode::kRequirePinned);
  EXPECT_EQ(child.Start().error().message, "no GPU");
  EXPECT_THAT(keeper_.asked, IsEmpty());
}

}  // namespace
}  // namespace pawl
