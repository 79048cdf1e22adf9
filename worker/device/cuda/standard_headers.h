#pragma once
// The standard headers that a cuda source or a reference may include, as far as kernels need them:
// NVRTC brings none, and the emulated device takes the same, so that what one compiles the other
// does too.

#include <vector>

namespace pawl {

struct StandardHeader {
  const char* name;
  const char* text;
};
const std::vector<StandardHeader>& StandardHeaders();

}  // namespace pawl
