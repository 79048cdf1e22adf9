// The host kernels that pawl ships: right at shapes that divide by nothing, in every configuration
// sampled, and spaces in which a change of a knob is a change of the code.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "coordinator/search/seed.h"
#include "kernels/bias_gelu/reference.h"
#include "kernels/layer_norm/reference.h"
#include "kernels/matmul/reference.h"
#include "kernels/neighbour_aggregation/reference.h"
#include "kernels/render.h"
#include "kernels/space.h"
#include "kernels/triangle_contraction/reference.h"
#include "tests/packages/built_kernel.h"
#include "tests/support/places.h"

namespace pawl::test {
namespace {

using Reference = std::vector<double> (*)(const Problem&, const std::vector<Scalar>&);

std::vector<double> MatmulReference(const Problem& problem, const std::vector<Scalar>& shape) {
  const std::int64_t m = shape[0].value, n = shape[1].value, k = shape[2].value;
  std::vector<double> all;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      all.push_back(reference_C(problem.input(0), problem.input(1), m, n, k, i, j));
    }
  }
  return all;
}

std::vector<double> LayerNormReference(const Problem& problem, const std::vector<Scalar>& shape) {
  const std::int64_t rows = shape[0].value, width = shape[1].value;
  std::vector<double> all;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      all.push_back(
          reference_Y(problem.input(0), problem.input(1), problem.input(2), rows, width, i, j));
    }
  }
  return all;
}

std::vector<double> BiasGeluReference(const Problem& problem, const std::vector<Scalar>& shape) {
  const std::int64_t rows = shape[0].value, width = shape[1].value;
  std::vector<double> all;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      all.push_back(reference_Y(problem.input(0), problem.input(1), rows, width, i, j));
    }
  }
  return all;
}

std::vector<double> TriangleReference(const Problem& problem, const std::vector<Scalar>& shape) {
  const std::int64_t n = shape[0].value, c = shape[1].value;
  std::vector<double> all;
  for (std::int64_t i = 0; i < n * n * c; ++i) {
    all.push_back(
        reference_O(problem.input(0), problem.input(1), n, c, i / c / n, i / c % n, i % c));
  }
  return all;
}

std::vector<double> NeighbourReference(const Problem& problem, const std::vector<Scalar>& shape) {
  const std::int64_t nodes = shape[0].value, features = shape[1].value, edges = shape[2].value;
  std::vector<double> all;
  for (std::int64_t i = 0; i < nodes; ++i) {
    for (std::int64_t f = 0; f < features; ++f) {
      all.push_back(reference_Y(problem.input(0), problem.input(1), problem.integers(2),
                                problem.integers(3), nodes, features, edges, i, f));
    }
  }
  return all;
}

struct Package {
  std::string operation;
  std::string structure;
  std::uint64_t least_valid;  // configurations
  std::size_t sampled;        // configurations compiled
  Reference reference;
  // Single elements; nothing whole; thin and flat; just past a tile, a vector and a block.
  std::vector<std::vector<std::int64_t>> shapes;
};

const std::vector<Package>& Packages() {
  static const std::vector<Package> kPackages = {
      {"matmul",
       "blocked",
       2000,
       200,
       MatmulReference,
       {{1, 1, 1}, {17, 19, 23}, {3, 257, 5}, {129, 65, 33}, {5, 3, 1030}, {97, 101, 530}}},
      {"layer_norm",
       "rows",
       200,
       200,
       LayerNormReference,
       {{1, 1}, {1, 768}, {17, 19}, {3, 257}, {33, 129}, {6, 1024}}},
      {"bias_gelu",
       "vectors",
       1500,
       40,
       BiasGeluReference,
       {{1, 1}, {1, 768}, {17, 19}, {3, 257}, {33, 129}, {6, 1024}}},
      {"triangle_contraction",
       "tiled",
       800,
       40,
       TriangleReference,
       {{1, 1}, {7, 5}, {3, 130}, {18, 16}, {33, 17}, {67, 4}}},
      {"neighbour_aggregation",
       "rows",
       500,
       40,
       NeighbourReference,
       {{1, 1, 1}, {7, 9, 23}, {1, 5, 9}, {40, 64, 600}, {300, 3, 5}, {5, 131, 190}}}};
  return kPackages;
}

