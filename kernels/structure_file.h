#pragma once
// Reads <backend>/<structure>.toml and <backend>/committed.toml. Private to kernels/.

#include <memory>
#include <string>
#include <vector>

#include "kernels/document.h"
#include "kernels/operation.h"
#include "schema/result.h"

namespace pawl {

// `structure` comes with name, backend, file and letters; this fills in the rest and checks all
// that needs neither a shape nor the template.
Status ReadStructure(Table& table, Structure& structure);

// Fills in committed and rivals of a backend whose structures are read.
Status ReadCommitted(Table& table, const std::vector<std::string>& letters, Backend& backend);

// An integer or an expression, kept as text. `what`: the key, for messages.
Result<std::string> ExpressionText(const Node& node, const std::string& what);

// The name of the kernel that a plan launches first.
std::string FirstKernel(const LaunchPlan& plan);

// [[...]] of strings that must be names (IsName), each once: letters, parts.
Status CheckNames(const std::vector<std::string>& names, std::string_view what, const Place& place);

}  // namespace pawl
