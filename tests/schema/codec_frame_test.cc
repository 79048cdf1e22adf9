// The envelope: what is refused before a payload is parsed.

#include <gtest/gtest.h>

#include "schema/codec.h"
#include "tests/support/samples.h"

namespace pawl {
namespace {

constexpr std::size_t kEnvelopeBytes = 12;

std::string Frame() { return EncodeMessage(Welcome{LedgerId(std::string(32, 'a')), Epoch(1)}); }

std::string ErrorOf(std::string_view frame) {
  const Result<Message> message = DecodeMessage(frame);
  return message ? "none" : message.error().message;
}

TEST(Frame, BeginsWithMagicVersionTypeAndLength) {
  const std::string frame = Frame();
  const std::string envelope = frame.substr(0, kEnvelopeBytes);
  const auto length = static_cast<char>(frame.size() - kEnvelopeBytes);
  EXPECT_EQ(envelope, std::string("PAWL\1\1\2\0", 8) + std::string({length, 0, 0, 0}));
}

TEST(Frame, OfAnotherMajorIsRefusedUnparsedByName) {
  std::string frame = Frame().substr(0, kEnvelopeBytes) + "no payload that this release could read";
  frame[4] = 9;
  frame[5] = 3;
  EXPECT_EQ(
      ErrorOf(frame),
      "frame of protocol version 9.3, this is 1.1: use coordinator and worker of one release");
  EXPECT_EQ(PeekVersion(frame), (FrameVersion{9, 3}));
  frame.resize(6);
  EXPECT_NE(ErrorOf(frame).find("version 9.3"), std::string::npos);
}

TEST(Frame, OfANewerMinorIsRead) {
  std::string frame = Frame();
  frame[5] = 7;
  EXPECT_TRUE(DecodeMessage(frame));
  EXPECT_EQ(PeekVersion(frame), (FrameVersion{1, 7}));
}

TEST(Frame, OfAnotherProgramIsNotOurs) {
  for (const std::string_view frame :
       {"", "P", "PAWL", "PAWL\1", "GET / HTTP/1.1\r\n\r\n", "pawl\1\0\2\0\0\0\0\0"}) {
    EXPECT_EQ(PeekVersion(frame), std::nullopt);
    EXPECT_NE(ErrorOf(frame).find("is not pawl's"), std::string::npos) << ErrorOf(frame);
  }
}

TEST(Frame, OfAnUnknownTypeIsRefused) {
  for (const int type : {0, 18, 255}) {
    std::string frame = Frame();
    frame[6] = static_cast<char>(type);
    EXPECT_NE(ErrorOf(frame).find("unknown type " + std::to_string(type)), std::string::npos);
  }
  std::string frame = Frame();
  frame[7] = 1;
  EXPECT_EQ(ErrorOf(frame),
            "frame of unknown type 2/1, 1 to 17 known to protocol 1.1 (the frame says 1.1)");
}

TEST(Frame, CutOrExtendedAnywhereIsRefused) {
  for (const auto& [name, message] : test::SampleMessages()) {
    const std::string frame = EncodeMessage(message);
    for (std::size_t size = 0; size < frame.size(); ++size) {
      EXPECT_NE(ErrorOf(frame.substr(0, size)), "none") << name << " cut to " << size;
    }
    const std::string payload = std::to_string(frame.size() - kEnvelopeBytes);
    const std::string longer = std::to_string(frame.size() - kEnvelopeBytes + 8);
    EXPECT_EQ(ErrorOf(frame + "12345678"),
              "frame says " + payload + " bytes of payload and has " + longer);
  }
}

// A payload whose length is right, yet no whole number of words.
TEST(Frame, WithAnOddPayloadIsRefused) {
  std::string frame = Frame() + "xyz";
  frame[8] = static_cast<char>(frame.size() - kEnvelopeBytes);
  EXPECT_NE(ErrorOf(frame).find("a positive multiple of 8 wanted"), std::string::npos);
  std::string empty = Frame().substr(0, kEnvelopeBytes);
  empty[8] = 0;
  EXPECT_EQ(ErrorOf(empty), "welcome: damaged payload: 0 bytes, a positive multiple of 8 wanted");
}

TEST(Frame, LongerThanTheLinkTakesIsRefused) {
  const std::string frame(kMaxMessageBytes + 1, 'x');
  EXPECT_EQ(ErrorOf(frame), "frame of 1048577 bytes, at most 1048576 wanted");
}

TEST(FrameDeathTest, WritingOneTooLongForTheLinkIsABug) {
  Order order = test::SampleOrder();
  order.sources[1].text = std::string(kMaxMessageBytes, 'x');
  EXPECT_DEATH(EncodeMessage(Grant{order, Epoch(1), 60'000}), "GRANT of");
}

TEST(Frame, SaysWhatIsWrongInALine) {
  for (const auto& [name, message] : test::SampleMessages()) {
    std::string frame = EncodeMessage(message);
    for (std::size_t i = kEnvelopeBytes; i < frame.size(); ++i) frame[i] = '\xff';
    const std::string error = ErrorOf(frame);
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_EQ(error.rfind(name == "report" ? "report_message" : name, 0), 0u) << error;
  }
}

}  // namespace
}  // namespace pawl
