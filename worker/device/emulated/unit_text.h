#pragma once
// The C++ unit that the emulated device compiles for one arm: CUDA's language (shim/), the source
// with its headers in place, and an entry point a launch. Pure: text in, text out.

#include <string>
#include <vector>

#include "schema/order.h"
#include "schema/result.h"
#include "worker/device/emulated/limits.h"
#include "worker/device/host/compiler.h"

namespace pawl {

// `watched`: its accesses call the hooks. Errors name the place in the source: inline PTX, an
// include that no kernel can have.
Result<Unit> EmulatedUnit(const Order& order, const Arm& arm, const SmLimits& limits, bool watched);

// What a unit is compiled with. Contraction is off, so that a product is rounded before it is added
// on every machine. No sanitizer library is linked: the unit brings its own hooks.
inline constexpr const char* kEmulatedFlags[] = {
    "-std=c++20", "-fPIC", "-shared", "-w", "-g1", "-march=native", "-ffp-contract=off",
    "-fno-math-errno", "-fno-exceptions",
    // No frame steps over the guard between two threads' stacks.
    "-fstack-clash-protection",
    // So that each call is seen (object_file.h).
    "-ffunction-sections", "-Wl,--emit-relocs", "-fvisibility=hidden"};
inline constexpr const char* kPlainFlags[] = {"-O3"};
// Scalar replacement would split a float4 into its floats, and hide that it was misaligned; the
// others may load what the source would not have, which looks like a race.
inline constexpr const char* kWatchFlags[] = {"-O2",
                                              "-fno-tree-sra",
                                              "-fno-tree-loop-im",
                                              "-fno-tree-pre",
                                              "-fno-code-hoisting",
                                              "-fno-hoist-adjacent-loads",
                                              "-fsanitize=thread",
                                              "-fsanitize=bounds"};
inline constexpr const char* kEmulatedLibraries[] = {"-nodefaultlibs", "-lm", "-lc", "-lgcc"};

}  // namespace pawl
