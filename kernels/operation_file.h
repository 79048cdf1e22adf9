#pragma once
// Reads operation.toml. Private to kernels/.

#include "kernels/document.h"
#include "kernels/operation.h"
#include "schema/result.h"

namespace pawl {

// Fills in what the file says; the rest of the operation is left alone.
Status ReadOperationFile(Table& table, Operation& operation);

}  // namespace pawl
