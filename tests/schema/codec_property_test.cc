// Whatever is valid comes back, and from equal values come equal bytes.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schema/codec.h"
#include "tests/fuzz/codec_target.h"
#include "tests/support/generators.h"
#include "tests/support/mutate.h"

namespace pawl {
namespace {

#define ASSERT_ROUND_TRIP(Type, value)              \
  do {                                              \
    const std::string bytes = Encode##Type(value);  \
    const auto decoded = Decode##Type(bytes);       \
    if (!decoded) RC_FAIL(decoded.error().message); \
    RC_ASSERT(*decoded == (value));                 \
    RC_ASSERT(Encode##Type(*decoded) == bytes);     \
  } while (false)

RC_GTEST_PROP(CodecProperty, OrdersComeBack, (const Order& order)) {
  ASSERT_ROUND_TRIP(Order, order);
}

RC_GTEST_PROP(CodecProperty, ReportsComeBack, (const Report& report)) {
  ASSERT_ROUND_TRIP(Report, report);
}

RC_GTEST_PROP(CodecProperty, EventsComeBack, (const Event& event)) {
  ASSERT_ROUND_TRIP(Event, event);
}

RC_GTEST_PROP(CodecProperty, SnapshotsComeBack, (const Snapshot& snapshot)) {
  ASSERT_ROUND_TRIP(Snapshot, snapshot);
}

RC_GTEST_PROP(CodecProperty, MessagesOfEveryTypeComeBack, ()) {
  for (std::size_t type = 0; type < std::variant_size_v<Message>; ++type) {
    const Message message = *test::AnyMessageOfType(type);
    RC_ASSERT(message.index() == type);
    ASSERT_ROUND_TRIP(Message, message);
  }
}

RC_GTEST_PROP(CodecProperty, DamagedMessagesGiveAValueOrAnError, ()) {
  const Message message = *test::AnyMessage();
  const Message other = *test::AnyMessage();
  test::Mutator mutator(*rc::gen::arbitrary<std::uint64_t>());
  std::string frame = mutator.Mutate(EncodeMessage(message), EncodeMessage(other));
  if (*rc::gen::arbitrary<bool>()) test::MendLength(frame);
  test::ProbeMessage(frame);
}

RC_GTEST_PROP(CodecProperty, AnyTextOfAWorkerArrives, (Report report, const std::string& text)) {
  report.outcome.detail = text;
  for (BuildFacts& build : report.builds) build.log = text;
  const std::string bytes = EncodeReport(report);
  const Result<Report> decoded = DecodeReport(bytes);
  if (!decoded) RC_FAIL(decoded.error().message);
  RC_ASSERT(EncodeReport(*decoded) == bytes);
}

RC_GTEST_PROP(ConfigurationProperty, EqualOnesHaveEqualHashesAndOthersNot,
              (const Configuration& one, const Configuration& other)) {
  RC_ASSERT((one == other) == (one.Hash() == other.Hash()));
  const Configuration copy = one;
  RC_ASSERT(copy.Hash() == one.Hash());
}

}  // namespace
}  // namespace pawl
