#include "coordinator/service/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kKey(32, '\x11');

Result<AllowList> OneHost() { return AllowList{{{"gpu1", *PublicKey::FromBytes(kKey)}}}; }
ZapRequest Request() { return {"1.0", "7", kZapDomain, "10.0.0.9", "", "CURVE", kKey}; }

TEST(Admit, NamesTheHostOfAnAllowedKey) {
  const Admission admission = Admit(Request(), OneHost());
  EXPECT_EQ(admission.status, 200);
  EXPECT_EQ(admission.host, "gpu1");
  EXPECT_THAT(ZapReply(Request(), admission),
              testing::ElementsAre("1.0", "7", "200", "", "gpu1", ""));
}

TEST(Admit, LetsNobodyInThatItCannotJudge) {
  for (std::size_t frame : {0U, 2U, 5U, 6U}) {
    for (const std::string& other : {std::string(), std::string("NULL"), std::string(32, '\0')}) {
      ZapRequest request = Request();
      request[frame] = other;
      const Admission admission = Admit(request, OneHost());
      EXPECT_EQ(admission.status, 400) << frame << " " << other;
      EXPECT_EQ(admission.host, "");
    }
  }
  for (std::size_t frames = 0; frames < 10; ++frames) {
    ZapRequest request = Request();
    request.resize(frames, kKey);
    EXPECT_EQ(Admit(request, OneHost()).status, frames == 7 ? 200 : 400) << frames;
    EXPECT_EQ(ZapReply(request, Admission{}).empty(), frames < 2);
  }
  EXPECT_EQ(Admit(Request(), AllowList{}).status, 400);
}

TEST(Admit, ABadListRefusesForNowAndTellsNoStrangerWhy) {
  const Admission admission = Admit(Request(), Error{"/keys/allowed:2: no"});
  EXPECT_EQ(admission.status, 300);
  EXPECT_EQ(admission.host, "");
  EXPECT_THAT(ZapReply(Request(), admission), testing::ElementsAre("1.0", "7", "300", "", "", ""));
}

// It may be in the rest of it.
TEST(Admit, OfAKeyThatIsNotInAHalfWrittenListNothingIsSaidForGood) {
  EXPECT_EQ(Admit(Request(), AllowList{{}, false}).status, 300);
  AllowList half = *OneHost();
  half.whole = false;
  EXPECT_EQ(Admit(Request(), half).status, 200);
  ZapRequest other = Request();
  other[6] = std::string(32, '\x22');
  EXPECT_EQ(Admit(other, half).status, 300);
  half.whole = true;
  EXPECT_EQ(Admit(other, half).status, 400);
}

TEST(Admit, AWorkersNameMustBeItsKeys) {
  Hello hello;
  hello.host = "gpu1";
  hello.worker = WorkerId("gpu1/cuda-0/3");
  EXPECT_EQ(WhyNotAs("gpu1", hello), std::nullopt);
  EXPECT_THAT(*WhyNotAs("gpu2", hello), AllOf(HasSubstr("gpu1/cuda-0/3"), HasSubstr("host gpu2")));
  EXPECT_TRUE(WhyNotAs("gpu", hello));
  hello.worker = WorkerId("gpu12/cuda-0/3");
  EXPECT_TRUE(WhyNotAs("gpu1", hello));
  hello.worker = WorkerId("gpu1/cuda-0/3");
  hello.host = "gpu2";
  EXPECT_TRUE(WhyNotAs("gpu1", hello));
}

TEST(Admit, AReportIsOfItsKeysHost) {
  EXPECT_EQ(WhyNotFrom("gpu1", WorkerId("gpu1/cuda-0/3")), std::nullopt);
  EXPECT_THAT(*WhyNotFrom("gpu2", WorkerId("gpu1/cuda-0/3")),
              AllOf(HasSubstr("gpu1/cuda-0/3"), HasSubstr("host gpu2")));
  EXPECT_TRUE(WhyNotFrom("gpu", WorkerId("gpu1/cuda-0/3")));
  EXPECT_TRUE(WhyNotFrom("gpu1", WorkerId("gpu12/cuda-0/3")));
}

Admission Unknown(char first) {
  ZapRequest request = Request();
  request[6] = std::string(32, first);
  return Admit(request, OneHost());
}

TEST(RefusalNotes, SayAKeyOnceAMinuteWithTheCommandThatAllowsIt) {
  RefusalNotes notes("/keys");
  const auto line = notes.Of(Unknown('\x22'), 1'000);
  ASSERT_TRUE(line);
  EXPECT_THAT(*line, AllOf(HasSubstr("from 10.0.0.9"), HasSubstr("pawl keys allow NAME 2222"),
                           HasSubstr("--folder /keys")));
  EXPECT_EQ(notes.Of(Unknown('\x22'), 60'999), std::nullopt);
  EXPECT_THAT(*notes.Of(Unknown('\x22'), 61'000), HasSubstr("(1 more refusals"));
}

TEST(RefusalNotes, AFloodOfStrangersIsTenLinesAMinute) {
  RefusalNotes notes("/keys");
  int lines = 0;
  for (int i = 20; i < 120; ++i) lines += notes.Of(Unknown(static_cast<char>(i)), i) ? 1 : 0;
  EXPECT_EQ(lines, 10);
  EXPECT_THAT(*notes.Of(Unknown('\x7f'), 90'000), HasSubstr("(90 more refusals"));
}

TEST(RefusalNotes, ABadListIsNotHiddenBehindStrangers) {
  RefusalNotes notes("/keys");
  for (char i = 20; i < 60; ++i) (void)notes.Of(Unknown(i), 0);
  EXPECT_THAT(*notes.Of(Admit(Request(), Error{"/keys/allowed:2: no"}), 1),
              AllOf(HasSubstr("nobody new gets in"), HasSubstr("allowed:2")));
}

}  // namespace
}  // namespace pawl
