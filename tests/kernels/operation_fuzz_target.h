#pragma once
// One input of the operation fuzzer: what it means and what must hold for it.
//
// The first byte says which file of the sample package the rest replaces ('o' operation.toml, 's'
// host/chunk.toml, 't' host/chunk.cc, 'c' host/committed.toml) or that it is an expression ('e') or
// the text of a configuration ('k'). Whatever it is: no crash, and an error is one line.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operation.h"
#include "kernels/render.h"
#include "kernels/space.h"
#include "schema/check.h"
#include "tests/kernels/sample_package.h"

namespace pawl {

inline void CheckOneLine(const std::string& message) {
  CHECK(!message.empty());
  CHECK(message.find('\n') == std::string::npos, message);
}

inline void UseStructure(const Operation& operation, const Structure& structure,
                         const std::vector<Scalar>& shape) {
  const Result<Space> space = Space::Make(structure, shape);
  if (!space) return CheckOneLine(space.error().message);
  CHECK(space->OrdinalOf(structure.start).has_value());
  CHECK(*space->OrdinalOf(space->At(0)) == 0);
  const Configuration canonical = space->Canonical(structure.start);
  CHECK(space->Canonical(canonical) == canonical, canonical.Text());
  const std::vector<Violation> violations = space->Validate(structure.start);
  for (const Violation& violation : violations) CheckOneLine(violation.text);
  (void)space->Repair(structure.start);
  constexpr std::uint64_t kFewEnough = 256;
  if (space->Cartesian() <= kFewEnough) {
    space->EnumerateDistinct([&](const Configuration& configuration) {
      CHECK(space->Validate(configuration).empty(), configuration.Text());
      return true;
    });
  }
  if (!violations.empty() || structure.source.empty()) return;
  const Result<SourceText> source = Render(operation, structure, *space, structure.start);
  CHECK(source.has_value(), source.error().message);
  CHECK(source->digest == Sha256(source->text));
  CHECK(LaunchesOf(operation, structure, *space, structure.start).has_value());
}

inline void UseOperation(const PackageFiles& files) {
  const Result<Operation> operation = LoadOperation(files, "saxpy");
  if (!operation) return CheckOneLine(operation.error().message);
  std::vector<Scalar> shape;
  for (const std::string& letter : operation->letters) shape.push_back({letter, 64});
  if (const auto buffers = BuffersAt(*operation, shape); !buffers)
    CheckOneLine(buffers.error().message);
  if (const auto flops = FlopsAt(*operation, shape); !flops) CheckOneLine(flops.error().message);
  for (const Backend& backend : operation->backends) {
    for (const Structure& structure : backend.structures)
      UseStructure(*operation, structure, shape);
    const Result<const Committed*> committed = CommittedAt(*operation, backend, shape);
    if (!committed) {
      CheckOneLine(committed.error().message);
    } else if (const auto launch = LaunchesOf(*operation, **committed, shape); !launch) {
      CheckOneLine(launch.error().message);
    }
  }
}

inline void UseExpression(std::string_view text) {
  Scope scope;
  scope.Add("m");
  scope.Add("block.m");
  scope.AddWord("order", {"rows", "columns"});
  const Result<Expression> expression = Expression::Parse(text, scope, {"fuzz", 1});
  if (!expression) return CheckOneLine(expression.error().message);
  for (const std::int64_t m : {std::int64_t{0}, std::int64_t{-3}, kLargestValue}) {
    const Result<std::int64_t> value = expression->Evaluate({m, 7, 1});
    if (!value) {
      CheckOneLine(value.error().message);
    } else {
      CHECK(*value <= kLargestValue && *value >= -kLargestValue, *value);
    }
  }
}

inline void UseConfiguration(std::string_view text) {
  static const Operation operation = *LoadOperation(SamplePackage(), "saxpy");
  const Structure& structure = *operation.FindStructure("host", "chunk");
  const Result<Configuration> configuration = ParseConfiguration(text, structure, structure.start);
  if (!configuration) return CheckOneLine(configuration.error().message);
  const Result<Configuration> again =
      ParseConfiguration(configuration->Text(), structure, structure.start);
  CHECK(again.has_value() && *again == *configuration, configuration->Text());
}

inline void FuzzOperation(std::string_view input) {
  if (input.empty()) return;
  const std::string_view rest = input.substr(1);
  if (input[0] == 'e') return UseExpression(rest);
  if (input[0] == 'k') return UseConfiguration(rest);
  const char* file = input[0] == 's'   ? "host/chunk.toml"
                     : input[0] == 't' ? "host/chunk.cc"
                     : input[0] == 'c' ? "host/committed.toml"
                                       : "operation.toml";
  PackageFiles files = SamplePackage();
  files[file] = rest;
  UseOperation(files);
}

}  // namespace pawl
