#include "tests/ledger/faulty_file_system.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace pawl::testing {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string ContentOf(const std::string& name) {
  std::ifstream stream(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class FaultyWritable : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyWritable(std::unique_ptr<rocksdb::FSWritableFile> file, std::string name,
                 FaultyFileSystem& system)
      : FSWritableFileOwnerWrapper(std::move(file)), name_(std::move(name)), system_(system) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  IODebugContext* debug) override {
    IOStatus status = system_.BeforeWrite(name_);
    if (status.ok()) status = FSWritableFileOwnerWrapper::Append(data, options, debug);
    if (status.ok()) size_ += data.size();
    return status;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& /*verification*/,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = system_.BeforeSync(name_);
    if (status.ok()) status = FSWritableFileOwnerWrapper::Sync(options, debug);
    if (status.ok()) system_.Synced(name_, size_);
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }

 private:
  const std::string name_;
  FaultyFileSystem& system_;
  std::uint64_t size_ = 0;
};

class FaultyInPlace : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  FaultyInPlace(std::unique_ptr<rocksdb::FSRandomRWFile> file, std::string name,
                FaultyFileSystem& system)
      : FSRandomRWFileOwnerWrapper(std::move(file)), name_(std::move(name)), system_(system) {}

  IOStatus Write(std::uint64_t offset, const rocksdb::Slice& data, const IOOptions& options,
                 IODebugContext* debug) override {
    IOStatus status = system_.BeforeWrite(name_);
    if (status.ok()) status = FSRandomRWFileOwnerWrapper::Write(offset, data, options, debug);
    return status;
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = system_.BeforeSync(name_);
    if (status.ok()) status = FSRandomRWFileOwnerWrapper::Sync(options, debug);
    if (status.ok()) system_.SyncedContent(name_);
    return status;
  }

 private:
  const std::string name_;
  FaultyFileSystem& system_;
};

}  // namespace

void FaultyFileSystem::RunOutOfSpaceFor(const std::string& ending) {
  const std::lock_guard<std::mutex> lock(mutex_);
  full_ending_ = ending;
}

IOStatus FaultyFileSystem::BeforeWrite(const std::string& name) {
  if (stopped_) return IOStatus::IOError("stopped");
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!full_ending_.empty() && EndsWith(name, full_ending_)) {
    return IOStatus::NoSpace("While appending to file: " + name + ": No space left on device");
  }
  return IOStatus::OK();
}

IOStatus FaultyFileSystem::BeforeSync(const std::string& name) {
  if (stopped_) return IOStatus::IOError("stopped");
  if (!EndsWith(name, ".log")) return IOStatus::OK();
  ++log_syncs_;
  if (syncs_left_ == 0) return IOStatus::OK();
  if (syncs_left_ > 1) {
    --syncs_left_;
    return IOStatus::OK();
  }
  return IOStatus::IOError("While fdatasync: " + name + ": Input/output error");
}

void FaultyFileSystem::Synced(const std::string& name, std::uint64_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  synced_size_[name] = size;
}

void FaultyFileSystem::SyncedContent(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  synced_content_[name] = ContentOf(name);
}

void FaultyFileSystem::LosePower() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [name, size] : synced_size_) {
    if (std::filesystem::exists(name)) std::filesystem::resize_file(name, size);
  }
  for (const auto& [name, content] : synced_content_) {
    std::ofstream(name, std::ios::binary | std::ios::trunc) << content;
  }
  synced_size_.clear();
  synced_content_.clear();
}

IOStatus FaultyFileSystem::NewWritableFile(const std::string& name,
                                           const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                                           IODebugContext* debug) {
  if (IOStatus status = BeforeWrite(name); !status.ok()) return status;
  const IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, debug);
  if (!status.ok()) return status;
  Synced(name, 0);
  *file = std::make_unique<FaultyWritable>(std::move(*file), name, *this);
  return status;
}

IOStatus FaultyFileSystem::NewRandomRWFile(const std::string& name,
                                           const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                           IODebugContext* debug) {
  const IOStatus status = FileSystemWrapper::NewRandomRWFile(name, options, file, debug);
  if (!status.ok()) return status;
  SyncedContent(name);
  *file = std::make_unique<FaultyInPlace>(std::move(*file), name, *this);
  return status;
}

IOStatus FaultyFileSystem::RenameFile(const std::string& from, const std::string& to,
                                      const IOOptions& options, IODebugContext* debug) {
  const IOStatus status = FileSystemWrapper::RenameFile(from, to, options, debug);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (auto moved = synced_size_.extract(from); status.ok() && !moved.empty()) {
    synced_size_[to] = moved.mapped();
  }
  return status;
}

IOStatus FaultyFileSystem::DeleteFile(const std::string& name, const IOOptions& options,
                                      IODebugContext* debug) {
  if (stopped_) return IOStatus::IOError("stopped");
  const IOStatus status = FileSystemWrapper::DeleteFile(name, options, debug);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (status.ok()) synced_size_.erase(name);
  return status;
}

IOStatus FaultyFileSystem::GetFreeSpace(const std::string& /*path*/, const IOOptions& /*options*/,
                                        std::uint64_t* bytes, IODebugContext* /*debug*/) {
  *bytes = free_bytes_;
  return IOStatus::OK();
}

}  // namespace pawl::testing
