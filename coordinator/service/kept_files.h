#pragma once
// Files that are written once and kept for good: numbered, whole or not there, never overwritten.

#include <string>
#include <vector>

#include "schema/result.h"

namespace pawl {

struct KeptFile {
  std::string name;  // without the folder
  std::string text;
  std::string problem{};  // why it cannot be read, without a text then; empty: it was
};

// The files of `folder` whose names begin with `stem` and end with `ending`, by name; none where
// there is no such folder. Errors: the folder cannot be read.
Result<std::vector<KeptFile>> ReadKept(const std::string& folder, const std::string& stem,
                                       const std::string& ending);

// Makes the folder where there is none, before what is to be kept in it is paid for. Errors: why
// Keep could not write there.
Status MakeKeepable(const std::string& folder);

// Writes `text` as <folder>/<stem><number><ending> with the first number from 1 above all that are
// there, synced before it has its name. Gives the name. Makes the folder where there is none.
Result<std::string> Keep(const std::string& folder, const std::string& stem,
                         const std::string& ending, const std::string& text);

}  // namespace pawl
