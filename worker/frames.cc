#include "worker/frames.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "schema/codec.h"

namespace pawl {
namespace {

constexpr std::size_t kHeadBytes = 5;
constexpr std::size_t kMaxNotes = 16;
constexpr std::size_t kMaxNoteBytes = 256;
constexpr const char* kNameless = "runner";

template <typename Number>
void Put(std::string& bytes, Number number) {
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  bytes.append(raw, sizeof number);
}

// Reads forward; once it has run short everything after is zero and `short_` stays.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  template <typename Number>
  Number Take() {
    Number number{};
    if (bytes_.size() < sizeof number) {
      short_ = true;
      bytes_ = {};
      return number;
    }
    std::memcpy(&number, bytes_.data(), sizeof number);
    bytes_.remove_prefix(sizeof number);
    return number;
  }

  std::string_view TakeBytes(std::size_t count) {
    if (bytes_.size() < count) {
      short_ = true;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  std::size_t left() const { return bytes_.size(); }
  bool ran_short() const { return short_; }

 private:
  std::string_view bytes_;
  bool short_ = false;
};

Error Damaged(const std::string& what) { return Error{"runner: " + what, Advice::kRetry}; }

}  // namespace

Result<std::optional<Frame>> FrameReader::Next() {
  const std::string_view rest = std::string_view(pending_).substr(taken_);
  if (rest.size() < kHeadBytes) return std::optional<Frame>();
  std::uint32_t size = 0;
  std::memcpy(&size, rest.data(), sizeof size);
  if (size > kMaxFrameBytes) {
    return Damaged("sent a frame of " + std::to_string(size) + " B, at most " +
                   std::to_string(kMaxFrameBytes) + " B are allowed");
  }
  if (rest.size() < kHeadBytes + size) return std::optional<Frame>();
  Frame frame{rest[4], std::string(rest.substr(kHeadBytes, size))};
  taken_ += kHeadBytes + size;
  if (taken_ == pending_.size()) {
    pending_.clear();
    taken_ = 0;
  } else if (taken_ > (1u << 20)) {
    pending_.erase(0, taken_);
    taken_ = 0;
  }
  return std::optional<Frame>(std::move(frame));
}

void AppendFrame(std::string& bytes, char tag, std::string_view payload) {
  CHECK(payload.size() <= kMaxFrameBytes, payload.size());
  bytes.reserve(bytes.size() + kHeadBytes + payload.size());
  Put(bytes, static_cast<std::uint32_t>(payload.size()));
  bytes.push_back(tag);
  bytes.append(payload);
}

Status WriteFrame(int fd, char tag, std::string_view payload) {
  std::string bytes;
  AppendFrame(bytes, tag, payload);
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t sent = ::send(fd, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0)
      return Error{std::string("runner socket: ") + std::strerror(errno), Advice::kRetry};
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

std::string EncodeFacts(const DeviceFacts& facts) {
  Hello hello;
  hello.worker = WorkerId(kNameless);
  hello.boot = BootId(kNameless);
  hello.version = PAWL_VERSION;
  hello.host = kNameless;
  hello.device = facts;
  return EncodeMessage(hello);
}

Result<DeviceFacts> DecodeFacts(std::string_view payload) {
  const Result<Message> message = DecodeMessage(payload);
  if (!message) return message.error();
  const auto* hello = std::get_if<Hello>(&*message);
  if (hello == nullptr) {
    return Damaged("sent " + std::string(Name(*message)) + " for its device's facts");
  }
  return hello->device;
}

std::string EncodePrepare(const Prepare& hint) { return EncodeMessage(hint); }

Result<Prepare> DecodePrepare(std::string_view payload) {
  const Result<Message> message = DecodeMessage(payload);
  if (!message) return message.error();
  const auto* hint = std::get_if<Prepare>(&*message);
  if (hint == nullptr) return Damaged("was sent " + std::string(Name(*message)) + " for a hint");
  return *hint;
}

std::string EncodeStage(StageAt at) {
  return {static_cast<char>(at.stage), static_cast<char>(at.arm)};
}

Result<StageAt> DecodeStage(std::string_view payload) {
  if (payload.size() != 2) {
    return Damaged("sent a stage of " + std::to_string(payload.size()) + " B, 2 B wanted");
  }
  const auto stage = static_cast<std::uint8_t>(payload[0]);
  const auto role = static_cast<std::uint8_t>(payload[1]);
  if (stage > static_cast<std::uint8_t>(Stage::kRun) ||
      role > static_cast<std::uint8_t>(ArmRole::kRival)) {
    return Damaged("sent an unknown stage " + std::to_string(stage) + " or arm role " +
                   std::to_string(role));
  }
  return StageAt{static_cast<Stage>(stage), static_cast<ArmRole>(role)};
}

namespace {

std::size_t BytesOf(const std::vector<Samples>& samples) {
  std::size_t bytes = 0;
  for (const Samples& visit : samples) bytes += 96 + visit.us.size() * sizeof(double);
  return bytes;
}

}  // namespace

std::string EncodeExecution(const Execution& execution) {
  if (const std::size_t size = BytesOf(execution.samples); size > kMaxFrameBytes / 2) {
    Execution without{execution.report, {}, execution.notes};
    without.notes.push_back("event=samples_not_kept bytes=" + std::to_string(size) +
                            " most=" + std::to_string(kMaxFrameBytes / 2));
    return EncodeExecution(without);
  }
  Report named = execution.report;
  named.worker = WorkerId(kNameless);  // a runner has no name; no report goes without one
  const std::string report = EncodeReport(named);
  std::string bytes;
  Put(bytes, static_cast<std::uint32_t>(report.size()));
  bytes.append(report);
  Put(bytes, static_cast<std::uint32_t>(execution.samples.size()));
  for (const Samples& samples : execution.samples) {
    Put(bytes, samples.round);
    Put(bytes, static_cast<std::uint8_t>(samples.recorded));
    Put(bytes, static_cast<std::uint8_t>(samples.arm));
    Put(bytes, samples.input_set);
    Put(bytes, samples.clock_mhz);
    Put(bytes, static_cast<std::uint32_t>(samples.us.size()));
    for (const double us : samples.us) Put(bytes, us);
    Put(bytes, samples.conditions.clock_reasons);
    Put(bytes, samples.conditions.memory_mhz);
    Put(bytes, samples.conditions.temperature_c);
    Put(bytes, samples.conditions.power_w);
    Put(bytes, samples.conditions.foreign_processes);
  }
  Put(bytes, static_cast<std::uint32_t>(execution.notes.size()));
  for (const std::string& note : execution.notes) {
    Put(bytes, static_cast<std::uint32_t>(note.size()));
    bytes.append(note);
  }
  return bytes;
}

Result<Execution> DecodeExecution(std::string_view payload) {
  Cursor cursor(payload);
  const std::string_view report_bytes = cursor.TakeBytes(cursor.Take<std::uint32_t>());
  if (cursor.ran_short()) return Damaged("sent a result that ends inside its report");
  Result<Report> report = DecodeReport(report_bytes);
  if (!report) return report.error();

  Execution execution;
  execution.report = std::move(*report);
  execution.report.worker = WorkerId();
  const auto count = cursor.Take<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && !cursor.ran_short(); ++i) {
    Samples samples;
    samples.round = cursor.Take<std::uint32_t>();
    samples.recorded = cursor.Take<std::uint8_t>() != 0;
    const auto role = cursor.Take<std::uint8_t>();
    if (role > static_cast<std::uint8_t>(ArmRole::kRival)) {
      return Damaged("sent samples of an unknown arm role " + std::to_string(role));
    }
    samples.arm = static_cast<ArmRole>(role);
    samples.input_set = cursor.Take<std::uint32_t>();
    samples.clock_mhz = cursor.Take<double>();
    const auto us_count = cursor.Take<std::uint32_t>();
    const std::string_view us = cursor.TakeBytes(us_count * sizeof(double));
    if (cursor.ran_short()) break;
    samples.us.resize(us_count);
    if (us_count > 0) std::memcpy(samples.us.data(), us.data(), us.size());
    samples.conditions.clock_reasons = cursor.Take<std::uint64_t>();
    samples.conditions.memory_mhz = cursor.Take<std::uint32_t>();
    samples.conditions.temperature_c = cursor.Take<std::uint32_t>();
    samples.conditions.power_w = cursor.Take<double>();
    samples.conditions.foreign_processes = cursor.Take<std::uint32_t>();
    if (cursor.ran_short()) break;
    execution.samples.push_back(std::move(samples));
  }
  const auto notes = cursor.Take<std::uint32_t>();
  for (std::uint32_t i = 0; i < notes && !cursor.ran_short(); ++i) {
    std::string note(cursor.TakeBytes(cursor.Take<std::uint32_t>()).substr(0, kMaxNoteBytes));
    for (char& c : note) {
      if (c < ' ' || c > '~') c = '?';
    }
    if (execution.notes.size() < kMaxNotes) execution.notes.push_back(std::move(note));
  }
  if (cursor.ran_short()) return Damaged("sent a result that ends inside its samples or notes");
  if (cursor.left() > 0) {
    return Damaged("sent a result with " + std::to_string(cursor.left()) + " B too many");
  }
  return execution;
}

}  // namespace pawl
