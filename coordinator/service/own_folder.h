#pragma once
// A folder of this process's own among the temporary files, gone with it.
//
// Whoever is killed leaves his behind. Each is locked by its owner while that lives, so the next
// who makes one of the same kind takes away those that nobody holds.

#include <memory>
#include <string>

#include "schema/result.h"

namespace pawl {

class OwnFolder {
 public:
  // "pawl-<kind>-XXXXXX" in $TMPDIR, else /tmp; mode 0700.
  static Result<std::unique_ptr<OwnFolder>> Make(const std::string& kind);
  ~OwnFolder();
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  OwnFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;
};

}  // namespace pawl
