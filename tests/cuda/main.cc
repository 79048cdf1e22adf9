// The main function of the CUDA tests: like GoogleTest's; a builder's child or a runner when
// started as one.

#include <gtest/gtest.h>

#include <optional>

#include "worker/device/cuda/builder.h"
#include "worker/runner.h"

int main(int argc, char** argv) {
  if (const std::optional<int> code = pawl::BuilderMain(argc, argv)) return *code;
  if (const auto runner = pawl::ParseRunnerArguments(argc, argv)) {
    return *runner ? pawl::RunnerMain(**runner) : 2;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
