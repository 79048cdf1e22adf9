#pragma once
// Shapes and numbers as a person types them after an option. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

// "m=256,n=256,k=128". Errors begin with `option`: what is no such list, and a value that no letter
// can have. Which letters there must be is the operation's to say.
Result<std::vector<Scalar>> ParseShape(const std::string& option, const std::string& text);

// A whole number of at least 0, in decimal digits alone. Errors: what `text` is in place of it.
Result<std::uint64_t> ParseWhole(const std::string& text);

}  // namespace pawl
