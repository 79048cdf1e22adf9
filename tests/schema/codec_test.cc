// What is encoded comes back, and the bytes stay what they are.

#include "schema/codec.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "tests/support/places.h"
#include "tests/support/samples.h"

namespace pawl {
namespace {

using test::SampleEvents;
using test::SampleMessages;
using test::SampleOrder;
using test::SampleReport;
using test::SampleSnapshot;

// Equal, and equal bytes again.
#define EXPECT_ROUND_TRIP(Type, value)               \
  do {                                               \
    const std::string bytes = Encode##Type(value);   \
    const auto decoded = Decode##Type(bytes);        \
    ASSERT_TRUE(decoded) << decoded.error().message; \
    EXPECT_EQ(*decoded, value);                      \
    EXPECT_EQ(Encode##Type(*decoded), bytes);        \
  } while (false)

TEST(Codec, GivesEveryMessageBack) {
  for (const auto& [name, message] : SampleMessages()) {
    SCOPED_TRACE(name);
    EXPECT_ROUND_TRIP(Message, message);
  }
}

TEST(Codec, GivesEveryEventBack) {
  for (const auto& [name, event] : SampleEvents()) {
    SCOPED_TRACE(name);
    EXPECT_ROUND_TRIP(Event, event);
  }
}

// An audit's: what passed has checks and no rounds.
Report SampleAuditReport() {
  Report report = SampleReport();
  report.kind = OrderKind::kAudit;
  report.outcome = {};
  report.checks.pop_back();
  report.rounds.clear();
  return report;
}

// With the clocks held: fields that earlier releases left at 0.
Report SamplePinnedReport() {
  Report report = test::SampleGpuReport();
  report.conditions.pinned_mhz = 1500;
  return report;
}

Hello SamplePinnedHello() {
  Hello hello = std::get<Hello>(SampleMessages()[0].message);
  hello.device.pinned_mhz = 1500;
  return hello;
}

Event SamplePinnedTrack() {
  for (const auto& [name, event] : SampleEvents()) {
    if (name != "track_opened") continue;
    Event pinned = event;
    std::get<TrackOpened>(pinned.body).spec.require_pinned = true;
    return pinned;
  }
  return {};
}

TEST(Codec, GivesOrderReportAndSnapshotBack) {
  EXPECT_ROUND_TRIP(Order, SampleOrder());
  EXPECT_ROUND_TRIP(Order, test::SampleAudit());
  EXPECT_ROUND_TRIP(Report, SampleReport());
  EXPECT_ROUND_TRIP(Report, test::SampleGpuReport());
  EXPECT_ROUND_TRIP(Report, SamplePinnedReport());
  EXPECT_ROUND_TRIP(Message, Message(SamplePinnedHello()));
  EXPECT_ROUND_TRIP(Event, SamplePinnedTrack());
  EXPECT_ROUND_TRIP(Report, SampleAuditReport());
  EXPECT_ROUND_TRIP(Snapshot, SampleSnapshot());
}

TEST(Codec, SamplesHaveOneOfEachKind) {
  ASSERT_EQ(SampleMessages().size(), std::variant_size_v<Message>);
  std::size_t index = 0;
  for (const auto& [name, message] : SampleMessages()) EXPECT_EQ(message.index(), index++) << name;
  std::vector<bool> seen(std::variant_size_v<EventBody>);
  for (const auto& [name, event] : SampleEvents()) seen[event.body.index()] = true;
  EXPECT_EQ(seen, std::vector<bool>(seen.size(), true));
}

// Bytes written by the first release, or since: a ledger of theirs must open for ever, and digests
// of orders and reports must not change. Set PAWL_WRITE_SAMPLES=1 to write the files that are
// missing.
TEST(Codec, ReadsAndWritesTheBytesOfEarlierReleases) {
  std::map<std::string, std::string> bytes = {
      {"order", EncodeOrder(SampleOrder())},
      {"order_audit", EncodeOrder(test::SampleAudit())},
      {"snapshot", EncodeSnapshot(SampleSnapshot())},
      {"report", EncodeReport(SampleReport())},
      {"report_gpu", EncodeReport(test::SampleGpuReport())},
      {"report_pinned", EncodeReport(SamplePinnedReport())},
      {"message_hello_pinned", EncodeMessage(SamplePinnedHello())},
      {"event_track_opened_pinned", EncodeEvent(SamplePinnedTrack())}};
  for (const auto& [name, message] : SampleMessages()) {
    bytes["message_" + name] = EncodeMessage(message);
  }
  for (const auto& [name, event] : SampleEvents()) bytes["event_" + name] = EncodeEvent(event);
  const std::filesystem::path folder = test::SourceFolder() + "/tests/fuzz/corpus/codec";
  for (const auto& [name, wanted] : bytes) {
    const std::filesystem::path file = folder / (name + ".bin");
    if (std::getenv("PAWL_WRITE_SAMPLES") != nullptr && !std::filesystem::exists(file)) {
      std::ofstream(file, std::ios::binary) << wanted;
    }
    std::ostringstream kept;
    kept << std::ifstream(file, std::ios::binary).rdbuf();
    // A frame says the minor version of who wrote it, and is read whatever that is.
    std::string expected = wanted;
    if (name.starts_with("message_") && kept.str().size() > 5) expected[5] = kept.str()[5];
    EXPECT_TRUE(kept.str() == expected) << file << " has other bytes than this build writes";
  }
}

TEST(Codec, TakesBytesAtAnyAddress) {
  const std::string bytes = EncodeOrder(SampleOrder());
  for (std::size_t shift = 0; shift < 8; ++shift) {
    const std::string shifted = std::string(shift, 'x') + bytes;
    const Result<Order> order = DecodeOrder(std::string_view(shifted).substr(shift));
    ASSERT_TRUE(order) << order.error().message;
    EXPECT_EQ(*order, SampleOrder());
  }
}

TEST(Codec, WritesEqualSetsAsEqualBytes) {
  Snapshot forwards = SampleSnapshot();
  Snapshot backwards = forwards;
  forwards.tracks[0].tried.clear();
  backwards.tracks[0].tried = std::unordered_set<std::uint64_t>(10'000);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    forwards.tracks[0].tried.insert(i * 7919);
    backwards.tracks[0].tried.insert((999 - i) * 7919);
  }
  EXPECT_EQ(EncodeSnapshot(forwards), EncodeSnapshot(backwards));
}

TEST(Codec, CarriesTheLargestSourcesThatFit) {
  Order order = SampleOrder();
  order.sources[1].text = std::string(1'000'000, '\n');
  order.sources[1].digest = Sha256(order.sources[1].text);
  const Message grant = Grant{order, Epoch(1), 60'000};
  EXPECT_ROUND_TRIP(Message, grant);
}

TEST(Codec, CarriesTheLongestRounds) {
  Order order = SampleOrder();
  order.rounds.assign(64, {true, std::vector<VisitPlan>(256)});
  EXPECT_ROUND_TRIP(Order, order);
  Report report = SampleReport();
  report.rounds.assign(64, {std::vector<VisitMedian>(256, {1, 1, 1.5, 2450})});
  const Message message = ReportMessage{report};
  EXPECT_ROUND_TRIP(Message, message);
}

TEST(Codec, KeepsAMillionTriedConfigurations) {
  Snapshot snapshot = SampleSnapshot();
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    snapshot.tracks[0].tried.insert(i * 0x9e3779b97f4a7c15);
  }
  const std::string bytes = EncodeSnapshot(snapshot);
  EXPECT_LT(bytes.size(), 8'100'000u);
  const Result<Snapshot> decoded = DecodeSnapshot(bytes);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_TRUE(*decoded == snapshot);
}

TEST(Codec, MakesTextForPeopleFit) {
  Report report = SampleReport();
  report.outcome.detail = "segfault\nat \x1b[31mline\x7f 3: \xff\xc3(\xc2\x9b";
  report.builds[0].log = "one\ntwo\tthree\r\n" + std::string(5000, 'x');
  const Result<Report> decoded = DecodeReport(EncodeReport(report));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->outcome.detail, "segfault at  [31mline  3: ?\?( ");
  EXPECT_EQ(decoded->builds[0].log, "one\ntwo\tthree \n" + std::string(4096 - 15 - 3, 'x') + "...");
  EXPECT_EQ(EncodeReport(*decoded), EncodeReport(report));
}

TEST(Codec, CutsLongTextBetweenCharacters) {
  Report report = SampleReport();
  for (std::size_t before = 0; before < 4; ++before) {
    report.outcome.detail = std::string(before, 'x');
    for (int i = 0; i < 2000; ++i) report.outcome.detail += "\xe2\x80\x98";
    const Result<Report> decoded = DecodeReport(EncodeReport(report));
    ASSERT_TRUE(decoded) << decoded.error().message;
    const std::string& detail = decoded->outcome.detail;
    EXPECT_GT(detail.size(), 4096u - 3);
    EXPECT_LE(detail.size(), 4096u);
    EXPECT_EQ(detail.substr(detail.size() - 6), "\xe2\x80\x98...");
  }
}

}  // namespace
}  // namespace pawl
