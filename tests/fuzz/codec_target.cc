#include "tests/fuzz/codec_target.h"

#include "schema/check.h"

namespace pawl::test {
namespace {

constexpr std::size_t kEnvelopeBytes = 12;

template <typename Value, typename Decode, typename Encode>
bool Probe(const Result<Value>& value, Decode decode, Encode encode) {
  if (!value) {
    const std::string& message = value.error().message;
    CHECK(!message.empty() && message.find('\n') == std::string::npos, message);
    CHECK(message.size() < 10'000, message.size());
    return false;
  }
  // Damage can leave what no encoder would write (fields in another order, blanks between them), so
  // these bytes may differ from the ones decoded; from here on they do not.
  const std::string bytes = encode(*value);
  const Result<Value> again = decode(bytes);
  CHECK(again.has_value(), again.has_value() ? "" : again.error().message);
  CHECK(*again == *value);
  CHECK(encode(*again) == bytes);
  return true;
}

}  // namespace

bool ProbeMessage(std::string_view frame) {
  return Probe(DecodeMessage(frame), DecodeMessage, EncodeMessage);
}

void ProbeCodec(std::string_view bytes) {
  ProbeMessage(bytes);
  Probe(DecodeOrder(bytes), DecodeOrder, EncodeOrder);
  Probe(DecodeReport(bytes), DecodeReport, EncodeReport);
  Probe(DecodeEvent(bytes), DecodeEvent, EncodeEvent);
  Probe(DecodeSnapshot(bytes), DecodeSnapshot, EncodeSnapshot);
}

void MendLength(std::string& frame) {
  if (frame.size() < kEnvelopeBytes) return;
  const std::size_t length = frame.size() - kEnvelopeBytes;
  for (int i = 0; i < 4; ++i) frame[8 + i] = static_cast<char>(length >> (8 * i));
}

}  // namespace pawl::test
