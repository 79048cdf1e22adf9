// Files that are kept for good: numbered, never written over.

#include "coordinator/service/kept_files.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/process.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string KeptAs(const std::string& folder, const std::string& text) {
  const auto name = Keep(folder, "track-1-sitting-", ".json", text);
  return name ? *name : "error: " + name.error().message;
}

TEST(KeptFiles, EachGetsTheNextNumberAndStaysAsItIs) {
  TempFolder temp;
  const std::string folder = temp / "captures";
  EXPECT_EQ(KeptAs(folder, "one"), "track-1-sitting-0001.json");
  EXPECT_EQ(KeptAs(folder, "two"), "track-1-sitting-0002.json");
  test::WriteFile(folder + "/track-1-sitting-0041.json", "by hand");
  EXPECT_EQ(KeptAs(folder, "last"), "track-1-sitting-0042.json");
  const auto kept = ReadKept(folder, "track-1-sitting-", ".json");
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_THAT(*kept, SizeIs(4));
  EXPECT_EQ((*kept)[0].text, "one");
  EXPECT_EQ((*kept)[1].text, "two");
  EXPECT_EQ((*kept)[2].text, "by hand");
  EXPECT_EQ((*kept)[3].name, "track-1-sitting-0042.json");
}

TEST(KeptFiles, AFreedNumberIsNotGivenAgainBelowTheHighest) {
  TempFolder temp;
  EXPECT_EQ(KeptAs(temp.path(), "one"), "track-1-sitting-0001.json");
  EXPECT_EQ(KeptAs(temp.path(), "two"), "track-1-sitting-0002.json");
  fs::remove(temp / "track-1-sitting-0001.json");
  EXPECT_EQ(KeptAs(temp.path(), "three"), "track-1-sitting-0003.json");
}

TEST(KeptFiles, OthersInTheFolderAreLeftAlone) {
  TempFolder temp;
  for (const char* name : {"track-10-sitting-0007.json", "track-1-sitting-.json", "notes.txt",
                           "track-1-sitting-7x.json", "track-1-sitting-0000.json"}) {
    test::WriteFile(temp / name, "other");
  }
  EXPECT_EQ(KeptAs(temp.path(), "one"), "track-1-sitting-0001.json");
  const auto kept = ReadKept(temp.path(), "track-1-sitting-", ".json");
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_THAT(*kept, SizeIs(1));
  EXPECT_EQ(std::distance(fs::directory_iterator(temp.path()), fs::directory_iterator()), 6)
      << "no draft stays behind";
}

TEST(KeptFiles, OneThatCannotBeReadKeepsNoOtherFromBeing) {
  TempFolder temp;
  fs::create_directory(temp / "track-1-sitting-0001.json");
  fs::create_symlink("nowhere", temp / "track-1-sitting-0002.json");
  test::WriteFile(temp / "track-1-sitting-0003.json", "");
  EXPECT_EQ(KeptAs(temp.path(), "four"), "track-1-sitting-0004.json");
  const auto kept = ReadKept(temp.path(), "track-1-sitting-", ".json");
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_THAT(*kept, SizeIs(4));
  for (const std::size_t unread : {0, 1}) {
    EXPECT_EQ((*kept)[unread].problem, "cannot read " + (temp / (*kept)[unread].name));
  }
  EXPECT_EQ((*kept)[2].problem, "");
  EXPECT_EQ((*kept)[3].text, "four");
}

TEST(KeptFiles, NoFolderHoldsNone) {
  TempFolder temp;
  const auto kept = ReadKept(temp / "absent", "s-", ".json");
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_THAT(*kept, IsEmpty());
}

TEST(KeptFiles, AFolderThatCannotBeMadeIsSaid) {
  TempFolder temp;
  test::WriteFile(temp / "file", "x");
  EXPECT_THAT(KeptAs(temp / "file/captures", "one"), HasSubstr("cannot make"));
}

TEST(KeptFiles, TheFolderIsMadeBeforeThereIsSomethingToKeep) {
  TempFolder temp;
  test::WriteFile(temp / "file", "x");
  fs::create_symlink("nowhere", temp / "dangling");
  const auto why = [](const std::string& folder) {
    const Status keepable = MakeKeepable(folder);
    return keepable ? std::string() : keepable.error().message;
  };
  EXPECT_EQ(why(temp.path()), "");
  EXPECT_EQ(why(temp / "a/b/c/"), "");
  EXPECT_TRUE(fs::is_directory(temp / "a/b/c"));
  for (const char* nothing : {"file", "file/captures", "dangling", "dangling/captures"}) {
    EXPECT_THAT(why(temp / nothing), HasSubstr("cannot make " + (temp / nothing))) << nothing;
  }
  EXPECT_THAT(why("/proc/captures"), HasSubstr("cannot make /proc/captures"))
      << "which whoever may write anywhere may not either";
  if (::geteuid() == 0) return;  // who may write anywhere
  fs::permissions(temp.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(why(temp.path()), HasSubstr("Permission denied"));
  EXPECT_THAT(why(temp / "captures"), HasSubstr("Permission denied"));
  fs::permissions(temp.path(), fs::perms::owner_all);
}

}  // namespace
}  // namespace pawl
