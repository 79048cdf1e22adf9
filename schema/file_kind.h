#pragma once
// What stands in the place of a file or a folder that was asked for, in the words of a message.

#include <optional>
#include <string>

namespace pawl {

inline constexpr const char* kAFile = "a file";
inline constexpr const char* kAFolder = "a folder";

// kAFile, kAFolder, "a FIFO", "a socket" and the like, or why it cannot be looked at; nullopt:
// nothing is there. It is not opened, so a FIFO that nobody writes to holds nobody up.
std::optional<std::string> WhatIsAt(const std::string& path);

}  // namespace pawl
