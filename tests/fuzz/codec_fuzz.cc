// libFuzzer over the codec: build/fuzz/bin/codec_fuzz -max_len=65536 NEW tests/fuzz/corpus/codec
// (NEW: an empty folder for what it finds).

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/fuzz/codec_target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pawl::test::ProbeCodec({reinterpret_cast<const char*>(data), size});
  return 0;
}

// Random damage to a frame seldom leaves its length right, and would then be refused unparsed;
// three times in four the length is mended.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  const std::size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 4 != 0 && mutated >= 4 && std::memcmp(data, "PAWL", 4) == 0) {
    std::string frame(reinterpret_cast<const char*>(data), mutated);
    pawl::test::MendLength(frame);
    std::memcpy(data, frame.data(), mutated);
  }
  return mutated;
}
