// Damaged and hostile bytes: never a crash, never more memory than the bytes warrant.

#include <gtest/gtest.h>

#include <cstring>

#include "tests/fuzz/codec_target.h"
#include "tests/support/mutate.h"
#include "tests/support/samples.h"

namespace pawl {
namespace {

using test::ProbeCodec;

// A thousand damaged frames of each of the 15 types. ProbeCodec aborts on a broken promise.
TEST(DecodeMessage, TakesFifteenThousandDamagedFramesWithoutACrash) {
  const auto messages = test::SampleMessages();
  std::vector<std::string> frames;
  for (const auto& [name, message] : messages) frames.push_back(EncodeMessage(message));
  test::Mutator mutator(20240607);
  std::size_t taken = 0;
  std::size_t refused = 0;
  for (std::size_t type = 0; type < frames.size(); ++type) {
    for (int i = 0; i < 1000; ++i) {
      std::string frame = mutator.Mutate(frames[type], frames[mutator.Below(frames.size())]);
      // Every other one is given the length it has, so that the damage gets past the envelope.
      if (i % 2 == 0) test::MendLength(frame);
      ++(test::ProbeMessage(frame) ? taken : refused);
    }
  }
  EXPECT_GT(taken, 1000u);
  EXPECT_GT(refused, 5000u);
}

TEST(Decode, TakesDamagedRecordsWithoutACrash) {
  std::vector<std::string> records = {EncodeOrder(test::SampleOrder()),
                                      EncodeReport(test::SampleReport()),
                                      EncodeSnapshot(test::SampleSnapshot())};
  for (const auto& [name, event] : test::SampleEvents()) records.push_back(EncodeEvent(event));
  test::Mutator mutator(7);
  for (const std::string& record : records) {
    for (int i = 0; i < 300; ++i) {
      ProbeCodec(mutator.Mutate(record, records[mutator.Below(records.size())]));
    }
  }
}

// Cap'n Proto by hand: a word of the payload, and where a pointer leads.
class Words {
 public:
  explicit Words(std::string bytes) : bytes_(std::move(bytes)) {}

  std::uint64_t Get(std::size_t word) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + 8 * word, 8);
    return value;
  }
  void Set(std::size_t word, std::uint64_t value) {
    std::memcpy(bytes_.data() + 8 * word, &value, 8);
  }
  // The word that the struct or list pointer at `word` leads to.
  std::size_t Target(std::size_t word) const {
    return word + 1 + static_cast<std::size_t>(static_cast<std::int32_t>(Get(word)) >> 2);
  }
  // Lets the pointer at `word` lead to where the one at `other` does.
  void Alias(std::size_t word, std::size_t other) {
    const auto offset =
        static_cast<std::int64_t>(Target(other)) - static_cast<std::int64_t>(word) - 1;
    Set(word,
        (Get(other) & 0xffffffff00000003) | (static_cast<std::uint64_t>(offset << 2) & 0xfffffffc));
  }
  std::size_t DataWords(std::size_t word) const { return Get(word) >> 32 & 0xffff; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// 64 sources that are one: 56 MB to read out of less than 1 MB.
TEST(DecodeOrder, RefusesOneTextReadManyTimes) {
  constexpr std::size_t kSourcesPointer = 5;  // backend, operation, device model, buffers, scalars
  constexpr std::size_t kDigestPointer = 1;
  constexpr std::size_t kTextPointer = 2;
  Order order = test::SampleOrder();
  const std::string text(900'000, 'x');
  order.sources.assign(64, {"x.cc", Sha256("y"), "y", {}});
  order.sources[0] = {"x.cc", Sha256(text), text, {}};
  Words words(EncodeOrder(order));
  const std::size_t root = words.Target(0);
  const std::size_t list = words.Target(root + words.DataWords(0) + kSourcesPointer);
  const std::size_t element_words = words.Get(list) >> 48;  // pointers only
  ASSERT_EQ(element_words, 4u);
  const std::size_t first = list + 1;
  for (std::size_t i = 1; i < 64; ++i) {
    const std::size_t element = first + i * element_words;
    words.Alias(element + kDigestPointer, first + kDigestPointer);
    words.Alias(element + kTextPointer, first + kTextPointer);
  }
  const Result<Order> decoded = DecodeOrder(words.bytes());
  ASSERT_FALSE(decoded);
  EXPECT_NE(
      decoded.error().message.find("order: damaged payload: Exceeded message traversal limit"),
      std::string::npos)
      << decoded.error().message;
  // The same with two of them is an order like any other.
  order.sources.resize(3);
  Words two(EncodeOrder(order));
  const std::size_t sources = two.Target(two.Target(0) + two.DataWords(0) + kSourcesPointer) + 1;
  two.Alias(sources + element_words + kDigestPointer, sources + kDigestPointer);
  two.Alias(sources + element_words + kTextPointer, sources + kTextPointer);
  const Result<Order> shared = DecodeOrder(two.bytes());
  ASSERT_TRUE(shared) << shared.error().message;
  EXPECT_EQ(shared->sources[1].text.size(), text.size());
}

// Three words that claim a list of 2^29 elements of no size.
TEST(DecodeMessage, RefusesListsThatTakeNoRoom) {
  const auto pointer_to_list = [](std::uint64_t element_size, std::uint64_t count) {
    return 1u | element_size << 32 | count << 35;
  };
  for (const std::uint64_t count :
       {std::uint64_t{257}, std::uint64_t{1} << 20, (std::uint64_t{1} << 29) - 1}) {
    // BEAT_ACK: no data, one pointer, to a list of structs whose tag says `count` structs of no
    // words.
    std::string payload(24, '\0');
    const std::uint64_t root = std::uint64_t{1} << 48;
    const std::uint64_t list = pointer_to_list(7, 0);
    const std::uint64_t tag = count << 2;
    std::memcpy(payload.data(), &root, 8);
    std::memcpy(payload.data() + 8, &list, 8);
    std::memcpy(payload.data() + 16, &tag, 8);
    std::string frame = EncodeMessage(BeatAck{}).substr(0, 12) + payload;
    test::MendLength(frame);
    const Result<Message> message = DecodeMessage(frame);
    ASSERT_FALSE(message) << count;
    EXPECT_EQ(message.error().message.rfind("beat_ack", 0), 0u) << message.error().message;
  }
}

TEST(DecodeReport, RefusesPointersOutOfTheMessage) {
  const std::string bytes = EncodeReport(test::SampleReport());
  const Words clean(bytes);
  const std::size_t pointers = clean.Target(0) + clean.DataWords(0);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    for (const std::uint64_t kind : {0, 1, 2, 3}) {  // struct, list, far, other
      Words words(bytes);
      words.Set(pointers + i, (words.Get(pointers + i) & 0xffffffff00000000) | 0x7ffffff8 | kind);
      refused += DecodeReport(words.bytes()) ? 0 : 1;
    }
  }
  EXPECT_EQ(refused, 32u);
}

}  // namespace
}  // namespace pawl
