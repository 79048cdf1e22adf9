#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <utility>

#include "tests/support/least_time.h"
#include "tests/support/places.h"
#include "worker/device/compare.h"
#include "worker/device/fill.h"
#include "worker/device/host/clock.h"
#include "worker/device/host/compiler.h"
#include "worker/device/host/guarded.h"
#include "worker/device/host/machine.h"
#include "worker/device/host/thunk.h"
#include "worker/device/median.h"
#include "worker/memory_limit.h"

namespace pawl {
namespace {

using ::testing::HasSubstr;

Buffer Output(std::vector<std::int64_t> extents, DType dtype = DType::kF32) {
  Buffer buffer;
  buffer.name = "C";
  buffer.dtype = dtype;
  buffer.role = BufferRole::kOutput;
  buffer.extents = std::move(extents);
  return buffer;
}

Buffer Input(DType dtype, Fill fill, std::int64_t n) {
  Buffer buffer;
  buffer.name = "A";
  buffer.dtype = dtype;
  buffer.extents = {n};
  buffer.fill = fill;
  return buffer;
}

template <typename Element>
std::vector<Element> Filled(const Buffer& buffer, std::uint32_t index, std::uint64_t seed) {
  std::vector<Element> elements(static_cast<std::size_t>(buffer.Elements()));
  FillBuffer(buffer, index, seed, elements.data());
  return elements;
}

TEST(Compare, TakesWhatIsWithinTheBound) {
  const double reference[] = {1, -2, 0, 1000};
  const float output[] = {1.00005f, -2.0001f, 0.00009f, 1000.05f};
  const Comparison result = Compare(Output({4}), output, reference, 1e-4, 1e-4);
  EXPECT_EQ(result.elements, 4u);
  EXPECT_EQ(result.wrong, 0u);
  EXPECT_EQ(result.worst, -1);
  EXPECT_EQ(result.detail, "");
  EXPECT_NEAR(result.max_abs_error, 0.05, 1e-4);
}

TEST(Compare, NamesTheElementFurthestOutsideItsBound) {
  std::vector<double> reference(64 * 64, 2.25);
  std::vector<float> output(64 * 64, 2.25f);
  output[3 * 64 + 17] = 1.5f;
  output[9] = 2.0f;
  reference[100] = 1e6;  // a larger error, but within its bound
  output[100] = 1e6f + 1;
  const Comparison result = Compare(Output({64, 64}), output.data(), reference.data(), 1e-4, 1e-4);
  EXPECT_EQ(result.wrong, 2u);
  EXPECT_EQ(result.worst, 3 * 64 + 17);
  EXPECT_EQ(result.detail, "C[3,17] is 1.5, reference 2.25, allowed 0.000325; 2 of 4096 wrong");
}

TEST(Compare, CountsWhatIsNotFiniteAsWorst) {
  const double reference[] = {1, 1, 1, 1};
  float output[] = {1, 100, std::numeric_limits<float>::infinity(), 1};
  Comparison result = Compare(Output({4}), output, reference, 1, 1e30);
  EXPECT_EQ(result.wrong, 1u);
  EXPECT_EQ(result.worst, 2);
  EXPECT_EQ(result.max_abs_error, std::numeric_limits<double>::infinity());
  output[2] = std::nanf("");
  result = Compare(Output({4}), output, reference, 1e-4, 0);
  EXPECT_EQ(result.wrong, 2u);
  EXPECT_EQ(result.worst, 2);
  EXPECT_THAT(result.detail, HasSubstr("C[2] is nan"));
}

TEST(Compare, SaysThatAnElementWasLeftUnwritten) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kU32}) {
    const double reference[] = {5, 5};
    unsigned char output[16];
    Poison(output, sizeof output);
    const Comparison result = Compare(Output({2}, dtype), output, reference, 1e-4, 0);
    EXPECT_EQ(result.wrong, 2u) << Name(dtype);
    EXPECT_THAT(result.detail, HasSubstr("C[0] was left unwritten, reference 5")) << Name(dtype);
  }
}

