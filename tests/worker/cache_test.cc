#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/support/places.h"
#include "worker/object_cache.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

class ObjectCacheTest : public ::testing::Test {
 protected:
  std::unique_ptr<ObjectCache> Open(std::uint64_t max_bytes = 1 << 30) {
    Result<std::unique_ptr<ObjectCache>> cache =
        ObjectCache::Open(folder_.path() + "/cache", max_bytes);
    EXPECT_TRUE(cache);
    return std::move(*cache);
  }

  static Digest Key(int number) { return Sha256(std::to_string(number)); }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
  }

  test::TempFolder folder_;
};

TEST_F(ObjectCacheTest, GivesBackWhatWasPutAlsoToALaterProcess) {
  const std::string bytes("a\0b", 3);
  EXPECT_EQ(Open()->Get(Key(1)), std::nullopt);
  ASSERT_TRUE(Open()->Put(Key(1), bytes));
  ASSERT_TRUE(Open()->Put(Key(2), ""));
  const auto cache = Open();
  EXPECT_EQ(cache->Get(Key(1)), bytes);
  EXPECT_EQ(cache->Get(Key(2)), "");
  EXPECT_EQ(cache->Get(Key(3)), std::nullopt);
}

TEST_F(ObjectCacheTest, CountsADamagedFileAsNotThere) {
  const auto cache = Open();
  for (const int where : {0, 7, 8, 20, 39, 40, 43}) {
    ASSERT_TRUE(cache->Put(Key(1), "content"));
    ASSERT_EQ(Files().size(), 1u);
    {
      std::fstream file(Files()[0], std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(where);
      const char was = static_cast<char>(file.get());
      file.seekp(where);
      file.put(static_cast<char>(was ^ 1));
    }
    EXPECT_EQ(cache->Get(Key(1)), std::nullopt) << where;
    EXPECT_TRUE(Files().empty());
  }
  ASSERT_TRUE(cache->Put(Key(1), "content"));
  fs::resize_file(Files()[0], 41);
  EXPECT_EQ(cache->Get(Key(1)), std::nullopt);
}

TEST_F(ObjectCacheTest, KeepsNearItsCapAndDropsTheLeastRecentlyUsed) {
  const auto cache = Open(10'000);
  const std::string bytes(960, 'x');  // 1000 with its head
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(cache->Put(Key(i), bytes));
    // Ages as told apart by the file system's clock.
    fs::last_write_time(Files().back(), fs::last_write_time(Files().back()));
  }
  EXPECT_EQ(Files().size(), 10u);
  const auto age = [&](int number, int seconds) {
    for (const fs::path& file : Files()) {
      if (Key(number).Hex() == file.parent_path().filename().string() + file.filename().string()) {
        fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
      }
    }
  };
  for (int i = 0; i < 10; ++i) age(i, 1'000 - i);
  EXPECT_EQ(cache->Get(Key(0)), bytes);  // used: now the newest
  ASSERT_TRUE(cache->Put(Key(10), bytes));
  EXPECT_EQ(cache->Get(Key(0)), bytes);
  EXPECT_EQ(cache->Get(Key(10)), bytes);
  EXPECT_EQ(cache->Get(Key(1)), std::nullopt);
  EXPECT_EQ(cache->Get(Key(2)), std::nullopt);
  EXPECT_EQ(cache->Get(Key(3)), bytes);
  EXPECT_EQ(Files().size(), 9u);
}

TEST_F(ObjectCacheTest, LeavesWhatAnotherProcessIsWriting) {
  Open();
  const fs::path folder = folder_.path() + "/cache";
  const fs::path writing = folder / "aside.1.1", left = folder / "aside.2.2";
  for (const fs::path& file : {writing, left}) std::ofstream(file) << std::string(9'000, 'x');
  fs::last_write_time(writing, fs::file_time_type::clock::now() - std::chrono::seconds(20));
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(1));
  ASSERT_TRUE(Open(10'000)->Put(Key(1), "content"));
  EXPECT_TRUE(fs::exists(writing));
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(ObjectCacheTest, IsWholeUnderConcurrentUse) {
  const auto one = Open(60'000);
  const auto other = Open(60'000);  // as another process would
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ObjectCache& cache = t % 2 == 0 ? *one : *other;
      for (int i = 0; i < 200; ++i) {
        const int number = (i * 7 + t) % 20;
        const std::string bytes(static_cast<std::size_t>(1'000 + number * 300), 'a');
        const std::optional<std::string> got = cache.Get(Key(number));
        if (got) {
          EXPECT_EQ(*got, bytes);
        }
        EXPECT_TRUE(cache.Put(Key(number), bytes));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const fs::path& file : Files()) {
    EXPECT_EQ(file.filename().string().find("aside"), std::string::npos) << file;
  }
}

TEST_F(ObjectCacheTest, SaysWhereItCannotBe) {
  std::ofstream(folder_.path() + "/file") << "x";
  const auto cache = ObjectCache::Open(folder_.path() + "/file/cache", 1);
  ASSERT_FALSE(cache);
  EXPECT_THAT(cache.error().message,
              ::testing::HasSubstr("/file/cache: cannot make the object cache: "));
}

}  // namespace
}  // namespace pawl
