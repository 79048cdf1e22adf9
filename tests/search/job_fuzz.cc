// libFuzzer target: any bytes as a job file. Start it with tests/search/job_corpus.

#include <cstddef>
#include <cstdint>
#include <string>

#include "coordinator/search/job.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const auto job = pawl::ParseJob(text, "fuzz.toml");
  if (!job && job.error().message.find('\n') != std::string::npos) __builtin_trap();
  if (job && job->tracks.empty()) __builtin_trap();
  return 0;
}
