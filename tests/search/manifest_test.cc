// What a manifest says, what is wrong with it, and the order that comes of it.

#include "coordinator/search/manifest.h"

#include <gmock/gmock.h>

#include "coordinator/search/measurement.h"
#include "coordinator/search/timed_arms.h"
#include "schema/codec.h"
#include "tests/search/search_fakes.h"

namespace pawl {
namespace {

using fakes::CopyKnobs;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kCopy = "operation = \"copy\"\nshape = { n = 64 }\n";

Manifest Parsed(const std::string& text) {
  auto manifest = ParseManifest(text, "some/m.toml");
  EXPECT_TRUE(manifest) << manifest.error().message;
  return manifest ? *std::move(manifest) : Manifest{};
}

std::string WhyNotParsed(const std::string& text) {
  const auto manifest = ParseManifest(text, "some/m.toml");
  return manifest ? "parsed" : manifest.error().message;
}

Result<Measurement> Of(const std::string& text) {
  return MeasurementOf(Parsed(text), fakes::CopyOperation(), "host");
}

std::string WhyNot(const std::string& text) {
  const auto measurement = Of(text);
  return measurement ? "made" : measurement.error().message;
}

Order OrderOf(const std::string& text, const DeviceFacts& device = fakes::Bench()) {
  const auto measurement = Of(text);
  CHECK(measurement, measurement.error().message);
  auto order = MeasurementOrder(*measurement, device);
  CHECK(order, order.error().message);
  return *std::move(order);
}

TEST(Manifest, SaysAKernelOfAPackage) {
  const Manifest manifest = Parsed(kCopy +
                                   "backend = \"host\"\nstructure = \"strip\"\n"
                                   "device = \"replay:data.csv\"\n"
                                   "instrument = \"cpu_time\"\nwarmup = 1\niterations = 2\n"
                                   "rounds = 3\nseed = 4\n[configuration]\nwidth = 2\n");
  EXPECT_EQ(manifest.operation, "copy");
  EXPECT_EQ(manifest.shape, (std::vector<Scalar>{{"n", 64}}));
  EXPECT_EQ(manifest.backend, "host");
  EXPECT_EQ(manifest.structure, "strip");
  EXPECT_EQ(manifest.device, "replay:some/data.csv") << "relative to the manifest";
  EXPECT_EQ(manifest.instrument, Instrument::kCpuTime);
  EXPECT_EQ(manifest.warmup, 1U);
  EXPECT_EQ(manifest.iterations, 2U);
  EXPECT_EQ(manifest.rounds, 3U);
  EXPECT_EQ(manifest.seed, 4U);
  ASSERT_TRUE(manifest.configuration);
  ASSERT_THAT(*manifest.configuration, SizeIs(1));
  EXPECT_EQ(manifest.configuration->front().place, "some/m.toml:12");
}

TEST(Manifest, SaysAGenerationOrTheIncumbentOfATrack) {
  Manifest manifest = Parsed("ledger = \"l\"\ntrack = 3\ngeneration = 7\n");
  EXPECT_EQ(manifest.ledger, "some/l") << "relative to the manifest";
  EXPECT_EQ(manifest.track, "3");
  EXPECT_EQ(manifest.generation, Generation(7));
  manifest = Parsed("track = \"matmul 512\"\n");
  EXPECT_EQ(manifest.track, "matmul 512");
  EXPECT_EQ(manifest.generation, std::nullopt);
}

TEST(Manifest, EveryMistakeHasItsLineAndWhatIsWanted) {
  const std::pair<std::string, testing::Matcher<std::string>> cases[] = {
      {"seed = 1\n", AllOf(HasSubstr("some/m.toml: no operation"), HasSubstr("track = 1"))},
      {"operation = \"copy\"\n", HasSubstr("some/m.toml:1: no shape")},
      {kCopy + "iteratons = 3\n",
       AllOf(HasSubstr("some/m.toml:3: unknown key 'iteratons'"), HasSubstr("'iterations'"))},
      {kCopy + "rounds = 0\n", HasSubstr("some/m.toml:3: ")},
      {kCopy + "instrument = \"wall_tim\"\n", HasSubstr("nearest is 'wall_time'")},
      {kCopy + "backend = \"gpu\"\n", AllOf(HasSubstr("some/m.toml:3"), HasSubstr("gpu"))},
      {kCopy + "structure = \"strip\"\n",
       AllOf(HasSubstr("some/m.toml:3"), HasSubstr("the committed kernel"),
             HasSubstr("[configuration]"))},
      {kCopy + "track = 1\n", HasSubstr("some/m.toml:1: operation is the track's to say")},
      {"track = 1\n[configuration]\n", HasSubstr("configuration is the track's to say")},
      {"track = 0\n", HasSubstr("some/m.toml:1: track is a number from 1")},
      {"track = true\n", HasSubstr("track is a number from 1")},
      {kCopy + "generation = 2\n", HasSubstr("some/m.toml:3: generation is of a track")},
      {kCopy + "ledger = \"l\"\n", HasSubstr("some/m.toml:3: ledger is of a track")},
  };
  for (const auto& [text, matcher] : cases) {
    EXPECT_THAT(WhyNotParsed(text), matcher) << text;
  }
}

TEST(Measurement, WithoutAConfigurationIsTheCommittedKernel) {
  const Order order = OrderOf(kCopy);
  ASSERT_THAT(order.arms, SizeIs(1));
  EXPECT_EQ(order.arms[0].role, ArmRole::kCommitted);
  EXPECT_EQ(order.arms[0].label, "committed");
  EXPECT_THAT(order.arms[0].configuration.settings, IsEmpty());
  EXPECT_THAT(order.sources[*order.arms[0].source].text, HasSubstr("copy_committed"));
  EXPECT_EQ(order.check.reference, 0U) << "every output is checked";
  Order sent = order;  // with the lease's key, as errands give it
  sent.track = TrackId(1);
  sent.generation = Generation(1);
  sent.attempt = Attempt(1);
  const Result<Order> decoded = DecodeOrder(EncodeOrder(sent));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, sent);
}

TEST(Measurement, OfAConfigurationStartsFromTheStructuresOwn) {
  const Order order = OrderOf(kCopy + "structure = \"strip\"\n[configuration]\nunroll = 4\n");
  EXPECT_EQ(order.arms[0].role, ArmRole::kCandidate);
  EXPECT_EQ(order.arms[0].configuration, CopyKnobs(1, 4, "plain"));
  EXPECT_THAT(order.sources[*order.arms[0].source].text, HasSubstr("unroll = 4"));
}

TEST(Measurement, TakesItsTermsFromTheManifestAndElseFromTheProblem) {
  const Order own = OrderOf(kCopy);
  EXPECT_EQ(own.timing, (Timing{Instrument::kWallTime, 10, 60, false}));
  EXPECT_THAT(own.rounds, SizeIs(4));
  for (std::uint32_t round = 0; round < 4; ++round) {
    EXPECT_EQ(own.rounds[round], (RoundPlan{true, {{0, round % 2}}})) << "each input set in turn";
  }
  const Order given = OrderOf(kCopy +
                              "instrument = \"cpu_time\"\nwarmup = 1\niterations = 2\nrounds = 3\n"
                              "seed = 42\n");
  EXPECT_EQ(given.timing, (Timing{Instrument::kCpuTime, 1, 2, false}));
  EXPECT_THAT(given.rounds, SizeIs(3));
  EXPECT_NE(InputsDigest(own), InputsDigest(given)) << "another seed, other inputs";
}

// So that a kernel can be measured again on what a search measured it on.
TEST(Measurement, HasTheInputsOfATrackOfItsSeed) {
  const Order order = OrderOf(kCopy + "seed = 42\n");
  const Workshop workshop = fakes::CopyWorkshop(
      fakes::CopySpec(), std::make_unique<fakes::PlainPolicy>(), fakes::Everything());
  EXPECT_EQ(order.input_seeds, workshop.base.input_seeds);
  EXPECT_EQ(order.check, workshop.base.check);
  EXPECT_EQ(order.buffers, workshop.base.buffers);
  EXPECT_EQ(InputsDigest(order), InputsDigest(workshop.base));
}

TEST(Measurement, OfATrackTakesTheTracksTerms) {
  const TrackSpec spec = fakes::CopySpec();
  const auto measurement =
      MeasurementOf(Parsed("track = 1\niterations = 9\n"), spec, fakes::CopyOperation(),
                    CopyKnobs(2, 2, "stream"), "incumbent of track 1");
  ASSERT_TRUE(measurement) << measurement.error().message;
  const auto order = MeasurementOrder(*measurement, fakes::Bench());
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_EQ(order->timing, (Timing{Instrument::kWallTime, 3, 9, false}));
  EXPECT_EQ(order->arms[0].configuration, CopyKnobs(2, 2, "stream"));
  EXPECT_EQ(order->arms[0].label, "incumbent of track 1");
}

TEST(Measurement, OfATrackThatWantsPinnedClocksIsForAWorkerThatPinsThem) {
  TrackSpec spec = fakes::CopySpec();
  spec.require_pinned = true;
  const auto measurement = MeasurementOf(Parsed("track = 1\n"), spec, fakes::CopyOperation(),
                                         CopyKnobs(2, 2, "stream"), "incumbent of track 1");
  ASSERT_TRUE(measurement) << measurement.error().message;
  DeviceFacts device = fakes::Bench();
  device.kind = "cuda";
  EXPECT_EQ(
      WhyNotMeasure(*measurement, device).value_or(""),
      "the track wants pinned clocks (clocks = \"require-pinned\"), this worker observes them; "
      "start it with --clocks pin");
  device.pinned_mhz = 1200;
  EXPECT_EQ(WhyNotMeasure(*measurement, device), std::nullopt);
}

TEST(Measurement, EveryMistakeHasItsLine) {
  EXPECT_THAT(WhyNot("operation = \"copy\"\nshape = { m = 64 }\n"), HasSubstr("some/m.toml:2"));
  EXPECT_THAT(WhyNot(kCopy + "structure = \"stripe\"\n[configuration]\n"),
              AllOf(HasSubstr("some/m.toml:3"), HasSubstr("have: paper, strip")));
  EXPECT_THAT(WhyNot(kCopy + "[configuration]\nwidth = 2\n"),
              AllOf(HasSubstr("some/m.toml:3"), HasSubstr("name one with structure")));
  const std::string strip = kCopy + "structure = \"strip\"\n[configuration]\n";
  EXPECT_THAT(WhyNot(strip + "unrol = 4\n"),
              AllOf(HasSubstr("some/m.toml:5: unknown knob 'unrol' in [configuration]"),
                    HasSubstr("nearest is 'unroll'")));
  EXPECT_THAT(WhyNot(strip + "unroll = 3\n"),
              AllOf(HasSubstr("some/m.toml:5"), HasSubstr("(1, 2, 4, 8)")));
  EXPECT_THAT(WhyNot(strip + "unroll = 8\nwidth = 8\n"),
              AllOf(HasSubstr("some/m.toml:4"), HasSubstr("64 elements at once, 16 allowed")));
  const auto elsewhere = MeasurementOf(Parsed(kCopy), fakes::CopyOperation(), "cuda");
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message,
              AllOf(HasSubstr("some/m.toml:1"), HasSubstr("no backend cuda (have: host)")));
}

