#pragma once
// Knob values as people write them, in a document or on a command line.

#include <optional>
#include <string_view>

#include "kernels/document.h"
#include "schema/configuration.h"
#include "schema/result.h"

namespace pawl {

// A knob value as a document writes it: true, 64, "guarded", [64, 64] or "64x64" (for a tuple).
Result<KnobValue> ToKnobValue(const Node& node);
// The same as ToText (schema/configuration.h) writes it: "true", "64", "guarded", "64x64".
std::optional<KnobValue> KnobValueFromText(std::string_view text);

}  // namespace pawl
