#include <gtest/gtest.h>

#include <set>
#include <string>

#include "schema/outcome.h"
#include "schema/snapshot.h"
#include "tests/support/samples.h"

namespace pawl {
namespace {

// Every enumerator up to `last` has a name of its own, in lower case with underscores.
template <typename Enum>
void ExpectNames(Enum last) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const std::string name(Name(static_cast<Enum>(i)));
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"), std::string::npos)
        << name;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(last) + 1);
}

TEST(Names, AreOneForEachEnumerator) {
  ExpectNames(Verdict::kVoid);
  ExpectNames(static_cast<Reason>(kReasonCount - 1));
  ExpectNames(DType::kU32);
  ExpectNames(ArmRole::kRival);
  ExpectNames(Instrument::kGraphTime);
  ExpectNames(OrderKind::kAudit);
  ExpectNames(OutcomeKind::kNoData);
  ExpectNames(TrackStatus::kClosed);
  ExpectNames(RefuseCode::kNotReady);
  ExpectNames(RejectCode::kNotOpenHere);
}

TEST(NamesDeathTest, AnUnknownEnumeratorIsABug) {
  EXPECT_DEATH(Name(static_cast<Reason>(kReasonCount)), "14");
}

TEST(Names, OfInstrumentsAreParsed) {
  for (int i = 0; i <= static_cast<int>(Instrument::kGraphTime); ++i) {
    const auto instrument = static_cast<Instrument>(i);
    EXPECT_EQ(ParseInstrument(Name(instrument)), instrument);
  }
  EXPECT_EQ(ParseInstrument("walltime"), std::nullopt);
  EXPECT_EQ(ParseInstrument(""), std::nullopt);
}

TEST(Names, OfMessagesAreTheProtocols) {
  std::vector<std::string> names;
  for (const auto& [name, message] : test::SampleMessages()) names.emplace_back(Name(message));
  EXPECT_EQ(names, (std::vector<std::string>{"HELLO", "WELCOME", "REFUSE", "READY", "GRANT",
                                             "PREPARE", "BEAT", "BEAT_ACK", "REPORT", "ACK",
                                             "REJECT", "CANCEL", "DRAIN", "RELEASE", "BYE",
                                             "ASK", "REPLY"}));
}

TEST(Reason, BelongsToOneVerdict) {
  EXPECT_EQ(VerdictOf(Reason::kFaster), Verdict::kKeep);
  for (const Reason reason : {Reason::kGeometry, Reason::kBuild, Reason::kLaunch, Reason::kCrashed,
                              Reason::kHung, Reason::kWrongOutput, Reason::kNotFaster}) {
    EXPECT_EQ(VerdictOf(reason), Verdict::kReject) << Name(reason);
  }
  for (const Reason reason : {Reason::kControlDrift, Reason::kThrottled, Reason::kDeviceFault,
                              Reason::kWorkerLost, Reason::kSuperseded, Reason::kNoData}) {
    EXPECT_EQ(VerdictOf(reason), Verdict::kVoid) << Name(reason);
  }
}

TEST(Buffer, CountsItsElements) {
  Buffer buffer;
  EXPECT_EQ(buffer.Elements(), 1);
  buffer.extents = {3, 5, 7};
  EXPECT_EQ(buffer.Elements(), 105);
  EXPECT_EQ(SizeOf(DType::kF64), 8u);
  EXPECT_EQ(SizeOf(DType::kF32), 4u);
  EXPECT_EQ(SizeOf(DType::kI32), 4u);
  EXPECT_EQ(SizeOf(DType::kU32), 4u);
}

TEST(Ids, CountUp) {
  EXPECT_EQ(Generation().value, 0u);
  EXPECT_EQ(Generation(7).Next(), Generation(8));
  EXPECT_LT(Seq(7), Seq(8));
}

}  // namespace
}  // namespace pawl