std::vector<Scalar> ShapeOf(const Operation& operation, const std::vector<std::int64_t>& values) {
  std::vector<Scalar> shape;
  for (std::size_t i = 0; i < values.size(); ++i)
    shape.push_back({operation.letters[i], values[i]});
  return shape;
}

class HostPackages : public testing::TestWithParam<std::size_t> {
 protected:
  HostPackages()
      : package_(Packages()[GetParam()]),
        operation_(Load(package_.operation)),
        structure_(*operation_.FindStructure("host", package_.structure)),
        space_(Make(structure_, ShapeOf(operation_, package_.shapes.back()))) {}

  static Operation Load(const std::string& name) {
    Result<Operation> loaded = LoadOperation(SourceFolder() + "/kernels/" + name);
    CHECK(loaded.has_value(), loaded.error().message);
    return *std::move(loaded);
  }
  static Space Make(const Structure& structure, const std::vector<Scalar>& shape) {
    Result<Space> space = Space::Make(structure, shape);
    CHECK(space.has_value(), space.error().message);
    return *std::move(space);
  }

  SourceText Rendered(const Configuration& configuration) const {
    Result<SourceText> source = Render(operation_, structure_, space_, configuration);
    CHECK(source.has_value(), source.error().message);
    return *source;
  }

  // Valid and pairwise different kernels, the same ones on every machine.
  std::vector<Configuration> Sample(std::size_t count) const {
    std::vector<Configuration> sample;
    std::set<std::string> seen;
    std::uint64_t state = SeedFor(1, "packages sample");
    while (sample.size() < count) {
      Configuration drawn = space_.Canonical(space_.At(Below(state, space_.Cartesian())));
      if (space_.Validate(drawn).empty() && seen.insert(drawn.Text()).second)
        sample.push_back(std::move(drawn));
    }
    return sample;
  }

  // Runs at every shape of the package; what is wrong, in a line each.
  std::vector<std::string> Wrong(const std::vector<std::unique_ptr<BuiltKernel>>& kernels,
                                 const std::vector<std::string>& labels) const {
    std::vector<std::string> wrong;
    for (const std::vector<std::int64_t>& values : package_.shapes) {
      const std::vector<Scalar> shape = ShapeOf(operation_, values);
      for (const bool exact : {false, true}) {
        if (exact && !operation_.exact) continue;
        Problem problem(operation_, shape, 7, exact);
        const std::vector<double> reference = package_.reference(problem, shape);
        for (std::size_t i = 0; i < kernels.size(); ++i) {
          std::string what = problem.Run(*kernels[i]);
          if (what.empty()) {
            what = problem.Compare(reference, exact ? 0 : operation_.rtol,
                                   exact ? 0 : operation_.atol);
          }
          if (!what.empty())
            wrong.push_back(labels[i] + " at " + testing::PrintToString(values) + ": " + what);
        }
      }
    }
    return wrong;
  }

  const Package& package_;
  const Operation operation_;
  const Structure& structure_;
  const Space space_;
  const TempFolder folder_;
};

TEST_P(HostPackages, SpaceIsLargeEnoughToSearch) {
  EXPECT_GE(space_.CountDistinct(), package_.least_valid);
  EXPECT_TRUE(space_.Validate(structure_.start).empty());
}

TEST_P(HostPackages, SampledConfigurationsAreDistinctObjectsAndRight) {
  constexpr std::size_t kRun = 60;
  const std::vector<Configuration> sample = Sample(package_.sampled);
  std::vector<SourceText> sources;
  for (const Configuration& configuration : sample) sources.push_back(Rendered(configuration));
  const std::vector<std::string> objects = CompileObjects(sources, folder_.path());

  std::set<Digest> distinct;
  for (const std::string& object : objects) distinct.insert(Sha256(ReadFile(object)));
  EXPECT_GE(distinct.size() * 10, sample.size() * 9);

  std::vector<std::unique_ptr<BuiltKernel>> kernels;
  std::vector<std::string> labels;
  std::map<std::string, int> threads;
  for (std::size_t i = 0; i < std::min(kRun, sample.size()); ++i) {
    kernels.push_back(
        std::make_unique<BuiltKernel>(objects[i], structure_.kernel, structure_.build_options));
    labels.push_back(sample[i].Text());
    ++threads[ToText(*sample[i].Find("threads"))];
  }
  EXPECT_EQ(threads.size(), 4U) << "each number of threads is among those run";
  EXPECT_EQ(Wrong(kernels, labels), std::vector<std::string>{});
}

