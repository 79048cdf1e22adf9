#pragma once
// A package's space at a shape, for tests of what it holds.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/operation.h"
#include "kernels/space.h"
#include "tests/support/places.h"

namespace pawl {

// An operation with one of its structures at a shape.
struct Bound {
  Operation operation;
  const Structure* structure = nullptr;
  std::unique_ptr<Space> space;
};

inline Bound Bind(Result<Operation> operation, const std::string& backend, const std::string& name,
                  const std::vector<Scalar>& shape) {
  EXPECT_TRUE(operation) << operation.error().message;
  Bound bound{std::move(*operation), nullptr, nullptr};
  bound.structure = bound.operation.FindStructure(backend, name);
  EXPECT_NE(bound.structure, nullptr);
  Result<Space> space = Space::Make(*bound.structure, shape);
  EXPECT_TRUE(space) << space.error().message;
  bound.space = std::make_unique<Space>(std::move(*space));
  return bound;
}

inline Bound Shipped(const std::string& operation, const std::string& structure,
                     const std::vector<Scalar>& shape) {
  return Bind(LoadOperation(test::SourceFolder() + "/kernels/" + operation), "cuda", structure,
              shape);
}

inline Configuration With(const Bound& bound, const std::string& text) {
  Result<Configuration> configuration =
      ParseConfiguration(text, *bound.structure, bound.structure->start);
  EXPECT_TRUE(configuration) << configuration.error().message;
  return std::move(*configuration);
}

inline std::vector<std::string> Texts(const std::vector<Violation>& violations) {
  std::vector<std::string> texts;
  for (const Violation& violation : violations) texts.push_back(violation.text);
  return texts;
}

// The shipped cuda spaces at a shape.
inline Bound Tiled(std::int64_t m, std::int64_t n, std::int64_t k) {
  return Shipped("matmul", "tiled", {{"m", m}, {"n", n}, {"k", k}});
}
inline Bound Split(std::int64_t rows, std::int64_t width) {
  return Shipped("layer_norm", "split", {{"rows", rows}, {"width", width}});
}
inline Bound Elements(std::int64_t rows, std::int64_t width) {
  return Shipped("bias_gelu", "elements", {{"rows", rows}, {"width", width}});
}
inline Bound Contraction(std::int64_t n, std::int64_t c) {
  return Shipped("triangle_contraction", "tiled", {{"n", n}, {"c", c}});
}
inline Bound Teams(std::int64_t nodes, std::int64_t features, std::int64_t edges) {
  return Shipped("neighbour_aggregation", "teams",
                 {{"nodes", nodes}, {"features", features}, {"edges", edges}});
}
inline Bound Structured(std::int64_t m, std::int64_t n, std::int64_t k) {
  return Shipped("matmul", "structured", {{"m", m}, {"n", n}, {"k", k}});
}
inline Bound Rows(std::int64_t rows, std::int64_t width) {
  return Shipped("layer_norm", "rows", {{"rows", rows}, {"width", width}});
}

}  // namespace pawl
