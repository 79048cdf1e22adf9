#pragma once
// Reads operation.toml. Private to kernels/.

#include "kernels/document.h"
#include "kernels/operation.h"
#include "schema/result.h"

namespace pawl {

// Fills in what the file says; the rest of the operation is left alone.
Status ReadOperationFile(Table& table, Operation& operation);

// What the integers of a fill may be, by number or at a shape.
inline constexpr double kLargestInteger =
    16777216;  // 2^24: whole numbers up to it are exact in float32
inline constexpr double kLargestRowPointer = 2147483647;
// What the numbers of a fill may be in a tensor of a dtype; u32 has none below 0.
struct FillRange {
  double least;
  double most;
};
FillRange RangeOf(DType dtype, FillKind kind);

}  // namespace pawl
