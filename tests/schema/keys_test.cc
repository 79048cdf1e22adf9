#include "schema/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "schema/key_files.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kOnes(64, '1');
const std::string kTwos(64, '2');

PublicKey Key(const std::string& hex) { return *PublicKey::FromHex(hex); }

template <typename T>
std::string Why(const Result<T>& result) {
  return result ? "no fault" : result.error().message;
}

TEST(Keys, AreReadBackAsTheyWereWritten) {
  const PublicKey open = Key(kOnes);
  SecretKey secret;
  secret.bytes[3] = 7;
  EXPECT_EQ(open.Hex(), kOnes);
  EXPECT_EQ(*ParsePublicKey(PublicKeyText(open), "f"), open);
  EXPECT_EQ(*ParseSecretKey(SecretKeyText(secret), "f"), secret);
  EXPECT_EQ(*PublicKey::FromBytes(std::string(32, '\x11')), open);
  EXPECT_THAT(Why(PublicKey::FromBytes("short")), HasSubstr("5 bytes"));
}

TEST(Keys, FaultsOfAKeyFileSayWhereAndNeverQuoteIt) {
  const std::string most = "secret " + std::string(63, 'a');
  const std::pair<std::string, std::string> cases[] = {
      {"", "f: no key in it"},
      {"# nothing\n\n", "f: no key in it"},
      {"public " + kOnes, "f:1: holds a public key"},
      {"\nkey " + kOnes, "f:2: one line \"secret KEY\" is wanted"},
      {"secret", "f:1: one line"},
      {"secret " + kOnes + " more", "f:1: one line"},
      {"secret " + kOnes + "\nsecret " + kTwos, "f:2: a second key"},
      {most, "f:1: not a key; 64 hexadecimal digits are wanted, these are 63"},
      {"secret " + std::string(64, 'G'), "f:1: not a key"},
      {"secret " + kOnes.substr(1) + std::string(1, '\0'), "f:1: not a key"},
  };
  for (const auto& [text, why] : cases) {
    const std::string said = Why(ParseSecretKey(text, "f"));
    EXPECT_THAT(said, AllOf(StartsWith(why), Not(HasSubstr(std::string(63, 'a'))),
                            Not(HasSubstr(kOnes)), Not(HasSubstr("\n"))))
        << text;
  }
}

TEST(AllowList, NamesTheHostOfAKey) {
  const auto list =
      ParseAllowList("# hosts\n\n  gpu1\t" + kOnes + "  \r\ngpu2.lab " + kTwos, "allowed");
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->keys.size(), 2U);
  EXPECT_EQ(list->Find(Key(kOnes))->host, "gpu1");
  EXPECT_EQ(list->Find(Key(kTwos))->host, "gpu2.lab");
  EXPECT_EQ(list->Find(Key(std::string(64, '3'))), nullptr);
  EXPECT_EQ(ParseAllowList("", "allowed")->Find(Key(kOnes)), nullptr);
  EXPECT_EQ(AllowList{}.Find(PublicKey{}), nullptr);
}

TEST(AllowList, IsWholeWhenItsLastLineIsEnded) {
  const std::string text = "# hosts\ngpu1 " + kOnes + "\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto list = ParseAllowList(text.substr(0, cut), "allowed");
    if (list) {
      EXPECT_EQ(list->whole, cut == text.size() || cut == 8) << cut;
    }
  }
  EXPECT_TRUE(ParseAllowList("\n", "allowed")->whole) << "nobody";
}

TEST(AllowList, OneBadLineSpoilsItAndSaysWhere) {
  const std::pair<std::string, std::string> cases[] = {
      {"gpu1", "a:1: a line \"NAME KEY\""},
      {"gpu1 " + kOnes + "\ngpu2 " + kTwos.substr(1), "a:2: not a key"},
      {"gpu1 " + kOnes + " extra", "a:1: a line"},
      {"gpu1 " + kOnes + "\ngpu2 " + kOnes, "a:2: the key is there already, as gpu1's"},
      {"gpu/1 " + kOnes, "a:1: \"gpu/1\" is no name of a host"},
      {"-g " + kOnes, "no name of a host"},
      {std::string(65, 'g') + " " + kOnes, "no name of a host"},
      {"gpu1 # " + kOnes, "a:1: a line"},
  };
  for (const auto& [text, why] : cases) {
    EXPECT_THAT(Why(ParseAllowList(text, "a")), HasSubstr(why)) << text;
  }
}

