#pragma once
// pawl_ledger_writer as a child that is killed: what it acknowledged until then.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schema/message.h"

namespace pawl::testing {

struct Acked {
  Seq seq;
  Digest digest;
};

class WriterProcess {
 public:
  // It waits to be killed after `most` acknowledgements; 0: it never stops.
  WriterProcess(const std::string& folder, std::uint64_t seed, std::uint64_t max_wal_bytes,
                std::size_t most = 0);
  ~WriterProcess();
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;

  // Returns once that many acknowledgements have come; CHECKs that the child lives that long.
  void WaitForAcks(std::size_t count);
  // Goes on reading for that time.
  void ReadFor(std::int64_t microseconds);
  // kill -9; returns all that it had acknowledged.
  std::vector<Acked> Kill();

 private:
  bool ReadSome(int timeout_ms);  // false: at the end

  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string partial_;
  std::vector<Acked> acked_;
};

}  // namespace pawl::testing
