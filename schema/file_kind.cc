#include "schema/file_kind.h"

#include <filesystem>

namespace pawl {

std::optional<std::string> WhatIsAt(const std::string& path) {
  using std::filesystem::file_type;
  std::error_code failed;
  switch (std::filesystem::status(path, failed).type()) {
    case file_type::not_found:
      return std::nullopt;
    case file_type::regular:
      return kAFile;
    case file_type::directory:
      return kAFolder;
    case file_type::fifo:
      return "a FIFO";
    case file_type::socket:
      return "a socket";
    case file_type::block:
    case file_type::character:
      return "a device";
    case file_type::none:
      return "not to be looked at (" + failed.message() + ")";
    default:
      return "of an unknown kind";
  }
}

}  // namespace pawl