TEST(Compare, FindsOneWrongElementAnywhere) {
  std::vector<double> reference(10'001, 1.0);
  for (const std::size_t at : {0u, 4095u, 4096u, 8191u, 10'000u}) {
    std::vector<std::int32_t> output(reference.size(), 1);
    output[at] = 2;
    const Comparison result =
        Compare(Output({10'001}, DType::kI32), output.data(), reference.data(), 0, 0);
    EXPECT_EQ(result.wrong, 1u);
    EXPECT_EQ(result.worst, static_cast<std::int64_t>(at));
  }
}

TEST(Compare, AllowsNothingWhereTheBoundOverflows) {
  const double reference[] = {1, 1e300};
  const double output[] = {1, 5};
  const Comparison result = Compare(Output({2}, DType::kF64), output, reference, 1e10, 0);
  EXPECT_EQ(result.wrong, 1u);
  EXPECT_EQ(result.worst, 1);
  EXPECT_THAT(result.detail, HasSubstr("C[1] is 5, reference 1e+300, allowed inf"));
}

TEST(Compare, IsQuick) {
  // 16 million elements in well under a second: 12 B of memory each.
  const std::int64_t n = 1 << 24;
  const std::vector<double> reference(static_cast<std::size_t>(n), 1.0);
  const std::vector<float> output(static_cast<std::size_t>(n), 1.0f);
  constexpr double kLimit = 0.5;
  EXPECT_LT(test::LeastCpuSeconds(
                kLimit,
                [&] {
                  ASSERT_EQ(Compare(Output({n}), output.data(), reference.data(), 1e-4, 1e-4).wrong,
                            0u);
                }),
            kLimit);
}

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({3, 1}), 2);
  EXPECT_EQ(Median({9, 1, 5}), 5);
  EXPECT_EQ(Median({10, 1, 4, 3}), 3.5);
  EXPECT_EQ(Median({60, 1, 1, 1, 1, 60}), 1);
}

// These bits are a promise: references are cached by seed, and another machine must see the same
// inputs.
TEST(Fill, GivesTheSameBitsForEver) {
  const auto bits = [](float value) {
    std::uint32_t raw = 0;
    std::memcpy(&raw, &value, sizeof raw);
    return raw;
  };
  const auto normal = Filled<float>(Input(DType::kF32, {FillKind::kNormal, 0, 0.25}, 4), 0, 42);
  const auto uniform = Filled<float>(Input(DType::kF32, {FillKind::kUniform, -1, 1}, 4), 1, 42);
  const auto whole = Filled<float>(Input(DType::kF32, {FillKind::kIntegers, -8, 8}, 8), 2, 42);
  const auto wide = Filled<double>(Input(DType::kF64, {FillKind::kUniform, 0, 1}, 2), 0, 7);
  std::string all;
  for (const float value : normal) all += std::to_string(bits(value)) + " ";
  for (const float value : uniform) all += std::to_string(bits(value)) + " ";
  for (const float value : whole) all += std::to_string(static_cast<int>(value)) + " ";
  for (const double value : wide)
    all += std::to_string(static_cast<std::uint64_t>(value * 0x1p53)) + " ";
  EXPECT_EQ(
      all,
      "1045904896 3200844800 3180144640 3188644608 1064907320 3200511477 1012738847 1052594010 "
      "-8 5 -4 -7 3 -5 -4 -1 6498767946634617 5852016415240665 ");
}

TEST(Fill, HasTheMomentsAndBoundsItSays) {
  const std::int64_t n = 1 << 20;
  const auto normal = Filled<float>(Input(DType::kF32, {FillKind::kNormal, 3, 0.5}, n), 0, 1);
  double sum = 0, squares = 0, beyond_two = 0;
  for (const float value : normal) {
    const double z = (value - 3.0) / 0.5;
    sum += z;
    squares += z * z;
    beyond_two += std::fabs(z) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / n, 0, 0.005);
  EXPECT_NEAR(squares / n, 1, 0.005);
  EXPECT_NEAR(beyond_two / n, 0.0455, 0.002);

  const auto uniform = Filled<float>(Input(DType::kF32, {FillKind::kUniform, -1, 3}, n), 0, 1);
  double mean = 0;
  for (const float value : uniform) {
    ASSERT_GE(value, -1);
    ASSERT_LT(value, 3);
    mean += value / static_cast<double>(n);
  }
  EXPECT_NEAR(mean, 1, 0.01);

  std::vector<int> seen(17);
  for (const float value :
       Filled<float>(Input(DType::kF32, {FillKind::kIntegers, -8, 8}, n), 0, 1)) {
    ASSERT_EQ(value, std::floor(value));
    ASSERT_LE(std::fabs(value), 8);
    ++seen[static_cast<std::size_t>(value + 8)];
  }
  for (const int count : seen) EXPECT_NEAR(count, n / 17.0, n / 17.0 * 0.05);

  for (const std::int32_t value :
       Filled<std::int32_t>(Input(DType::kI32, {FillKind::kConstant, -4, 0}, 100), 0, 1)) {
    EXPECT_EQ(value, -4);
  }
}

Buffer RowPointers(std::int64_t rows, std::int64_t last) {
  return Input(DType::kI32, {FillKind::kRowPointers, static_cast<double>(last), 0}, rows + 1);
}

// What is wrong with them; empty: nothing.
std::string WrongRowPointers(const std::vector<std::int32_t>& pointers, std::int64_t last) {
  if (pointers.front() != 0) return "begin at " + std::to_string(pointers.front());
  if (pointers.back() != last) return "end at " + std::to_string(pointers.back());
  const auto fall = std::adjacent_find(pointers.begin(), pointers.end(), std::greater<>());
  if (fall != pointers.end()) return "fall behind " + std::to_string(*fall);
  return "";
}

std::vector<std::int64_t> RowsOf(const std::vector<std::int32_t>& pointers) {
  std::vector<std::int64_t> rows;
  for (std::size_t i = 1; i < pointers.size(); ++i) rows.push_back(pointers[i] - pointers[i - 1]);
  return rows;
}

TEST(Fill, RowPointersNeverFallAndEndAtTheLast) {
  for (const auto& [rows, last] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 9},
                                                          {1, 0},
                                                          {2, 7},
                                                          {7, 23},
                                                          {7, 0},
                                                          {5, 1},
                                                          {40, 600},
                                                          {4096, 65536},
                                                          {1000, 2147483647}}) {
    SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(last));
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto pointers = Filled<std::int32_t>(RowPointers(rows, last), 2, seed);
      ASSERT_EQ(pointers.size(), static_cast<std::size_t>(rows + 1));
      ASSERT_EQ(WrongRowPointers(pointers, last), "");
      const std::vector<std::int64_t> lengths = RowsOf(pointers);
      const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
      EXPECT_GE(longest * rows, last);
      if (rows == 1) continue;
      EXPECT_EQ(*std::min_element(lengths.begin(), lengths.end()), 0) << "no row is empty";
      if (rows < 40) continue;
      // About twice the mean: half as much again at least.
      EXPECT_GE(longest * rows * 2, last * 3);
      const auto empty = std::count(lengths.begin(), lengths.end(), 0);
      EXPECT_LE(empty * 4, rows);
    }
  }
}

