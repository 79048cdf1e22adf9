#pragma once
// Files by content key: compiled objects and reference outputs, shared by all workers of a host.
//
// 1. A file is whole or not there: written aside, renamed into place. Several processes may use one
//    folder.
// 2. What Get returns has the bytes that Put was given: each file carries the SHA-256 of its
//    contents; one that does not match is removed and counts as not there.
// 3. The folder stays near its size cap: the least recently used files go first. It is a cache:
//    nothing is synced, and any file may vanish at any time.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "schema/digest.h"
#include "schema/result.h"

namespace pawl {

class ObjectCache {
 public:
  static Result<std::unique_ptr<ObjectCache>> Open(const std::string& folder,
                                                   std::uint64_t max_bytes);

  // Both may be called from any thread.
  std::optional<std::string> Get(const Digest& key) const;
  Status Put(const Digest& key, std::string_view bytes);

 private:
  ObjectCache(std::string folder, std::uint64_t max_bytes);
  std::string PathOf(const Digest& key) const;
  void Trim();

  const std::string folder_;
  const std::uint64_t max_bytes_;
  const std::string drawn_name_;  // part of the names of files that are being written

  std::mutex trimming_;            // guards what follows
  std::uint64_t total_bytes_ = 0;  // at the last look, plus what this process has put since
};

}  // namespace pawl
