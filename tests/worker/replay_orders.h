#pragma once
// Orders for a replay device, and what its tests ask it with.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/places.h"
#include "worker/device/replay/replay.h"

namespace pawl {

inline std::unique_ptr<Device> MustOpen(const std::string& argument) {
  Result<std::unique_ptr<Device>> device = OpenReplay(argument, {});
  CHECK(device.has_value(), device.error().message);
  return std::move(*device);
}

inline std::string ErrorOf(const std::string& argument) {
  const Result<std::unique_ptr<Device>> device = OpenReplay(argument, {});
  CHECK(!device.has_value(), argument);
  CHECK(device.error().message.find('\n') == std::string::npos, device.error().message);
  return device.error().message;
}

inline Execution AskDevice(Device& device, const Order& order) {
  Result<Execution> execution = device.Execute(order, [](Stage, ArmRole) {});
  CHECK(execution.has_value(), execution.error().message);
  return std::move(*execution);
}

// Committed, candidate, incumbent, rotated left by the round's number: the field note's rounds.
inline std::vector<RoundPlan> NoteRounds(std::uint32_t rounds) {
  std::vector<RoundPlan> plans;
  for (std::uint32_t r = 0; r < rounds; ++r) {
    RoundPlan plan;
    for (std::uint32_t i = 0; i < 3; ++i) plan.visits.push_back(VisitPlan{(r + i) % 3, 0});
    plans.push_back(plan);
  }
  return plans;
}

inline Order MeasureOrder(const Configuration& candidate, const Configuration& incumbent,
                          std::vector<RoundPlan> rounds = NoteRounds(3)) {
  Order order;
  order.track = TrackId(1);
  order.generation = Generation(1);
  order.attempt = Attempt(1);
  order.scalars = {{"m", 1024}, {"n", 1024}, {"k", 1024}};
  order.buffers = {Buffer{"A", DType::kF32, BufferRole::kInput, {1024, 1024}, {}},
                   Buffer{"C", DType::kF32, BufferRole::kOutput, {1024, 1024}, {}}};
  order.arms = {Arm{ArmRole::kCommitted, "committed", {}, std::nullopt, {}, {}},
                Arm{ArmRole::kCandidate, "candidate", candidate, std::nullopt, {}, {}},
                Arm{ArmRole::kIncumbent, "incumbent", incumbent, std::nullopt, {}, {}}};
  order.rounds = std::move(rounds);
  return order;
}

inline Order TableOrder(const Configuration& committed, const Configuration& candidate,
                        const Configuration& incumbent) {
  Order order = MeasureOrder(candidate, incumbent);
  order.arms[0].configuration = committed;
  return order;
}

class ReplayFile : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  const test::TempFolder folder_;
};

inline Configuration X(std::int64_t x) { return Configuration{{{"x", x}}}; }

}  // namespace pawl
