#pragma once
// A disk that fills up, fails to sync, or loses power, around the real one.

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace pawl::testing {

class FaultyFileSystem : public rocksdb::FileSystemWrapper {
 public:
  FaultyFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FaultyFileSystem"; }

  // The n-th sync of a write-ahead log from now on fails, and all after it; 0: none.
  void FailSync(int nth) { syncs_left_ = nth; }
  // Writes to files whose name ends so get no space; "": none.
  void RunOutOfSpaceFor(const std::string& ending);
  void SetFreeBytes(std::uint64_t bytes) { free_bytes_ = bytes; }
  int log_syncs() const { return log_syncs_; }

  // Nothing reaches the disk from now on.
  void Stop() { stopped_ = true; }
  void Restart() { stopped_ = false; }
  // What was written and not synced is gone. After Stop, when all files are closed.
  void LosePower();

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options,
                                 std::uint64_t* bytes, rocksdb::IODebugContext* debug) override;

  // For the files it hands out.
  rocksdb::IOStatus BeforeWrite(const std::string& name);
  rocksdb::IOStatus BeforeSync(const std::string& name);
  void Synced(const std::string& name, std::uint64_t size);
  void SyncedContent(const std::string& name);

 private:
  std::atomic<int> syncs_left_{0};
  std::atomic<int> log_syncs_{0};
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> free_bytes_{1ull << 40};
  std::mutex mutex_;
  std::string full_ending_;                            // under mutex_
  std::map<std::string, std::uint64_t> synced_size_;   // under mutex_: of appended files
  std::map<std::string, std::string> synced_content_;  // under mutex_: of files written in place
};

}  // namespace pawl::testing