TEST(AllowList, ChangesKeepWhatAPersonWrote) {
  const std::string text = "# mine\ngpu1 " + kOnes;
  const auto more = WithAllowedKey(text, "a", {"gpu2", Key(kTwos)});
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(*more, "# mine\ngpu1 " + kOnes + "\ngpu2 " + kTwos + "\n");
  EXPECT_EQ(*WithoutHost(*more, "a", "gpu1"), "# mine\ngpu2 " + kTwos + "\n");
  const auto rotated = WithAllowedKey(text, "a", {"gpu1", Key(kTwos)});
  ASSERT_TRUE(rotated);
  EXPECT_EQ(*WithoutHost(*rotated, "a", "gpu1"), "# mine\n") << "all keys of the host";
  EXPECT_THAT(Why(WithAllowedKey(text, "a", {"gpu3", Key(kOnes)})), HasSubstr("as gpu1's"));
  EXPECT_THAT(Why(WithAllowedKey(text, "a", {"a b", Key(kTwos)})), HasSubstr("no name"));
  EXPECT_THAT(Why(WithoutHost(text, "a", "gpu9")), HasSubstr("gpu9"));
  EXPECT_THAT(Why(WithoutHost("bad", "a", "gpu9")), HasSubstr("a:1:"));
}

class KeyFiles : public testing::Test {
 protected:
  static mode_t ModeOf(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }
  void Write() {
    KeyPair pair;
    pair.public_key = Key(kOnes);
    pair.secret_key.bytes.fill(9);
    const Status written = WriteKeyPair(folder_, pair);
    ASSERT_TRUE(written) << written.error().message;
  }

  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.insert(entry.path().filename());
    }
    return names;
  }

  const test::TempFolder parent_;
  const std::string folder_ = parent_ / "config/pawl/keys";
};

TEST_F(KeyFiles, AreTheirUsersOnlyAndNeverReplaced) {
  const mode_t old_mask = ::umask(0);
  Write();
  ::umask(old_mask);
  EXPECT_EQ(ModeOf(folder_), 0700U);
  EXPECT_EQ(ModeOf(folder_ + "/secret.key"), 0600U);
  EXPECT_EQ(*ReadPublicKey(folder_ + "/public.key"), Key(kOnes));
  EXPECT_EQ(*PublicKeyOrFile(folder_ + "/public.key"), Key(kOnes));
  EXPECT_EQ(*PublicKeyOrFile(kTwos), Key(kTwos));
  EXPECT_EQ(ReadSecretKey(folder_)->bytes[0], 9);
  const auto again = WriteKeyPair(folder_, KeyPair{});
  EXPECT_THAT(Why(again), AllOf(HasSubstr("secret.key"), HasSubstr("there already")));
  EXPECT_EQ(ReadSecretKey(folder_)->bytes[0], 9);
}

TEST_F(KeyFiles, ThatOthersCanReadOrWriteAreRefused) {
  Write();
  const std::string secret = folder_ + "/secret.key";
  for (const mode_t mode : {0640, 0604, 0620, 0610}) {
    ASSERT_EQ(::chmod(secret.c_str(), mode), 0);
    EXPECT_THAT(
        Why(ReadSecretKey(folder_)),
        AllOf(HasSubstr(secret), HasSubstr("other users can read"), HasSubstr("chmod 600")));
  }
  ASSERT_EQ(::chmod(secret.c_str(), 0400), 0);
  EXPECT_TRUE(ReadSecretKey(folder_));
  ASSERT_EQ(::chmod(folder_.c_str(), 0770), 0);
  EXPECT_THAT(Why(ReadSecretKey(folder_)), HasSubstr("chmod 700"));
  EXPECT_THAT(Why(ReadAllowList(folder_)), HasSubstr("chmod 700"));
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  test::WriteFile(AllowFileIn(folder_), "gpu1 " + kOnes + "\n");
  ASSERT_EQ(::chmod(AllowFileIn(folder_).c_str(), 0660), 0);
  EXPECT_THAT(Why(ReadAllowList(folder_)),
              AllOf(HasSubstr(AllowFileIn(folder_)), HasSubstr("mode 0660")));
}

