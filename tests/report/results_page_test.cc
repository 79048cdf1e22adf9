// docs/results: each page is what scripts/results makes of the measurements beside it, so that no
// number on it was typed.

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/places.h"
#include "tests/support/process.h"

namespace pawl::test {
namespace {

TEST(ResultsPage, IsWhatItsFilesGive) {
  std::size_t pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SourceFolder() + "/docs/results")) {
    if (!entry.is_directory()) continue;
    SCOPED_TRACE(entry.path());
    const Finished made =
        RunToEnd({"python3", SourceFolder() + "/scripts/results", entry.path().string()});
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(made.out, ReadFile((entry.path() / "README.md").string()))
        << "scripts/results " << entry.path() << " > " << entry.path() / "README.md";
    for (const auto& file : std::filesystem::directory_iterator(entry)) {
      if (file.path().extension() != ".gz") continue;
      const Finished lines = RunToEnd({"gzip", "-dc", file.path().string()});
      EXPECT_EQ(lines.out.find("\"/"), std::string::npos) << file.path() << ": a path of a machine";
      EXPECT_NE(lines.out, "") << file.path();
    }
    ++pages;
  }
  EXPECT_GT(pages, 0u);
}

TEST(ResultsPage, NeedsAFolder) {
  const Finished made = RunToEnd({"python3", SourceFolder() + "/scripts/results", "/nonexistent"});
  EXPECT_EQ(made.code, 2);
  EXPECT_NE(made.err.find("a folder that scripts/gpu-results wrote"), std::string::npos)
      << made.err;
}

}  // namespace
}  // namespace pawl::test