TEST(Fill, RowPointersAreTheirSeedsAndTheSameInEitherType) {
  const Buffer buffer = RowPointers(7, 23);
  const auto pointers = Filled<std::int32_t>(buffer, 2, 42);
  EXPECT_EQ(Filled<std::int32_t>(buffer, 2, 42), pointers);
  EXPECT_NE(Filled<std::int32_t>(buffer, 2, 43), pointers);
  EXPECT_NE(Filled<std::int32_t>(buffer, 3, 42), pointers);
  Buffer positive = buffer;
  positive.dtype = DType::kU32;
  const auto same = Filled<std::uint32_t>(positive, 2, 42);
  EXPECT_TRUE(std::equal(
      pointers.begin(), pointers.end(), same.begin(), same.end(),
      [](std::int32_t a, std::uint32_t b) { return static_cast<std::uint32_t>(a) == b; }));
  EXPECT_EQ(pointers, (std::vector<std::int32_t>{0, 0, 7, 17, 18, 18, 20, 23}));
}

TEST(Fill, ASiblingsRowPointersAreOthersAndValidToo) {
  for (const auto& [rows, last] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {2, 1}, {7, 23}, {40, 3}, {4096, 65536}}) {
    SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(last));
    const Buffer buffer = RowPointers(rows, last);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto pointers = Filled<std::int32_t>(buffer, 2, seed);
      std::vector<std::int32_t> sibling(pointers.size());
      FillSibling(buffer, 2, seed, sibling.data());
      ASSERT_EQ(WrongRowPointers(sibling, last), "");
      std::int64_t moved = 0;
      for (std::size_t i = 0; i < pointers.size(); ++i) moved += pointers[i] != sibling[i] ? 1 : 0;
      EXPECT_GE(moved, 1);
      EXPECT_LE(moved, 1 + rows / 32);
    }
  }
  // Nothing can move.
  for (const auto& [rows, last] : {std::pair{1, 9}, {7, 0}}) {
    const Buffer buffer = RowPointers(rows, last);
    const auto pointers = Filled<std::int32_t>(buffer, 2, 1);
    std::vector<std::int32_t> sibling(pointers.size());
    FillSibling(buffer, 2, 1, sibling.data());
    EXPECT_EQ(sibling, pointers);
  }
}

