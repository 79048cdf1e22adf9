// The builder and its children, over the stand-in for NVRTC.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/cuda/standin_test.h"
#include "worker/device/cuda/builder.h"
#include "worker/device/cuda/builder_process.h"
#include "worker/object_cache.h"

namespace pawl {
namespace {

using ::testing::HasSubstr;

class BuilderTest : public StandinTest {
 protected:
  void SetUp() override {
    StandinTest::SetUp();
    Result<std::unique_ptr<ObjectCache>> opened = ObjectCache::Open(Options().cache, 64 << 20);
    ASSERT_TRUE(opened);
    cache = std::move(*opened);
  }

  std::unique_ptr<Builder> Start(std::uint32_t children = 2, int hint_ms = 60'000) {
    BuilderOptions options;
    options.children = children;
    options.hint_ms = hint_ms;
    Result<std::unique_ptr<Builder>> builder = Builder::Open(*cache, options);
    CHECK(builder, builder.error().message);
    return std::move(*builder);
  }

  static CudaUnit Unit(const std::string& text) {
    CudaUnit unit;
    unit.name = "kernel.cu";
    unit.text = text;
    unit.headers = {{"pawl_device.h", "// nothing\n"}};
    unit.options = {"--std=c++20"};
    unit.kernels = {"k"};
    return unit;
  }

  static CudaBuilt Build(Builder& builder, const CudaUnit& unit) {
    Result<std::vector<CudaBuilt>> built = builder.Build({unit});
    EXPECT_TRUE(built) << built.error().message;
    return built ? built->front() : CudaBuilt{};
  }

  std::unique_ptr<ObjectCache> cache;
};

TEST(BuilderMessages, ComeBackAsTheyWere) {
  CudaUnit unit;
  unit.name = "a";
  unit.text = std::string("b\0c", 3);
  unit.headers = {{"x", ""}, {"", "y"}};
  unit.options = {"", "-o"};
  unit.kernels = {"k<1, 2>"};
  EXPECT_EQ(UnpackUnit(PackUnit(unit)), unit);
  CudaObject object;
  object.ok = true;
  object.log = "l";
  object.cubin = std::string("\0\1", 2);
  object.names = {"_Z1kv"};
  EXPECT_EQ(UnpackObject(PackObject(object)), object);
  std::vector<std::string> parts = PackUnit(unit);
  parts.pop_back();
  EXPECT_EQ(UnpackUnit(parts), std::nullopt);
  EXPECT_EQ(UnpackUnit({}), std::nullopt);
  EXPECT_EQ(UnpackUnit({"a", "b", "-1"}), std::nullopt);
  EXPECT_EQ(UnpackObject({"ok"}), std::nullopt);
}

TEST_F(BuilderTest, BuildsOnceAndTakesItFromTheCacheThen) {
  const auto builder = Start();
  EXPECT_EQ(builder->version(), "13.0.42");
  EXPECT_THAT(builder->architectures(), ::testing::ElementsAre(80, 90));
  const CudaBuilt first = Build(*builder, Unit("one"));
  EXPECT_TRUE(first.object.ok);
  EXPECT_FALSE(first.cached);
  EXPECT_EQ(first.object.names, std::vector<std::string>{"k"});
  const CudaBuilt second = Build(*builder, Unit("one"));
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(second.object, first.object);
  EXPECT_EQ(second.digest, first.digest);
  CudaUnit other = Unit("one");
  other.options.push_back("--fmad=false");
  EXPECT_FALSE(Build(*builder, other).cached);
  other = Unit("one");
  other.headers[0].second = "// something\n";
  EXPECT_FALSE(Build(*builder, other).cached);
}

TEST_F(BuilderTest, BuildsAgainWhatTheCacheHasDamaged) {
  const auto builder = Start();
  const CudaBuilt first = Build(*builder, Unit("one"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Options().cache)) {
    if (entry.is_regular_file()) {
      std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
    }
  }
  const CudaBuilt again = Build(*builder, Unit("one"));
  EXPECT_FALSE(again.cached);
  EXPECT_EQ(again.object, first.object);
}

TEST_F(BuilderTest, TellsACrashOfTheCompilerFromARefusal) {
  const auto builder = Start(1);
  EXPECT_EQ(Build(*builder, Unit("PLEASE_CRASH")).object.problem, "NVRTC ended by signal 11");
  EXPECT_EQ(Build(*builder, Unit("PLEASE_FAIL")).object.problem, "kernel.cu(3): error: as asked");
  EXPECT_TRUE(Build(*builder, Unit("fine")).object.ok);
}

TEST_F(BuilderTest, GivesUpAHintThatNeverEndsAndServesOrdersMeanwhile) {
  const auto builder = Start(2, 200);
  builder->Hint({Unit("PLEASE_HANG")});
  EXPECT_TRUE(Build(*builder, Unit("fine")).object.ok);
  // The other child is free again once the hint's time is over.
  builder->Hint({Unit("PLEASE_HANG 2"), Unit("PLEASE_HANG 3")});
  EXPECT_TRUE(Build(*builder, Unit("fine too")).object.ok);
}

TEST_F(BuilderTest, EndsWithAChildThatHangs) {
  auto builder = Start(1);
  builder->Hint({Unit("PLEASE_HANG")});
  builder.reset();  // must come back: the test's own time limit says so
}

TEST_F(BuilderTest, KeepsWhatAHintHasBuilt) {
  const auto builder = Start(1);
  builder->Hint({Unit("one"), Unit("two")});
  builder->Queue({Unit("three")});
  EXPECT_TRUE(Build(*builder, Unit("three")).object.ok);
  EXPECT_TRUE(Build(*builder, Unit("two")).object.ok);
  EXPECT_TRUE(Build(*builder, Unit("one")).object.ok);
  EXPECT_TRUE(Build(*builder, Unit("two")).cached);
}

TEST_F(BuilderTest, SharesOneCacheBetweenManyAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> built(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto builder = Start(1);
      for (int i = 0; i < 20; ++i) {
        built[static_cast<std::size_t>(t)] +=
            Build(*builder, Unit("unit " + std::to_string(i % 5))).object.ok;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(built, ::testing::Each(20));
}

TEST_F(BuilderTest, SaysThatThereIsNoNvrtc) {
  ::setenv("PAWL_LIBNVRTC", "/nonexistent/libnvrtc.so", 1);
  const Result<std::unique_ptr<Builder>> builder = Builder::Open(*cache, {});
  ASSERT_FALSE(builder);
  EXPECT_THAT(builder.error().message, HasSubstr("no NVRTC: PAWL_LIBNVRTC names"));
}

}  // namespace
}  // namespace pawl
