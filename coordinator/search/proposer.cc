#include "coordinator/search/proposer.h"

#include "coordinator/search/parameters.h"
#include "coordinator/search/proposer/coordinate.h"
#include "coordinator/search/proposer/exhaustive.h"
#include "coordinator/search/proposer/random.h"
#include "coordinator/search/proposer/same.h"

namespace pawl {

Result<std::unique_ptr<Proposer>> MakeProposer(const std::string& name,
                                               const Parameters& parameters) {
  if (name == "coordinate") return Coordinate::Make(parameters);
  if (name == "random") return Random::Make(parameters);
  if (name == "exhaustive") return Exhaustive::Make(parameters);
  if (name == "same") return Same::Make(parameters);
  return UnknownName("proposer", name, {"coordinate", "random", "exhaustive", "same"});
}

}  // namespace pawl
