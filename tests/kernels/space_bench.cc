// What the search pays for spaces and rendering, for every shipped structure. Targets: validate and
// render of one configuration under 50 us; the largest space enumerated in under 1 s.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "kernels/operation.h"
#include "kernels/render.h"
#include "kernels/space.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

constexpr std::int64_t kSide = 1024;  // of every shape letter: every shipped start is valid at it

struct Subject {
  std::shared_ptr<const Operation> operation;
  const Structure* structure = nullptr;
  std::shared_ptr<const Space> space;
  std::vector<Configuration> some;  // valid ones, spread over the space
};

Subject MakeSubject(std::shared_ptr<const Operation> operation, const Structure& structure) {
  std::vector<Scalar> shape;
  for (const std::string& letter : operation->letters) shape.push_back({letter, kSide});
  Result<Space> space = Space::Make(structure, shape);
  CHECK(space.has_value(), space.error().message);
  Subject subject{std::move(operation), &structure, std::make_shared<Space>(std::move(*space)), {}};
  constexpr std::uint64_t kSome = 64;
  for (std::uint64_t i = 0; i < kSome; ++i) {
    const auto entry = subject.space->NextValid(subject.space->Cartesian() / kSome * i);
    if (entry) subject.some.push_back(entry->configuration);
  }
  CHECK(!subject.some.empty(), structure.file);
  return subject;
}

void Validate(benchmark::State& state, const Subject& subject) {
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(subject.space->Validate(subject.some[next++ % subject.some.size()]));
  }
}

void ValidateAndRender(benchmark::State& state, const Subject& subject) {
  std::size_t next = 0;
  for (auto _ : state) {
    const Configuration& configuration = subject.some[next++ % subject.some.size()];
    CHECK(subject.space->Validate(configuration).empty());
    benchmark::DoNotOptimize(
        Render(*subject.operation, *subject.structure, *subject.space, configuration));
  }
}

void Enumerate(benchmark::State& state, const Subject& subject) {
  std::uint64_t valid = 0;
  for (auto _ : state) valid = subject.space->CountValid();
  state.counters["cartesian"] = static_cast<double>(subject.space->Cartesian());
  state.counters["valid"] = static_cast<double>(valid);
}

void Load(benchmark::State& state, const std::string& folder) {
  for (auto _ : state) benchmark::DoNotOptimize(LoadOperation(folder));
}

void RegisterAll(const std::string& root) {
  for (const std::string& name : ListOperations(root)) {
    const std::string folder = root + "/" + name;
    Result<Operation> loaded = LoadOperation(folder);
    if (!loaded) {
      std::fprintf(stderr, "left out: %s\n", loaded.error().message.c_str());
      continue;
    }
    benchmark::RegisterBenchmark(("load/" + name).c_str(), Load, folder)
        ->Unit(benchmark::kMillisecond);
    const auto operation = std::make_shared<const Operation>(std::move(*loaded));
    for (const Backend& backend : operation->backends) {
      for (const Structure& structure : backend.structures) {
        const Subject subject = MakeSubject(operation, structure);
        const std::string label = name + "/" + backend.name + "/" + structure.name;
        benchmark::RegisterBenchmark(("validate/" + label).c_str(), Validate, subject)
            ->Unit(benchmark::kMicrosecond);
        if (!structure.source.empty()) {
          benchmark::RegisterBenchmark(("validate_and_render/" + label).c_str(), ValidateAndRender,
                                       subject)
              ->Unit(benchmark::kMicrosecond);
        }
        benchmark::RegisterBenchmark(("enumerate/" + label).c_str(), Enumerate, subject)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace
}  // namespace pawl

int main(int argc, char** argv) {
  pawl::RegisterAll(pawl::test::SourceFolder() + "/kernels");
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
