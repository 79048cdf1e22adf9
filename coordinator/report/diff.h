#pragma once
// The difference of two texts as a unified diff, made by diff(1).

#include <string>

#include "schema/result.h"

namespace pawl {

// Empty when they are equal. `old_name` and `new_name` head it.
Result<std::string> UnifiedDiff(const std::string& old_text, const std::string& old_name,
                                const std::string& new_text, const std::string& new_name);

}  // namespace pawl
