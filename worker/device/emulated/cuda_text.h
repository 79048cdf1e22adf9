#pragma once
// CUDA source as text: what has to be said otherwise before a C++ compiler can take it. Pure.
// Lines stay lines.

#include <cstddef>
#include <string>
#include <string_view>

#include "schema/result.h"

namespace pawl {

// The text with comments and literals as blanks, of equal length: what remains is code.
std::string CodeOf(std::string_view text);
// npos: it is not there as a word of its own.
std::size_t FindWord(std::string_view code, std::string_view word, std::size_t from);
std::string_view Trimmed(std::string_view text);

// "extern __shared__ float tile[];" becomes a pointer to the launch's dynamic shared memory, in a
// function's body and outside.
std::string WithDynamicShared(std::string_view text);

// A kernel's body begins by holding the launch against the kernel's __launch_bounds__. Those that a
// macro spells out are not seen. Errors name a declaration that has them and no body.
Result<std::string> WithLaunchBounds(std::string_view text, const std::string& file);

}  // namespace pawl
