#pragma once
// Ctrl-C (SIGINT) and SIGTERM as something to read, for loops that wait on sockets.

#include <memory>

#include "schema/result.h"

namespace pawl {

class StopSignals {
 public:
  // Both are blocked in this process from now on. Errors: no descriptor is left.
  static Result<std::unique_ptr<StopSignals>> Block();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  int fd() const { return fd_; }  // readable once one has come
  int Count();                    // that have come so far

 private:
  explicit StopSignals(int fd) : fd_(fd) {}

  const int fd_;
  int count_ = 0;
};

}  // namespace pawl
