#pragma once
// Pieces of the text that is compiled around a kernel or a reference.

#include <string>

#include "schema/order.h"

namespace pawl {

// What the compiler is to call the lines that follow.
std::string LineMark(const std::string& name);
// The same for what calls a source's kernels, which names it: a kernel that it lacks is missing at
// "tiled.cu(launch):10". Without spaces.
std::string LaunchMark(const std::string& source);
inline constexpr char kLaunchMark[] = "(launch)";

void AppendItem(std::string& list, const std::string& item);  // parted by commas

// Statements that take `rest`, the flat place of an element of `output`, apart into i0, i1 … (row
// major).
std::string PlaceStatements(const Buffer& output, const std::string& indent);

// The names of those, as arguments that follow `list`.
void AppendPlace(std::string& list, const Buffer& output);

}  // namespace pawl
