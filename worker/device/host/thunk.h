#pragma once
// The two sources that the host device compiles: a kernel's text with a typed entry point behind
// it, and a reference's text with loops over its elements behind it. Pure: text in, text out.

#include <string>
#include <vector>

#include "schema/message.h"
#include "schema/order.h"

namespace pawl {

// extern "C" void pawl_call(void* const* buffers, const std::int64_t* scalars): calls the launches
// one after another. Each kernel's address is taken as exactly the type that its arguments demand
// (const T* for an input, T* for an output, std::int64_t for a scalar), so that another signature
// does not compile.
inline constexpr const char* kCallSymbol = "pawl_call";
std::string KernelUnit(const SourceText& source, const std::vector<Launch>& launches,
                       const std::vector<Buffer>& buffers, const std::vector<Scalar>& scalars);

// For each output C, extern "C" void pawl_reference_C(const void* const* inputs,
// const std::int64_t* scalars, std::int64_t first, std::int64_t last, double* elements):
// elements[i - first] = reference_C of flat element i, for i in [first, last). `inputs` are the
// input buffers only, in order.
std::string ReferenceSymbol(const Buffer& output);
std::string ReferenceUnit(const SourceText& source, const std::vector<Buffer>& buffers,
                          const std::vector<Scalar>& scalars);

}  // namespace pawl
