#pragma once
// What passes between an agent and its runner, as bytes. Both ends are the same program on the same
// machine, but a kernel may have written over the runner's memory: nothing read here is trusted.
//
//   frame   := size u32, tag u8, payload    (size counts the payload; numbers are little-endian)
//   'F'     := EncodeMessage(Hello{device}) (facts, once, when the device is open)
//   'S'     := stage u8, role u8
//   'R'     := size u32, EncodeReport, samples, notes
//   samples := count u32, sample...
//   sample  := round u32, recorded u8, role u8, input_set u32, clock_mhz f64, count u32, us f64...,
//              conditions
//   conditions := clock_reasons u64, memory_mhz u32, temperature_c u32, power_w f64, foreign u32
//   notes   := count u32, (size u32, text)...
//   'B'     := text                         (how the sandbox is, at most once, before the facts)
//   'W'     := nothing                      (before a report: the runner should be replaced after it)
//   'E'     := text
//   'O'     := EncodeOrder
//   'P'     := EncodeMessage(Prepare)

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/result.h"
#include "worker/device.h"

namespace pawl {

inline constexpr std::size_t kMaxFrameBytes = 256u << 20;

struct Frame {
  char tag = 0;
  std::string payload;

  bool operator==(const Frame&) const = default;
};

// Takes bytes as they come and gives whole frames.
class FrameReader {
 public:
  void Feed(std::string_view bytes) { pending_.append(bytes); }
  // nullopt: no whole frame yet. An error: a size past kMaxFrameBytes; the stream is lost.
  Result<std::optional<Frame>> Next();

 private:
  std::string pending_;
  std::size_t taken_ = 0;
};

// Appends the frame's bytes. CHECKs that the payload is at most kMaxFrameBytes.
void AppendFrame(std::string& bytes, char tag, std::string_view payload);

// Blocks until all is written. An error: the peer is gone. Never raises SIGPIPE.
Status WriteFrame(int fd, char tag, std::string_view payload);

std::string EncodeFacts(const DeviceFacts& facts);
Result<DeviceFacts> DecodeFacts(std::string_view payload);
// A runner does not know the worker's name: report.worker is empty after decoding, whatever it was.
// Without its samples where they do not fit a frame, and a note says so.
std::string EncodeExecution(const Execution& execution);
Result<Execution> DecodeExecution(std::string_view payload);
std::string EncodePrepare(const Prepare& hint);
Result<Prepare> DecodePrepare(std::string_view payload);

struct StageAt {
  Stage stage = Stage::kBuild;
  ArmRole arm = ArmRole::kCommitted;

  bool operator==(const StageAt&) const = default;
};
std::string EncodeStage(StageAt at);
Result<StageAt> DecodeStage(std::string_view payload);

}  // namespace pawl
