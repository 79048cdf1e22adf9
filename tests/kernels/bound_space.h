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

}  // namespace pawl
