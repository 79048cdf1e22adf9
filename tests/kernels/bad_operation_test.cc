// Every mistake in a package's files gives one line that says where and what.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/operation.h"
#include "tests/kernels/sample_package.h"

namespace pawl {
namespace {

struct Mistake {
  const char* file;
  const char* from;
  const char* to;
  const char* message;
};

constexpr const char* kOp = "operation.toml";
constexpr const char* kSt = "host/chunk.toml";
constexpr const char* kSrc = "host/chunk.cc";
constexpr const char* kCom = "host/committed.toml";

const std::vector<Mistake>& Mistakes() {
  static const std::vector<Mistake> mistakes = {
      // operation.toml
      {kOp, "name    = \"saxpy\"", "", "saxpy/operation.toml: key 'name' is missing"},
      {kOp, "\"saxpy\"", "\"2axpy\"",
       "saxpy/operation.toml:1: '2axpy' cannot be the name of an operation"},
      {kOp, "summary", "sumary",
       "saxpy/operation.toml:2: key 'summary' is missing; nearest here is 'sumary'"},
      {kOp, "rtol", "rtoll",
       "saxpy/operation.toml:21: key 'rtol' is missing; nearest here is 'rtoll'"},
      {kOp, "[check]", "colour = 'blue'\n[check]",
       "saxpy/operation.toml:20: unknown key 'colour'; "
       "known are name, role, dtype, extents, fill"},
      {kOp, "flops   = \"rows * width\"", "flops   = \"rows * widht\"",
       "saxpy/operation.toml:4: in 'rows * widht': unknown name 'widht'; nearest is 'width'; known "
       "are "
       "rows, width"},
      {kOp, "\"8 * rows * width\"", "\"8 * * rows\"",
       "saxpy/operation.toml:5: in '8 * * rows': unexpected '*' at column 5; a number, a name or "
       "'(' is "
       "wanted there"},
      {kOp, "[\"rows\", \"width\"]\nflops", "[]\nflops",
       "saxpy/operation.toml:3: shape has 0 letters; 1 to 8 are wanted"},
      {kOp, "[\"rows\", \"width\"]\nflops", "[\"rows\", \"rows\"]\nflops",
       "saxpy/operation.toml:3: shape letter 'rows' is named twice"},
      {kOp, "[\"rows\", \"width\"]\nflops", "[\"rows\", \"for\"]\nflops",
       "saxpy/operation.toml:3: 'for' cannot be the name of a shape letter"},
      {kOp, "[\"rows\", \"width\"]\nflops", "[\"rows\", 3]\nflops",
       "saxpy/operation.toml:3: shape holds 3; only strings are wanted"},
      {kOp, "role    = \"output\"", "role    = \"result\"",
       "saxpy/operation.toml:16: role is 'result'; 'input' or 'output' is wanted"},
      {kOp, "role    = \"output\"", "role    = \"input\"",
       "saxpy/operation.toml: 2 tensors ([[tensor]]); 1 to 16 are wanted, one of them an output"},
      {kOp, "dtype   = \"f32\"", "dtype   = \"f16\"",
       "saxpy/operation.toml:10: dtype is 'f16'; known are f32, f64, i32, u32"},
      {kOp, "name    = \"Y\"", "name    = \"X\"",
       "saxpy/operation.toml:15: tensor 'X' is named twice"},
      {kOp, "name    = \"Y\"", "name    = \"rows\"",
       "saxpy/operation.toml:15: 'rows' is a letter of the shape already"},
      {kOp, "extents = [\"rows\", \"width\"]\nfill", "extents = []\nfill",
       "saxpy/operation.toml:11: 0 extents; 1 to 6 are wanted"},
      {kOp, "extents = [\"rows\", \"width\"]\nfill", "extents = [\"depth\"]\nfill",
       "saxpy/operation.toml:11: in 'depth': unknown name 'depth'; known are rows, width"},
      {kOp, "kind = \"normal\"", "kind = \"gauss\"",
       "saxpy/operation.toml:12: fill kind 'gauss'; known are normal, uniform, integers, "
       "constant, row_pointers"},
      {kOp, "kind = \"normal\", mean = 0.0, stddev = 1.0",
       "kind = \"row_pointers\", last = \"rows\"",
       "saxpy/operation.toml:12: fill kind 'row_pointers' in a tensor of f32; i32 or u32 is "
       "wanted"},
      {kOp, "dtype   = \"f32\"", "dtype   = \"u32\"",
       "saxpy/operation.toml:12: fill kind 'normal' in a tensor of u32; integers, row_pointers or "
       "constant is wanted"},
      {kOp, "rtol  = 1e-5", "atol_times = \"rows / depth\"\nrtol = 1e-5",
       "saxpy/operation.toml:21: in 'rows / depth': unknown name 'depth'; known are rows, width"},
      {kOp, "rtol  = 1e-5", "atol_times = 3\nrtol = 1e-5",
       "saxpy/operation.toml:21: 'atol_times' is 3; an expression is wanted, such as \"max(1, k / "
       "8192)\""},
      {kOp, "kind = \"normal\", mean = 0.0, stddev = 1.0",
       "kind = \"integers\", low = 0, high = \"depth - 1\"",
       "saxpy/operation.toml:12: in 'depth - 1': unknown name 'depth'; known are rows, width"},
      {kOp, "kind = \"normal\", mean = 0.0, stddev = 1.0",
       "kind = \"uniform\", low = 0, high = \"rows\"",
       "saxpy/operation.toml:12: high is 'rows'; a number from -1e+06 to 1e+06 is wanted"},
      {kOp, "stddev = 1.0", "stddev = -1.0",
       "saxpy/operation.toml:12: stddev is -1.0; a number from 0 to 1e+06 is wanted"},
      {kOp, "stddev = 1.0", "sdev = 1.0", "saxpy/operation.toml:12: key 'stddev' is missing"},
      {kOp, "mean = 0.0, stddev", "median = 0.0, mean = 0.0, stddev",
       "saxpy/operation.toml:12: unknown key 'median'; nearest is 'mean'"},
      {kOp, "kind = \"normal\", mean = 0.0, stddev = 1.0", "kind = \"uniform\", low = 2, high = 1",
       "saxpy/operation.toml:12: fill has low above high"},
      {kOp, "kind = \"normal\", mean = 0.0, stddev = 1.0",
       "kind = \"integers\", low = 0.5, high = 1",
       "saxpy/operation.toml:12: low is 0.5; an integer from -16777216 to 16777216 is wanted"},
      {kOp, "[check]", "fill = { kind = \"constant\", value = 1 }\n[check]",
       "saxpy/operation.toml:20: tensor Y is an output and has a fill; outputs are written by the "
       "kernels"},
      {kOp, "rtol  = 1e-5", "rtol  = nan",
       "saxpy/operation.toml:21: rtol is nan; a number from 0 to 1 is wanted"},
      {kOp, "atol  = 1e-5\n", "", "saxpy/operation.toml:20: key 'atol' is missing"},
      {kOp, "high = 8", "high = -9",
       "saxpy/operation.toml:23: high is -9; an integer from -8 to "
       "16777216 is wanted"},
      {kOp, "width = 64 }", "widht = 64 }",
       "saxpy/operation.toml:26: saxpy has no shape letter 'widht'; its letters are rows, width"},
      {kOp, "rows = 8,", "", "saxpy/operation.toml:26: shape letter 'rows' is missing"},
      {kOp, "[audit]", "[audit", "saxpy/operation.toml:25: "},
      // a structure
      {kSt, "source = \"chunk.cc\"", "source = \"../chunk.cc\"",
       "saxpy/host/chunk.toml:1: source is '../chunk.cc'; the name of a file in this folder is "
       "wanted, "
       "such as 'tiled.cu'"},
      {kSt, "source = \"chunk.cc\"", "source = \"chnk.cc\"",
       "saxpy/host/chunk.toml:1: source 'chnk.cc' is not there (saxpy/host/chnk.cc)"},
      {kSt, "kernel = \"saxpy_chunk\"", "", "saxpy/host/chunk.toml: key 'kernel' is missing"},
      {kSt, "kernel = \"saxpy_chunk\"", "kernel = \"saxpy chunk\"",
       "saxpy/host/chunk.toml:2: kernel is 'saxpy chunk'; a function's name is wanted"},
      {kSt, "[derived]", "[drived]",
       "saxpy/host/chunk.toml:11: unknown key 'drived'; nearest is "
       "'derived'"},
      {kSt, "[knobs]", "grid = [1, 2]\n[knobs]",
       "saxpy/host/chunk.toml:4: grid has 2 sides; 3 are wanted (x, y, z)"},
      {kSt, "[knobs]", "grid = [1, 2, true]\n[knobs]",
       "saxpy/host/chunk.toml:4: grid holds neither an integer nor an expression"},
      {kSt, "[knobs]", "block = [\"treads\", 1, 1]\n[knobs]",
       "saxpy/host/chunk.toml:4: in 'treads': unknown name 'treads'; nearest is 'threads'; known "
       "are "
       "rows, width, unroll, fused, order, block.m, block.n, threads, lanes, chunks"},
      {kSt, "unroll  = [1, 2, 4]", "unroll  = []",
       "saxpy/host/chunk.toml:5: knob unroll wants a list of 1 to 4096 values"},
      {kSt, "unroll  = [1, 2, 4]", "unroll  = 4",
       "saxpy/host/chunk.toml:5: knob unroll wants a list of 1 to 4096 values"},
      {kSt, "unroll  = [1, 2, 4]", "unroll  = [1, 2, 1]",
       "saxpy/host/chunk.toml:5: knob unroll has 1 twice"},
      {kSt, "unroll  = [1, 2, 4]", "unroll  = [1, true]",
       "saxpy/host/chunk.toml:5: knob unroll has true beside 1; values of one kind are wanted"},
      {kSt, "unroll  = [1, 2, 4]", "unroll  = [1.5]",
       "saxpy/host/chunk.toml:5: 1.5 is no knob value; true, 64, \"guarded\", [64, 64] and "
       "\"64x64\" are"},
      {kSt, "unroll  = [1, 2, 4]", "rows  = [1, 2, 4]\nunroll  = [1, 2, 4]",
       "saxpy/host/chunk.toml:5: 'rows' is the name of something else already"},
      {kSt, "unroll  = [1, 2, 4]", "class  = [1, 2, 4]",
       "saxpy/host/chunk.toml:5: 'class' cannot be the name of a knob"},
      {kSt, "{ parts = [\"m\", \"n\"], values = [[8, 8], [8, 16], [4, 32]] }", "[[8, 8], [8, 16]]",
       "saxpy/host/chunk.toml:8: knob block has tuples without names for their parts; { parts = "
       "[\"m\", "
       "\"n\"], values = [...] } is wanted"},
      {kSt, "[4, 32]] }", "[4, 32, 2]] }",
       "saxpy/host/chunk.toml:8: knob block has the value 4x32x2; 2 parts are wanted"},
      {kSt, "parts = [\"m\", \"n\"]", "parts = [\"m\", \"m\"]",
       "saxpy/host/chunk.toml:8: part 'm' is named twice"},
      {kSt, "parts = [\"m\", \"n\"]", "parts = [\"m\"]",
       "saxpy/host/chunk.toml:8: knob block has 1 parts; 2 to 4 are wanted"},
      {kSt, "values = [[8, 8]", "valus = [[8, 8]",
       "saxpy/host/chunk.toml:8: key 'values' is missing"},
      {kSt, "lanes  = ", "threads  = ",
       "saxpy/host/chunk.toml:12: 'threads' is the name of something else already"},
      {kSt, "lanes  = ", "block_m  = ",
       "saxpy/host/chunk.toml:12: 'block_m' is the name of something else already"},
      {kSt, "\"block.n / unroll\"", "\"chunks / unroll\"",
       "saxpy/host/chunk.toml:12: in 'chunks / unroll': unknown name 'chunks'; known are rows, "
       "width, "
       "unroll, fused, order, block.m, block.n, threads"},
      {kSt, "\"block.n / unroll\"", "\"block / unroll\"",
       "saxpy/host/chunk.toml:12: in 'block / unroll': unknown name 'block'; nearest is 'block.m'; "
       "known "
       "are rows, width, unroll, fused, order, block.m, block.n, threads"},
      {kSt, "\"block.n / unroll\"", "true",
       "saxpy/host/chunk.toml:12: lanes holds neither an integer nor an expression"},
      {kSt, "threads = 1\n\n[[", "\n\n[[", "saxpy/host/chunk.toml:15: knob threads has no value"},
      {kSt, "threads = 1\n\n[[", "thread = 1\n\n[[",
       "saxpy/host/chunk.toml:20: unknown knob 'thread'; nearest is 'threads'"},
      {kSt, "unroll  = 1\n", "unroll  = 8\n",
       "saxpy/host/chunk.toml:16: unroll is 8, which is not in its list (1, 2, 4)"},
      {kSt, "unroll  = 1\n", "unroll  = \"fast\"\n",
       "saxpy/host/chunk.toml:16: unroll is fast; an integer is wanted"},
      {kSt, "block   = \"8x8\"", "block   = [8, 8, 8]",
       "saxpy/host/chunk.toml:19: block is 8x8x8; 2 parts are wanted, such as 8x8"},
      {kSt, "need = \"rows % block.m == 0\"", "need = \"rows % block.k == 0\"",
       "saxpy/host/chunk.toml:23: in 'rows % block.k == 0': unknown name 'block.k'; nearest is "
       "'block.m'; known are rows, width, unroll, fused, order, block.m, block.n, threads, lanes, "
       "chunks"},
      {kSt, "need = \"rows % block.m == 0\"", "ned = \"rows % block.m == 0\"",
       "saxpy/host/chunk.toml:23: key 'need' is missing; nearest here is 'ned'"},
      {kSt, "order == 'rows'", "order == 'row'",
       "saxpy/host/chunk.toml:27: in 'order == 'row' || unroll < 4': order is never 'row'; nearest "
       "is "
       "'rows'; its words are rows, columns"},
      {kSt, "{rows} rows", "{rows rows",
       "saxpy/host/chunk.toml:23: in 'rows rows are not a multiple of {block.m': unexpected "
       "character '{'"},
      {kSt, "{rows} rows", "rows} rows",
       "saxpy/host/chunk.toml:23: in 'shape: rows} rows are not a multiple of {block.m}': a '}' "
       "has no "
       "partner"},
      {kSt, "knob = \"fused\"", "knob = \"fusd\"",
       "saxpy/host/chunk.toml:35: unknown knob 'fusd'; nearest is 'fused'"},
      {kSt, "when = \"unroll == 1\"", "when = \"unroll == 1 && fused\"",
       "saxpy/host/chunk.toml:36: when = 'unroll == 1 && fused' depends on fused, the knob that it "
       "says "
       "is ignored"},
      {kSt, "[repair]", "[[ignored]]\nknob = 'unroll'\nwhen = 'threads == 1'\n[repair]",
       "saxpy/host/chunk.toml:36: when = 'unroll == 1' depends on unroll, which a later rule says "
       "is "
       "ignored; put that rule first"},
      {kSt, "order   = [\"rows\"]", "orders   = [\"rows\"]",
       "saxpy/host/chunk.toml:39: unknown knob 'orders'; nearest is 'order'"},
      {kSt, "threads = [1]", "threads = [true]",
       "saxpy/host/chunk.toml:40: threads is true; an integer is wanted"},
      {kSt, "[2, 64]]", "[2, 64, 1]]",
       "saxpy/host/chunk.toml:43: block is 2x64x1; 2 parts are wanted, such as 8x8"},
      // a template
      {kSrc, "// pawl: knobs", "",
       "saxpy/host/chunk.cc:10: '// pawl: end' stands where '// pawl: knobs' is wanted first"},
      {kSrc, "// pawl: end", "", "saxpy/host/chunk.cc:2: '// pawl: knobs' has no '// pawl: end'"},
      {kSrc, "// pawl: end", "// pawl: and",
       "saxpy/host/chunk.cc:10: unknown marker '// pawl: and'; '// pawl: knobs' and '// pawl: end' "
       "are "
       "known"},
      {kSrc, "// pawl: knobs", "// pawl: end",
       "saxpy/host/chunk.cc:2: '// pawl: end' stands where '// pawl: knobs' is wanted first"},
      {kSrc, "constexpr int threads = 1;", "constexpr int treads = 1;",
       "saxpy/host/chunk.cc:8: 'treads' is neither a knob nor a derived value of host/chunk.toml; "
       "nearest "
       "is 'threads'; known are unroll, fused, order, block_m, block_n, threads, lanes, chunks"},
      {kSrc, "block_m = 8, block_n = 8", "block_m = 8, block_k = 8",
       "saxpy/host/chunk.cc:7: 'block_k' is neither a knob nor a derived value of host/chunk.toml; "
       "nearest is 'block_m'; known are unroll, fused, order, block_m, block_n, threads, lanes, "
       "chunks"},
      {kSrc, "enum class Order {", "enum class Ordr {",
       "saxpy/host/chunk.cc:5: 'Ordr' is neither a knob nor a derived value of host/chunk.toml; "
       "nearest "
       "is 'Order'; known are Order"},
      {kSrc, "constexpr int threads = 1;", "constexpr int threads = 1;\n#include <cmath>",
       "saxpy/host/chunk.cc:9: '#' stands between the knob markers, where only 'constexpr TYPE "
       "NAME = "
       "VALUE;' and 'enum class NAME {...};' may"},
      {kSrc, "static_assert(threads > 0 && ", "static_assert( // threads\n",
       "saxpy/host/chunk.toml:9: knob threads is never used: 'threads' does not occur in "
       "saxpy/host/chunk.cc outside its markers, nor does a derived value that depends on it"},
      {kSrc, "block_m > 0", "1 > 0",
       "saxpy/host/chunk.toml:8: knob block is never used: 'block_m' does not occur in "
       "saxpy/host/chunk.cc outside its markers, nor does a derived value that depends on it"},
      // committed.toml
      {kCom, "when   = \"width % 4 == 0\"", "when   = \"wdth % 4 == 0\"",
       "saxpy/host/committed.toml:2: in 'wdth % 4 == 0': unknown name 'wdth'; nearest is 'width'; "
       "known "
       "are rows, width"},
      {kCom, "source = \"committed.cc\"", "source = \"comitted.cc\"",
       "saxpy/host/committed.toml:1: source 'comitted.cc' is not there (saxpy/host/comitted.cc)"},
      {kCom, "kernel = \"saxpy_committed\"\nbuild", "build",
       "saxpy/host/committed.toml:1: key 'kernel' is missing"},
      {kCom, "build_options", "build_option",
       "saxpy/host/committed.toml:5: unknown key 'build_option'; nearest is 'build_options'"},
      {kCom, "when   = ", "structure = 'chunk'\nwhen   = ",
       "saxpy/host/committed.toml:2: structure and configuration go together, and without a "
       "source"},
      {kCom, "when   = \"width % 4 == 0\"\nsource = \"committed.cc\"",
       "structure = 'chunck'\nconfiguration = {}",
       "saxpy/host/committed.toml:2: no structure 'chunck' in host; nearest is 'chunk'"},
      {kCom, "when   = \"width % 4 == 0\"\nsource = \"committed.cc\"",
       "structure = 'chunk'\nconfiguration = { unrol = 1 }",
       "saxpy/host/committed.toml:3: unknown knob 'unrol'; nearest is 'unroll'"},
      {kCom, "when   = \"width % 4 == 0\"\n", "",
       "saxpy/host/committed.toml:6: is never the control: the [[committed]] of line 1 has no "
       "'when', so it covers every shape; it goes last"},
      {kCom, "[[rival]]", "[[rivals]]",
       "saxpy/host/committed.toml:11: unknown key 'rivals'; nearest is 'rival'"},
      {kCom, "name   = \"blas\"", "", "saxpy/host/committed.toml:11: key 'name' is missing"},
  };
  return mistakes;
}

TEST(BadOperation, EachMistakeGivesOneLineThatSaysWhereAndWhat) {
  EXPECT_GE(Mistakes().size(), 80u);
  ASSERT_EQ(LoadMessage(SamplePackage()), "no error");
  for (const Mistake& mistake : Mistakes()) {
    PackageFiles files = SamplePackage();
    Edit(files, mistake.file, mistake.from, mistake.to);
    const std::string message = LoadMessage(files);
    EXPECT_THAT(message, testing::StartsWith(mistake.message))
        << mistake.from << " -> " << mistake.to;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(BadOperation, SaysWhichFileIsMissing) {
  PackageFiles files = SamplePackage();
  files.erase("operation.toml");
  EXPECT_EQ(LoadMessage(files), "saxpy: no operation.toml; it says what the operation computes");
  EXPECT_EQ(LoadMessage({}), "saxpy: no operation.toml; it says what the operation computes");
  files = SamplePackage();
  files["2d/x.toml"] = "";
  EXPECT_EQ(LoadMessage(files), "saxpy/2d/x.toml: '2d' cannot be the name of a backend");
  files = SamplePackage();
  files["host/my chunk.toml"] = "";
  EXPECT_EQ(LoadMessage(files),
            "saxpy/host/my chunk.toml: 'my chunk' cannot be the name of a structure");
}

TEST(BadOperation, RefusesASpaceTooLargeToCount) {
  PackageFiles files = SamplePackage();
  std::string knobs = "[knobs]\n";
  for (int i = 0; i < 20; ++i) {
    knobs += "knob_" + std::to_string(i) + " = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n";
  }
  Edit(files, kSt, "[knobs]\n", knobs);
  EXPECT_EQ(LoadMessage(files),
            "saxpy/host/chunk.toml:23: the space has more than 2^62 configurations");
}

}  // namespace
}  // namespace pawl
