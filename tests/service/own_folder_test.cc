// Folders among the temporary files: gone with their owner, however he ends.

#include "coordinator/service/own_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/support/places.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OwnFolders : public testing::Test {
 protected:
  OwnFolders() { ::setenv("TMPDIR", std::string(places_ / "").c_str(), 1); }
  ~OwnFolders() override { ::unsetenv("TMPDIR"); }

  static std::unique_ptr<OwnFolder> Make(const std::string& kind = "errands") {
    auto folder = OwnFolder::Make(kind);
    EXPECT_TRUE(folder) << folder.error().message;
    return *std::move(folder);
  }
  std::size_t Count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(places_ / ""), {}));
  }
  // Of a process that is killed.
  std::string Left(const std::string& kind) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t owner = ::fork();
    if (owner == 0) {
      const auto folder = Make(kind);
      test::WriteFile(folder->path() + "/state", "x");
      static_cast<void>(!::write(ends[1], folder->path().data(), folder->path().size()));
      ::raise(SIGKILL);
    }
    ::waitpid(owner, nullptr, 0);
    char path[4096];
    const ssize_t size = ::read(ends[0], path, sizeof path);
    ::close(ends[0]);
    ::close(ends[1]);
    return {path, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

  const test::TempFolder places_;
};

TEST_F(OwnFolders, AreGoneWithTheirOwner) {
  const std::string path = Make()->path();
  EXPECT_THAT(path, HasSubstr("/pawl-errands-"));
  EXPECT_EQ(Count(), 0U);
}

TEST_F(OwnFolders, OfAKilledOneAreTakenAwayByTheNextOfItsKind) {
  const auto live = Make();
  const std::string left = Left("errands"), other = Left("bench");
  ASSERT_TRUE(fs::exists(left));
  fs::create_directory_symlink(places_ / "", places_ / "pawl-errands-link");
  test::WriteFile(places_ / "pawl-errands-file", "x");
  const auto next = Make();
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(other)) << "of another kind";
  EXPECT_TRUE(fs::exists(live->path())) << "its owner lives";
  EXPECT_TRUE(fs::is_symlink(places_ / "pawl-errands-link"));
  EXPECT_TRUE(fs::exists(places_ / "pawl-errands-file"));
}

TEST_F(OwnFolders, ThatAreMadeAtOnceAreLeftToTheirOwners) {
  std::atomic<int> lost = 0;
  std::vector<std::thread> owners;
  for (int i = 0; i < 8; ++i) {
    owners.emplace_back([&] {
      for (int n = 0; n < 50; ++n) {
        const auto folder = Make();
        if (!fs::is_directory(folder->path())) ++lost;
      }
    });
  }
  for (std::thread& owner : owners) owner.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(Count(), 0U);
}

TEST_F(OwnFolders, ThatCannotBeMadeSayWhy) {
  ::setenv("TMPDIR", std::string(places_ / "none").c_str(), 1);
  const auto folder = OwnFolder::Make("errands");
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace pawl
