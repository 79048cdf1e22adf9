// The fuzzer's corpus, without the fuzzer.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/codec_target.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

TEST(CodecFuzz, CorpusHoldsItsPromises) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::SourceFolder() + "/tests/fuzz/corpus/codec")) {
    SCOPED_TRACE(entry.path().string());
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    test::ProbeCodec(bytes.str());
    ++files;
  }
  EXPECT_GE(files, 33u);
}

}  // namespace
}  // namespace pawl