TEST(Fill, ANudgeLeavesRowPointersValid) {
  const Buffer buffer = RowPointers(7, 23);
  for (std::uint64_t chosen = 0; chosen < 8; ++chosen) {
    auto pointers = Filled<std::int32_t>(buffer, 2, 42);
    const std::uint64_t element = Nudged(buffer, chosen);
    ASSERT_LT(element + 1, pointers.size());
    pointers[element] = pointers[element + 1];
    EXPECT_EQ(WrongRowPointers(pointers, 23), "") << chosen;
  }
  EXPECT_EQ(Nudged(RowPointers(1, 9), 1), kNoElement);
  EXPECT_EQ(Nudged(Input(DType::kI32, {FillKind::kIntegers, 0, 6}, 8), 7), 7u);
}

TEST(Fill, DiffersBySeedAndByBuffer) {
  const Buffer buffer = Input(DType::kF32, {FillKind::kNormal, 0, 1}, 100);
  EXPECT_EQ(Filled<float>(buffer, 0, 1), Filled<float>(buffer, 0, 1));
  EXPECT_NE(Filled<float>(buffer, 0, 1), Filled<float>(buffer, 0, 2));
  EXPECT_NE(Filled<float>(buffer, 0, 1), Filled<float>(buffer, 1, 1));
}

TEST(Fill, ScalesADrawEvenlyToAnyNumberOfElements) {
  for (const std::uint64_t count : {1ull, 3ull, 1ull << 32, (1ull << 33) - 1, 1ull << 33}) {
    EXPECT_EQ(Scaled(0, count), 0u);
    EXPECT_EQ(Scaled(1ull << 63, count), count / 2) << count;
    EXPECT_EQ(Scaled(UINT64_MAX, count), count - 1) << count;
  }
}

TEST(GuardedMemory, SeesASingleByteOnEitherSide) {
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{4096}, std::size_t{10'000}}) {
    for (std::uint32_t place = 0; place < 5; ++place) {
      Result<GuardedMemory> memory = GuardedMemory::Allocate(bytes, place);
      ASSERT_TRUE(memory);
      auto* const data = static_cast<unsigned char*>(memory->data());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u);
      std::memset(data, 0, bytes);
      EXPECT_EQ(memory->Touched(), std::nullopt);
      for (const std::int64_t offset :
           {std::int64_t{-1}, std::int64_t{-4096}, static_cast<std::int64_t>(bytes),
            static_cast<std::int64_t>(bytes) + 4095}) {
        data[offset] ^= 1;
        EXPECT_EQ(memory->Touched(), offset);
        data[offset] ^= 1;
        EXPECT_EQ(memory->Touched(), std::nullopt);
      }
    }
  }
}