TEST_F(KeyFiles, ThatAreNotThereOrBadSayWhatToDo) {
  EXPECT_THAT(Why(ReadSecretKey(folder_)), AllOf(HasSubstr(folder_), HasSubstr("pawl keys new")));
  EXPECT_THAT(Why(PublicKeyOrFile("nonsense")), HasSubstr("neither a public key"));
  Write();
  EXPECT_EQ(*ReadAllowList(folder_), (AllowList{{}, false}));
  EXPECT_THAT(Why(PublicKeyOrFile(folder_ + "/secret.key")),
              AllOf(HasSubstr("secret.key:2:"), HasSubstr("holds a secret key")));
  test::WriteFile(folder_ + "/secret.key", "secret xyz\n");
  ASSERT_EQ(::chmod((folder_ + "/secret.key").c_str(), 0600), 0);
  EXPECT_THAT(Why(ReadSecretKey(folder_)), HasSubstr("secret.key:1: not a key"));
  test::WriteFile(AllowFileIn(folder_), "gpu1 " + kOnes + "\nnonsense\n");
  ASSERT_EQ(::chmod(AllowFileIn(folder_).c_str(), 0600), 0);
  EXPECT_THAT(Why(ReadAllowList(folder_)), HasSubstr("allowed:2:"));
}

TEST_F(KeyFiles, AChangeOfTheListIsWholeOrNotMade) {
  const auto allow = [&](const std::string& host, const std::string& hex) {
    return ChangeAllowList(folder_, [&](std::string_view text) {
      return WithAllowedKey(text, AllowFileIn(folder_), {host, Key(hex)});
    });
  };
  ASSERT_TRUE(allow("gpu1", kOnes));
  EXPECT_EQ(ModeOf(AllowFileIn(folder_)), 0600U);
  EXPECT_FALSE(allow("gpu2", kOnes));
  ASSERT_TRUE(allow("gpu2", kTwos));
  EXPECT_EQ(ReadAllowList(folder_)->keys.size(), 2U);
  EXPECT_EQ(Names(), std::set<std::string>{"allowed"}) << "nothing beside";
}

// A list that is emptied is not one that is being written.
TEST_F(KeyFiles, AListOfNobodyIsWhole) {
  Write();
  const auto replace = [&](const std::string& text) {
    return ChangeAllowList(folder_, [&](std::string_view) -> Result<std::string> { return text; });
  };
  ASSERT_TRUE(replace(""));
  EXPECT_EQ(*ReadAllowList(folder_), AllowList{});
  EXPECT_TRUE(PrepareAllowList(folder_));
  std::filesystem::remove(AllowFileIn(folder_));
  EXPECT_TRUE(PrepareAllowList(folder_)) << "makes it";
  EXPECT_EQ(*ReadAllowList(folder_), AllowList{});
  ASSERT_TRUE(replace("gpu1 " + kOnes));
  EXPECT_THAT(Why(PrepareAllowList(folder_)),
              AllOf(HasSubstr("allowed is empty or ends in the middle of a line"),
                    HasSubstr("end the line")));
  EXPECT_EQ(test::ReadFile(AllowFileIn(folder_)), "gpu1 " + kOnes) << "whoever writes it goes on";
}

// What stops it in the middle: what cannot be written, and what cannot be put in place.
TEST_F(KeyFiles, APairIsWrittenWholeOrNotAtAll) {
  namespace fs = std::filesystem;
  for (const char* in_the_way : {"public.key", "public.key.new", "secret.key.new"}) {
    SCOPED_TRACE(in_the_way);
    fs::create_directories(fs::path(folder_) / in_the_way / "full");
    ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
    EXPECT_THAT(Why(WriteKeyPair(folder_, KeyPair{})), HasSubstr(in_the_way));
    EXPECT_EQ(Names(), std::set<std::string>{in_the_way}) << "nothing of the pair";
    fs::remove_all(folder_);
  }
  Write();
  EXPECT_EQ(Names(), (std::set<std::string>{"public.key", "secret.key"}));
}

// A public key without its secret one, and halves of files, as a kill may leave them.
TEST_F(KeyFiles, WhatAKilledOneHasLeftIsWrittenOver) {
  std::filesystem::create_directories(folder_);
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  test::WriteFile(folder_ + "/secret.key.new", "secret 12");
  test::WriteFile(folder_ + "/public.key.new", "pub");
  test::WriteFile(folder_ + "/public.key", "public " + kTwos + "\n");
  Write();
  EXPECT_EQ(*ReadPublicKey(folder_ + "/public.key"), Key(kOnes));
  EXPECT_EQ(ReadSecretKey(folder_)->bytes[0], 9);
  EXPECT_EQ(ModeOf(folder_ + "/secret.key"), 0600U);
  EXPECT_EQ(Names(), (std::set<std::string>{"public.key", "secret.key"}));
}

}  // namespace
}  // namespace pawl
