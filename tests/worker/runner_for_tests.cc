// The program that tests start as a runner: the real one, and a few that misbehave on purpose.

#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "worker/frames.h"
#include "worker/runner.h"
#include "worker/sandbox/calls.h"

namespace {

// Opens properly, then says `bytes` and waits.
int Liar(int fd, const std::string& bytes) {
  pawl::DeviceFacts facts;
  facts.kind = "host";
  facts.model = "liar";
  facts.toolchain = "none";
  facts.backend = "host";
  facts.instruments = {pawl::Instrument::kWallTime};
  facts.cores = 1;
  if (!pawl::WriteFrame(fd, 'F', pawl::EncodeFacts(facts))) return 1;
  char order = 0;
  if (::read(fd, &order, 1) != 1) return 1;
  if (::write(fd, bytes.data(), bytes.size()) < 0) return 1;
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  const auto command = pawl::ParseRunnerArguments(argc, argv);
  if (!command || !*command) {
    std::fprintf(stderr, "runner_for_tests: %s\n",
                 command ? command->error().message.c_str() : "not a runner's command line");
    return 2;
  }
  const pawl::RunnerCommand& runner = **command;
  if (runner.device == "liar:huge") return Liar(runner.fd, std::string(4, '\xff') + "R");
  if (runner.device == "liar:tag") return Liar(runner.fd, std::string(4, '\0') + "?");
  if (runner.device == "liar:report") return Liar(runner.fd, std::string("\4\0\0\0Rabcd", 9));
  if (runner.device == "mute") {
    for (;;) ::pause();
  }
  if (runner.device == "early") return 9;
  // As where the system allows no namespaces.
  constexpr std::string_view kCaged = "caged:";
  if (runner.device.rfind(kCaged, 0) == 0) {
    std::string problem = pawl::DropPrivileges();
    if (problem.empty()) problem = pawl::FilterCalls(false);  // which needs the other
    if (!problem.empty()) {
      std::fprintf(stderr, "runner_for_tests: %s\n", problem.c_str());
      return 2;
    }
    pawl::RunnerCommand caged = runner;
    caged.device.erase(0, kCaged.size());
    return pawl::RunnerMain(caged);
  }
  return pawl::RunnerMain(runner);
}