TEST(GuardedMemory, EndsAProcessThatWritesFarOutside) {
  Result<GuardedMemory> memory = GuardedMemory::Allocate(100, 0);
  ASSERT_TRUE(memory);
  auto* const data = static_cast<volatile unsigned char*>(memory->data());
  const auto write = [data](std::int64_t offset) { data[offset] = 1; };
  EXPECT_DEATH(write(2 * 4096 + 100), "");
  EXPECT_DEATH(write(-2 * 4096), "");
}

TEST(GuardedMemory, NamesTheElementThatWasTouched) {
  EXPECT_EQ(DescribeTouch(Output({10}), 40), "wrote past the end of C: element 10 of 10");
  EXPECT_EQ(DescribeTouch(Output({10}), 47), "wrote past the end of C: element 11 of 10");
  EXPECT_EQ(DescribeTouch(Output({10}), -1), "wrote before the start of C: element -1");
  EXPECT_EQ(DescribeTouch(Output({10}), -8), "wrote before the start of C: element -2");
}

TEST(Thunk, TakesEachKernelsAddressAsTheTypeItsArgumentsDemand) {
  SourceText source;
  source.name = "k.cc";
  source.text = "int x;";
  Launch launch;
  launch.kernel = "go";
  launch.arguments = {
      {Argument::Kind::kBuffer, 1}, {Argument::Kind::kBuffer, 0}, {Argument::Kind::kScalar, 0}};
  const Buffer in = Input(DType::kI32, {}, 3);
  const std::string unit = KernelUnit(source, {launch}, {in, Output({2}, DType::kF64)}, {{"n", 3}});
  EXPECT_THAT(unit, HasSubstr("#line 1 \"k.cc\"\nint x;\n"));
  EXPECT_THAT(
      unit,
      HasSubstr("void (*const signature)(double*, const std::int32_t*, std::int64_t) = &go;"));
  EXPECT_THAT(unit, HasSubstr("signature(static_cast<double*>(buffers[1]), static_cast<const "
                              "std::int32_t*>(buffers[0]), scalars[0]);"));
}

TEST(Thunk, GivesAReferenceItsInputsItsLettersAndTheIndices) {
  SourceText source;
  source.name = "reference.h";
  source.text = "// text";
  const std::string unit =
      ReferenceUnit(source, {Input(DType::kF32, {}, 3), Output({2, 5})}, {{"m", 2}, {"n", 5}});
  EXPECT_THAT(unit, HasSubstr("extern \"C\" void pawl_reference_C("));
  EXPECT_THAT(
      unit,
      HasSubstr(
          "reference_C(static_cast<const float*>(inputs[0]), scalars[0], scalars[1], i0, i1)"));
}

