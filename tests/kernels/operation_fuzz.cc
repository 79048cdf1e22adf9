// libFuzzer's entry: pawl_operation_fuzz tests/kernels/corpus

#include <cstddef>
#include <cstdint>

#include "tests/kernels/operation_fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pawl::FuzzOperation({reinterpret_cast<const char*>(data), size});
  return 0;
}
