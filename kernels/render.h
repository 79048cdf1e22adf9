#pragma once
// Turns one template and one configuration into a source: the knobs and derived values as constexpr in
// front of an ordinary .cu or .cc file.
//
// Pure: the same operation, structure, shape and configuration give the same bytes on every machine; the
// ledger's digests rest on that. The rendered file's name carries the configuration's digest, not its role.

#include <string>
#include <vector>

#include "kernels/operation.h"
#include "kernels/space.h"
#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

// The template's text between `// pawl: knobs` and `// pawl: end` (defaults, so that an editor and a
// compiler can read it as it stands) is replaced by the configuration's values. Errors, with file and line:
// a knob declared there that the structure does not have, a knob or derived value of the structure that the
// template never uses, markers missing, a configuration that is not valid in `space`. Of a compound, the
// member that the configuration names is rendered: the same bytes as without the compound.
Result<SourceText> Render(const Operation& operation, const Structure& structure, const Space& space,
                          const Configuration& configuration);

// A hand-written source as it stands.
Result<SourceText> CommittedSource(const Operation& operation, const Committed& committed);
Result<SourceText> RivalSource(const Operation& operation, const Rival& rival);
Result<SourceText> ReferenceSource(const Operation& operation);

// What quoted includes of the backend's sources name: the package's own headers beside them, and
// pawl_device.h.
std::vector<HeaderText> HeadersOf(const Operation& operation, const Backend& backend);

// What an arm runs, in stream order.
struct Launches {
  std::vector<Launch> launches;
  std::vector<Scratch> scratch;
};

// The launches of a configuration that is valid in `space`, or of a committed kernel at a shape.
Result<Launches> LaunchesOf(const Operation& operation, const Structure& structure,
                            const Space& space, const Configuration& configuration);
Result<Launches> LaunchesOf(const Operation& operation, const Committed& committed,
                            const std::vector<Scalar>& shape);

}  // namespace pawl
