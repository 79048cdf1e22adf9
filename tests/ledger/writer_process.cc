#include "tests/ledger/writer_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "schema/check.h"
#include "tests/support/places.h"

extern char** environ;

namespace pawl::testing {

WriterProcess::WriterProcess(const std::string& folder, std::uint64_t seed,
                             std::uint64_t max_wal_bytes, std::size_t most) {
  std::array<int, 2> ends{};
  CHECK(pipe2(ends.data(), O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string program = test::BinFolder() + "/pawl_ledger_writer";
  std::string path = folder;
  std::string seed_text = std::to_string(seed);
  std::string bytes = std::to_string(max_wal_bytes);
  std::string most_text = std::to_string(most);
  std::array<char*, 6> arguments = {program.data(), path.data(),      seed_text.data(),
                                    bytes.data(),   most_text.data(), nullptr};
  CHECK(posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ) == 0,
        program);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  pipe_ = ends[0];
}

WriterProcess::~WriterProcess() {
  if (pid_ > 0) Kill();
  close(pipe_);
}

bool WriterProcess::ReadSome(int timeout_ms) {
  pollfd ready{pipe_, POLLIN, 0};
  const int count = poll(&ready, 1, timeout_ms);
  if (count <= 0) return true;
  std::array<char, 4096> buffer;
  const ssize_t size = read(pipe_, buffer.data(), buffer.size());
  if (size <= 0) return false;
  partial_.append(buffer.data(), static_cast<std::size_t>(size));
  for (std::size_t end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
    const std::size_t blank = partial_.find(' ');
    const Result<Digest> digest = Digest::FromHex(partial_.substr(blank + 1, end - blank - 1));
    CHECK(digest, partial_);
    acked_.push_back({Seq(std::stoull(partial_)), *digest});
    partial_.erase(0, end + 1);
  }
  return true;
}

void WriterProcess::WaitForAcks(std::size_t count) {
  while (acked_.size() < count) {
    CHECK(ReadSome(1'000), "the writer ended after", acked_.size(), "acknowledgements of", count);
  }
}

void WriterProcess::ReadFor(std::int64_t microseconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::microseconds(microseconds);
  while (Clock::now() < end) {
    CHECK(ReadSome(0), "the writer ended after", acked_.size(), "acknowledgements");
  }
}

std::vector<Acked> WriterProcess::Kill() {
  kill(pid_, SIGKILL);
  int status = 0;
  CHECK(waitpid(pid_, &status, 0) == pid_);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the writer ended by itself:", status);
  pid_ = -1;
  while (ReadSome(0)) {
  }
  return acked_;
}

}  // namespace pawl::testing
