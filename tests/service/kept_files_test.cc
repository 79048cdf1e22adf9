// Files that are kept for good: numbered, never written over.

#include "coordinator/service/kept_files.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace pawl
