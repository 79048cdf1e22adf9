#pragma once
// The clock leases of a machine: a folder with, for each GPU, its lease and a lock file.
//
// 1. A lease that Write returned for is on the disk, whole; one that was being written when its
//    writer died is the old one or the new one.
// 2. Whoever reads, writes or removes a GPU's lease to act on it holds that GPU's lock file: a
//    guardian for as long as it lives. The kernel lets go of it with the process.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/result.h"
#include "worker/clocks/clock_lease.h"

namespace pawl {

// $PAWL_CLOCK_LEASES, else /run/pawl/clocks: one for all workers of a machine.
std::string DefaultLeaseFolder();

// This machine. Errors: /proc cannot be read.
Result<Machine> ThisMachine();

class LeaseFolder {
 public:
  explicit LeaseFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  Status Make();  // with the folders above it

  // A GPU's lock file, held until this goes.
  class Hold {
   public:
    explicit Hold(int fd) : fd_(fd) {}
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();

   private:
    const int fd_;
  };
  // Null: another process holds it. Errors: it cannot be made.
  Result<std::unique_ptr<Hold>> Take(const std::string& gpu);

  // UUIDs of the GPUs that have a lease, in order. Without a folder: none.
  Result<std::vector<std::string>> Gpus() const;
  // nullopt: there is none. Errors: it cannot be read, or is damaged.
  Result<std::optional<ClockLease>> Read(const std::string& gpu) const;
  Status Write(const ClockLease& lease);
  Status Remove(const std::string& gpu);

 private:
  std::string FileOf(const std::string& gpu, const char* ending) const;

  const std::string path_;
};

}  // namespace pawl