TEST(Measurement, SaysWhyADeviceCannotTakeIt) {
  const auto why = [](const std::string& text, DeviceFacts device) {
    return WhyNotMeasure(*Of(text), device).value_or("it can");
  };
  const DeviceFacts bench = fakes::Bench();
  EXPECT_EQ(why(kCopy, bench), "it can");
  DeviceFacts gpu = bench;
  gpu.backend = "cuda";
  EXPECT_THAT(why(kCopy, gpu), HasSubstr("device bench runs cuda"));
  DeviceFacts emulated = gpu;
  emulated.kind = "emulated";
  EXPECT_THAT(why(kCopy, emulated), HasSubstr("never times"));
  EXPECT_THAT(why(kCopy + "instrument = \"event_span\"\n", bench),
              HasSubstr("no instrument event_span (have: cpu_time, wall_time)"));
  const std::string paper = kCopy + "structure = \"paper\"\n[configuration]\n";
  EXPECT_THAT(why(paper, bench), HasSubstr("only a replay"));
  DeviceFacts replay = bench;
  replay.kind = "replay";
  replay.backend = "";
  replay.needs_source = false;
  EXPECT_EQ(why(paper, replay), "it can");
  const Order order = OrderOf(paper, replay);
  EXPECT_THAT(order.sources, IsEmpty());
  EXPECT_EQ(order.check.reference, std::nullopt);
  EXPECT_EQ(order.arms[0].configuration, CopyKnobs(1, 1, "plain"));
}

}  // namespace
}  // namespace pawl
