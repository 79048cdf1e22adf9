#pragma once
// Pieces of the text that is compiled around a kernel or a reference.

#include <string>

#include "schema/order.h"

namespace pawl {

// What the compiler is to call the lines that follow.
std::string LineMark(const std::string& name);

void AppendItem(std::string& list, const std::string& item);  // parted by commas

// Statements that take `rest`, the flat place of an element of `output`, apart into i0, i1 … (row
// major).
std::string PlaceStatements(const Buffer& output, const std::string& indent);

// The names of those, as arguments that follow `list`.
void AppendPlace(std::string& list, const Buffer& output);

}  // namespace pawl
