#pragma once
// Reads what <backend>/<structure>.toml and committed.toml say of launches: the keys of a single
// one (kernel, grid, block, cluster, dynamic_shared_bytes) or a list of [[launch]], and
// [[scratch]]. Private to kernels/.

#include "kernels/document.h"
#include "kernels/operation.h"
#include "schema/result.h"

namespace pawl {

// `kernel` may be missing only where a committed kernel takes its structure's.
Status ReadLaunches(Table& table, bool needs_kernel, LaunchPlan& plan);

// What needs the operation: the names of arguments, of memset's targets, of scratch.
Status CheckLaunches(const LaunchPlan& plan, const Operation& operation);

}  // namespace pawl
