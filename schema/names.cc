// The one spelling of every enumerator, and the sizes that go with them.

#include "schema/message.h"
#include "schema/order.h"
#include "schema/outcome.h"
#include "schema/report.h"
#include "schema/snapshot.h"

namespace pawl {

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kKeep:
      return "keep";
    case Verdict::kReject:
      return "reject";
    case Verdict::kVoid:
      return "void";
  }
  CHECK(false, static_cast<int>(verdict));
}

std::string_view Name(Reason reason) {
  switch (reason) {
    case Reason::kFaster:
      return "faster";
    case Reason::kGeometry:
      return "geometry";
    case Reason::kBuild:
      return "build";
    case Reason::kLaunch:
      return "launch";
    case Reason::kCrashed:
      return "crashed";
    case Reason::kHung:
      return "hung";
    case Reason::kWrongOutput:
      return "wrong_output";
    case Reason::kNotFaster:
      return "not_faster";
    case Reason::kControlDrift:
      return "control_drift";
    case Reason::kThrottled:
      return "throttled";
    case Reason::kDeviceFault:
      return "device_fault";
    case Reason::kWorkerLost:
      return "worker_lost";
    case Reason::kSuperseded:
      return "superseded";
    case Reason::kNoData:
      return "no_data";
  }
  CHECK(false, static_cast<int>(reason));
}

Verdict VerdictOf(Reason reason) {
  if (reason == Reason::kFaster) return Verdict::kKeep;
  return reason <= Reason::kNotFaster ? Verdict::kReject : Verdict::kVoid;
}

std::size_t SizeOf(DType dtype) { return dtype == DType::kF64 ? 8 : 4; }

std::string_view Name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
    case DType::kI32:
      return "i32";
    case DType::kU32:
      return "u32";
  }
  CHECK(false, static_cast<int>(dtype));
}

std::int64_t Buffer::Elements() const {
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) elements *= extent;
  return elements;
}

std::string_view Name(ArmRole role) {
  switch (role) {
    case ArmRole::kCommitted:
      return "committed";
    case ArmRole::kCandidate:
      return "candidate";
    case ArmRole::kIncumbent:
      return "incumbent";
    case ArmRole::kStart:
      return "start";
    case ArmRole::kRival:
      return "rival";
  }
  CHECK(false, static_cast<int>(role));
}

std::string_view Name(Instrument instrument) {
  switch (instrument) {
    case Instrument::kCpuTime:
      return "cpu_time";
    case Instrument::kWallTime:
      return "wall_time";
    case Instrument::kEventSpan:
      return "event_span";
    case Instrument::kKernelTime:
      return "kernel_time";
    case Instrument::kGraphTime:
      return "graph_time";
  }
  CHECK(false, static_cast<int>(instrument));
}

std::optional<Instrument> ParseInstrument(std::string_view name) {
  for (const Instrument instrument :
       {Instrument::kCpuTime, Instrument::kWallTime, Instrument::kEventSpan,
        Instrument::kKernelTime, Instrument::kGraphTime}) {
    if (Name(instrument) == name) return instrument;
  }
  return std::nullopt;
}

std::string_view Name(OrderKind kind) {
  switch (kind) {
    case OrderKind::kMeasure: return "measure";
    case OrderKind::kConfirm: return "confirm";
    case OrderKind::kAudit: return "audit";
  }
  CHECK(false, static_cast<int>(kind));
}

std::string_view Name(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kMeasured:
      return "measured";
    case OutcomeKind::kBuildFailed:
      return "build_failed";
    case OutcomeKind::kLaunchFailed:
      return "launch_failed";
    case OutcomeKind::kCrashed:
      return "crashed";
    case OutcomeKind::kHung:
      return "hung";
    case OutcomeKind::kWrongOutput:
      return "wrong_output";
    case OutcomeKind::kThrottled:
      return "throttled";
    case OutcomeKind::kDeviceFault:
      return "device_fault";
    case OutcomeKind::kNoData:
      return "no_data";
  }
  CHECK(false, static_cast<int>(kind));
}

std::string_view Name(TrackStatus status) {
  switch (status) {
    case TrackStatus::kSearching:
      return "searching";
    case TrackStatus::kPaused:
      return "paused";
    case TrackStatus::kClosed:
      return "closed";
  }
  CHECK(false, static_cast<int>(status));
}

std::string_view Name(JobStatus status) {
  switch (status) {
    case JobStatus::kGoing:
      return "going";
    case JobStatus::kPaused:
      return "paused";
    case JobStatus::kCancelled:
      return "cancelled";
  }
  CHECK(false, static_cast<int>(status));
}

std::string_view Name(AskVerb verb) {
  switch (verb) {
    case AskVerb::kSubmit:
      return "submit";
    case AskVerb::kPause:
      return "pause";
    case AskVerb::kResume:
      return "resume";
    case AskVerb::kCancel:
      return "cancel";
    case AskVerb::kStatus:
      return "status";
    case AskVerb::kWatch:
      return "watch";
  }
  CHECK(false, static_cast<int>(verb));
}

std::string_view Name(ReplyCode code) {
  switch (code) {
    case ReplyCode::kOk:
      return "ok";
    case ReplyCode::kRefused:
      return "refused";
    case ReplyCode::kWrong:
      return "wrong";
  }
  CHECK(false, static_cast<int>(code));
}

std::string_view Name(RefuseCode code) {
  switch (code) {
    case RefuseCode::kVersion:
      return "version";
    case RefuseCode::kNotWanted:
      return "not_wanted";
    case RefuseCode::kLedgerBehind:
      return "ledger_behind";
    case RefuseCode::kNotReady:
      return "not_ready";
  }
  CHECK(false, static_cast<int>(code));
}

std::string_view Name(RejectCode code) {
  switch (code) {
    case RejectCode::kUnknownAttempt:
      return "unknown_attempt";
    case RejectCode::kConflict:
      return "conflict";
    case RejectCode::kMalformed:
      return "malformed";
    case RejectCode::kNotOpenHere:
      return "not_open_here";
  }
  CHECK(false, static_cast<int>(code));
}

std::string_view Name(const Message& message) {
  static constexpr std::string_view kNames[] = {
      "HELLO",  "WELCOME", "REFUSE", "READY",  "GRANT", "PREPARE", "BEAT", "BEAT_ACK",
      "REPORT", "ACK",     "REJECT", "CANCEL", "DRAIN", "RELEASE", "BYE",  "ASK",
      "REPLY"};
  static_assert(std::size(kNames) == std::variant_size_v<Message>);
  return kNames[message.index()];
}

}  // namespace pawl