TEST_P(HostPackages, ChangingOneKnobOfTheStartChangesTheObject) {
  std::vector<Configuration> changed = {space_.Canonical(structure_.start)};
  for (const Knob& knob : structure_.knobs) {
    for (const KnobValue& value : knob.values) {
      Configuration next = structure_.start;
      next.Set(knob.name, value);
      next = space_.Canonical(next);
      if (next != changed.front() && space_.Validate(next).empty()) changed.push_back(next);
    }
  }
  std::vector<SourceText> sources;
  for (const Configuration& configuration : changed) sources.push_back(Rendered(configuration));
  const std::vector<std::string> objects = CompileObjects(sources, folder_.path());
  std::map<std::string, std::string> by_bytes;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const auto [same, fresh] = by_bytes.emplace(ReadFile(objects[i]), changed[i].Text());
    EXPECT_TRUE(fresh) << changed[i].Text() << "\nis the same object as\n" << same->second;
  }
}

TEST_P(HostPackages, ThreadsChangeNoBit) {
  const std::vector<Configuration> sample = Sample(4);
  const Knob* threads = nullptr;
  for (const Knob& knob : structure_.knobs) threads = knob.name == "threads" ? &knob : threads;
  ASSERT_NE(threads, nullptr);
  for (const Configuration& configuration : sample) {
    std::vector<SourceText> sources;
    for (const KnobValue& value : threads->values) {
      Configuration with = configuration;
      with.Set("threads", value);
      sources.push_back(Rendered(with));
    }
    const std::vector<std::string> objects = CompileObjects(sources, folder_.path());
    std::vector<std::unique_ptr<BuiltKernel>> kernels;
    for (const std::string& object : objects) {
      kernels.push_back(
          std::make_unique<BuiltKernel>(object, structure_.kernel, structure_.build_options));
    }
    for (const std::vector<std::int64_t>& values : package_.shapes) {
      Problem problem(operation_, ShapeOf(operation_, values), 11, false);
      ASSERT_EQ(problem.Run(*kernels.front()), "");
      const std::vector<float> alone = problem.output();
      for (std::size_t i = 1; i < kernels.size(); ++i) {
        ASSERT_EQ(problem.Run(*kernels[i]), "");
        EXPECT_EQ(problem.output(), alone)
            << ToText(threads->values[i]) << " threads at " << testing::PrintToString(values)
            << ": " << configuration.Text();
      }
    }
  }
}

TEST_P(HostPackages, CommittedKernelAndRivalsAreRight) {
  const Backend& backend = *operation_.FindBackend("host");
  std::vector<std::unique_ptr<BuiltKernel>> kernels;
  std::vector<std::string> labels;
  const auto add = [&](const Result<SourceText>& source, const std::string& kernel,
                       const std::vector<std::string>& libraries) {
    ASSERT_TRUE(source.has_value()) << source.error().message;
    const std::vector<std::string> object = CompileObjects({*source}, folder_.path());
    kernels.push_back(std::make_unique<BuiltKernel>(object.front(), kernel, libraries));
    labels.push_back(kernel);
  };
  ASSERT_EQ(backend.committed.size(), 1U);
  for (const Committed& committed : backend.committed) {
    add(CommittedSource(operation_, committed), committed.kernel, committed.build_options);
  }
  for (const Rival& rival : backend.rivals) {
    add(RivalSource(operation_, rival), rival.kernel, rival.build_options);
  }
  EXPECT_EQ(Wrong(kernels, labels), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(All, HostPackages, testing::Range(std::size_t{0}, Packages().size()),
                         [](const testing::TestParamInfo<std::size_t>& param) {
                           return Packages()[param.param].operation;
                         });

}  // namespace
}  // namespace pawl::test