TEST(Compiler, PicksTheLineThatSaysWhatIsWrong) {
  EXPECT_EQ(FirstErrorLine("a.cc: In function 'f':\na.cc:3:1: error: no\na.cc:4:1: error: more\n"),
            "a.cc:3:1: error: no");
  EXPECT_EQ(FirstErrorLine(
                "/usr/bin/ld: x.o: undefined reference to `f'\ncollect2: error: ld returned 1\n"),
            "/usr/bin/ld: x.o: undefined reference to `f'");
  EXPECT_EQ(FirstErrorLine("something\n\n"), "something");
  EXPECT_EQ(FirstErrorLine(""), "");
  EXPECT_EQ(FirstErrorLine(std::string(1'000, 'e')).size(), 300u);
}

TEST(Machine, ShortensCpuNames) {
  EXPECT_EQ(ShortCpuName("AMD EPYC 7763 64-Core Processor"), "AMD EPYC 7763");
  EXPECT_EQ(ShortCpuName("Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz"),
            "Intel Xeon Platinum 8370C");
  EXPECT_EQ(ShortCpuName("AMD EPYC"), "AMD EPYC");
}

TEST(Machine, IsOneThatHasCoresAndCaches) {
  const Machine machine = ReadMachine({});
  EXPECT_FALSE(machine.cpu.empty());
  ASSERT_FALSE(machine.cores.empty());
  EXPECT_GE(machine.usable_cores, 1u);
  EXPECT_LE(machine.usable_cores, machine.cores.size());
  EXPECT_GE(machine.cache_bytes, 64u << 10);
  const Machine one = ReadMachine({machine.cores.back()});
  EXPECT_EQ(one.cores, std::vector<int>{machine.cores.back()});
  EXPECT_EQ(one.usable_cores, 1u);
  EXPECT_TRUE(ReadMachine({100'000}).cores.empty());
}

TEST(MemoryLimit, IsTheLeastOfTheCgroupAndThoseAboveIt) {
  const test::TempFolder root;
  const auto limit = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root / file).parent_path());
    test::WriteFile(root / file, text);
  };
  const auto of = [&](const std::string& cgroups) { return CgroupMemory(cgroups, root.path()); };
  EXPECT_EQ(of("0::/\n"), UINT64_MAX) << "a machine's own root has no such file";
  EXPECT_EQ(of(""), UINT64_MAX);
  EXPECT_EQ(of("no cgroup\n"), UINT64_MAX);
  limit("a.slice/b.scope/memory.max", "max\n");
  EXPECT_EQ(of("0::/a.slice/b.scope\n"), UINT64_MAX);
  limit("a.slice/memory.max", "8589934592\n");
  EXPECT_EQ(of("0::/a.slice/b.scope\n"), 8'589'934'592U) << "of the one above";
  limit("a.slice/b.scope/memory.max", "4294967296\n");
  EXPECT_EQ(of("0::/a.slice/b.scope\n"), 4'294'967'296U);
  EXPECT_EQ(of("0::/a.slice\n"), 8'589'934'592U) << "what is below is not ours";
  EXPECT_EQ(of("0::/a.slice/b.scope/gone\n"), 4'294'967'296U);
  limit("memory.max", "1073741824\n");
  EXPECT_EQ(of("0::/\n"), 1'073'741'824U) << "a container sees its own cgroup as the root";
  EXPECT_EQ(of("0::/../other\n"), 1'073'741'824U);
}

TEST(MemoryLimit, OfCgroupV1IsThatOfTheMemoryController) {
  const test::TempFolder root;
  const auto of = [&](const std::string& cgroups) { return CgroupMemory(cgroups, root.path()); };
  std::filesystem::create_directories(root / "memory/docker/c0ffee");
  test::WriteFile(root / "memory/memory.limit_in_bytes", "9223372036854771712\n");
  test::WriteFile(root / "memory/docker/c0ffee/memory.limit_in_bytes", "2147483648\n");
  const std::string own = "3:cpu,cpuacct:/docker/c0ffee\n2:memory:/docker/c0ffee\n0::/\n";
  EXPECT_EQ(of(own), 2'147'483'648U);
  EXPECT_EQ(of("2:memory:/elsewhere\n"), 9'223'372'036'854'771'712U) << "its word for no limit";
  EXPECT_EQ(of("3:cpu,cpuacct:/docker/c0ffee\n"), UINT64_MAX);
}

TEST(MemoryLimit, OfThisProcessIsNoMoreThanTheMachineHas) {
  EXPECT_GT(MemoryBytes(), 0U);
  EXPECT_LE(MemoryBytes(), static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                               static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(ReadMachine({}).memory_bytes, MemoryBytes());
}

TEST(Clock, GoesForwardAndHasAPlausibleFrequency) {
  const std::int64_t cpu = ReadInstrument(Instrument::kCpuTime);
  const std::int64_t wall = ReadInstrument(Instrument::kWallTime);
  const double mhz = MeasureClockMhz();
  EXPECT_GT(ReadInstrument(Instrument::kCpuTime), cpu);
  EXPECT_GT(ReadInstrument(Instrument::kWallTime), wall);
#if defined(__x86_64__) || defined(__aarch64__)
  EXPECT_GT(mhz, 100);
  EXPECT_LT(mhz, 10'000);
#endif
}

}  // namespace
}  // namespace pawl
