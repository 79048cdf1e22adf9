#include "kernels/render.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "kernels/expression.h"
#include "kernels/program.h"
#include "kernels/template.h"

namespace pawl {
namespace {

SourceText SourceOf(std::string name, std::string text, std::vector<std::string> build_options) {
  const Digest digest = Sha256(text);
  return {std::move(name), digest, std::move(text), std::move(build_options)};
}

std::string BaseName(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

// A missing file is a bug: the operation was loaded with every file it names.
const std::string& FileOf(const Operation& operation, const std::string& name) {
  const auto file = operation.files.find(name);
  CHECK(file != operation.files.end(), name, "is not among the files of", operation.name);
  return file->second;
}

void DeclareInteger(std::string& text, const std::string& name, std::int64_t value) {
  const bool fits =
      value <= std::numeric_limits<int>::max() && value >= -std::numeric_limits<int>::max();
  text += "constexpr " + std::string(fits ? "int " : "long long ") + name + " = " +
          std::to_string(value) + (fits ? ";\n" : "LL;\n");
}

std::string Enumerator(const std::string& word) { return IsCppKeyword(word) ? word + "_" : word; }

void DeclareKnob(std::string& text, const Structure& structure, const Knob& knob,
                 const KnobValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    text += "constexpr bool " + knob.name + (*flag ? " = true;\n" : " = false;\n");
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    DeclareInteger(text, knob.name, *number);
  } else if (const auto* word = std::get_if<std::string>(&value)) {
    const std::string type = EnumName(knob.name);
    text += "enum class " + type + " {";
    const std::vector<std::string> words = WordsOf(structure, knob);
    for (const std::string& other : words) {
      text += (&other == &words.front() ? " " : ", ") + Enumerator(other);
    }
    text += " };\nconstexpr " + type + " " + knob.name + " = " + type + "::" + Enumerator(*word) +
            ";\n";
  } else {
    const Tuple& tuple = std::get<Tuple>(value);
    for (std::size_t i = 0; i < tuple.size(); ++i) {
      DeclareInteger(text, knob.name + "_" + knob.parts[i], tuple[i]);
    }
  }
}

// Where a name that CheckLaunches has passed stands.
Argument ArgumentOf(const Operation& operation, const LaunchPlan& plan, const std::string& name) {
  for (std::uint32_t i = 0; i < operation.tensors.size(); ++i) {
    if (operation.tensors[i].name == name) return {Argument::Kind::kBuffer, i};
  }
  for (std::uint32_t i = 0; i < operation.letters.size(); ++i) {
    if (operation.letters[i] == name) return {Argument::Kind::kScalar, i};
  }
  for (std::uint32_t i = 0; i < plan.scratch.size(); ++i) {
    if (plan.scratch[i].name == name) return {Argument::Kind::kScratch, i};
  }
  CHECK(false, "no tensor, letter or scratch", name);
}

std::vector<Argument> ArgumentsOf(const Operation& operation, const LaunchPlan& plan,
                                  const LaunchText& launch) {
  std::vector<Argument> arguments;
  if (launch.arguments) {
    for (const std::string& name : *launch.arguments) {
      arguments.push_back(ArgumentOf(operation, plan, name));
    }
    return arguments;
  }
  const auto all = [&](Argument::Kind kind, std::size_t count) {
    for (std::uint32_t i = 0; i < count; ++i) arguments.push_back({kind, i});
  };
  all(Argument::Kind::kBuffer, operation.tensors.size());
  all(Argument::Kind::kScalar, operation.letters.size());
  all(Argument::Kind::kScratch, plan.scratch.size());
  return arguments;
}

// `configuration` is valid in `space`, which is of a structure with this plan.
Launches LaunchesAt(const Operation& operation, const LaunchPlan& plan, const Space& space,
                    const Configuration& configuration) {
  Launches all;
  const std::vector<std::optional<Geometry>> geometries = space.GeometriesOf(configuration);
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const std::optional<Geometry>& geometry = geometries[i];
    if (!geometry) continue;
    const LaunchText& text = plan.launches[i];
    Launch launch;
    launch.kind = text.kind;
    launch.kernel = text.kernel;
    launch.byte = text.byte;
    launch.arguments = ArgumentsOf(operation, plan, text);
    if (text.kind == LaunchKind::kKernel) {
      launch.grid = geometry->grid;
      launch.block = geometry->block;
      launch.cluster = geometry->cluster;
      launch.dynamic_shared_bytes = geometry->dynamic_shared_bytes;
    }
    all.launches.push_back(std::move(launch));
  }
  const std::vector<std::int64_t> elements = space.ScratchOf(configuration);
  for (std::size_t i = 0; i < plan.scratch.size(); ++i) {
    all.scratch.push_back({plan.scratch[i].name, plan.scratch[i].dtype, elements[i]});
  }
  return all;
}

Error Invalid(const Structure& structure, const std::vector<Violation>& violations) {
  std::string message = structure.file + ": the configuration is not valid: ";
  for (const Violation& violation : violations) {
    message += (&violation == &violations.front() ? "" : "; ") + violation.text;
  }
  return Error{message};
}

}  // namespace

Result<SourceText> Render(const Operation& operation, const Structure& structure,
                          const Space& space, const Configuration& configuration) {
  if (structure.source.empty()) {
    return Error{structure.file + ": has no source: its configurations can be replayed, not built"};
  }
  const std::vector<Violation> violations = space.Validate(configuration);
  if (!violations.empty()) return Invalid(structure, violations);
  if (const auto member = space.MemberAt(configuration)) {
    return Render(operation, member->space->structure(), *member->space, member->configuration);
  }
  const std::string& text = FileOf(operation, structure.source);
  const std::string file = operation.name + "/" + structure.source;
  const Result<TemplateCut> cut = CutTemplate(text, operation.folder + "/" + structure.source);
  if (!cut) return cut.error();

  const Configuration canonical = space.Canonical(configuration);
  std::string out;
  out.reserve(text.size() + 2048);
  out += "// " + operation.name + " " + structure.backend + "/" + structure.name + ": " +
         canonical.Text() + "\n#line 1 \"" + file + "\"\n";
  out += cut->head;
  for (std::size_t i = 0; i < structure.knobs.size(); ++i) {
    DeclareKnob(out, structure, structure.knobs[i], canonical.settings[i].value);
  }
  const std::vector<std::string>& used = structure.used_derived;
  for (const auto& [name, value] : space.Derived(canonical)) {
    if (std::find(used.begin(), used.end(), name) != used.end()) DeclareInteger(out, name, value);
  }
  // What a compiler says about the rest then names the template's own lines.
  out += "#line " + std::to_string(cut->tail_line) + " \"" + file + "\"\n";
  out += cut->tail;
  return SourceOf(structure.name + "." + canonical.Hash().Short() +
                      std::filesystem::path(structure.source).extension().string(),
                  std::move(out), structure.build_options);
}

Result<SourceText> CommittedSource(const Operation& operation, const Committed& committed) {
  if (committed.source.empty()) {
    return Error{committed.place.Text() + ": has no source: it can be replayed, not built"};
  }
  return SourceOf(BaseName(committed.source), FileOf(operation, committed.source),
                  committed.build_options);
}

Result<SourceText> RivalSource(const Operation& operation, const Rival& rival) {
  return SourceOf(BaseName(rival.source), FileOf(operation, rival.source), rival.build_options);
}

Result<SourceText> ReferenceSource(const Operation& operation) {
  if (operation.files.count("reference.h") == 0) {
    return Error{operation.folder +
                 "/reference.h: no such file; without it nothing can be checked"};
  }
  return SourceOf("reference.h", FileOf(operation, "reference.h"), {});
}

std::vector<HeaderText> HeadersOf(const Operation& operation, const Backend& backend) {
  std::vector<HeaderText> headers;
  for (const auto& [file, text] : operation.files) {
    const bool own = file.compare(0, backend.name.size() + 1, backend.name + "/") == 0;
    const bool device = file == kDeviceHeaderName && backend.name == "cuda";
    const std::string extension = std::filesystem::path(file).extension().string();
    if (!device && !(own && (extension == ".h" || extension == ".cuh"))) continue;
    headers.push_back({BaseName(file), Sha256(text), text});
  }
  return headers;
}

Result<Launches> LaunchesOf(const Operation& operation, const Structure& structure,
                            const Space& space, const Configuration& configuration) {
  const std::vector<Violation> violations = space.Validate(configuration);
  if (!violations.empty()) return Invalid(structure, violations);
  if (const auto member = space.MemberAt(configuration)) {
    return LaunchesOf(operation, member->space->structure(), *member->space, member->configuration);
  }
  return LaunchesAt(operation, structure.plan, space, configuration);
}

Result<Launches> LaunchesOf(const Operation& operation, const Committed& committed,
                            const std::vector<Scalar>& shape) {
  if (!committed.structure.empty()) {
    const Structure* structure = operation.FindStructure(committed.backend, committed.structure);
    CHECK(structure != nullptr, committed.structure);
    const Result<Space> space = Space::Make(*structure, shape);
    if (!space) return space.error();
    return LaunchesOf(operation, *structure, *space, committed.configuration);
  }
  // A committed kernel's launches are a structure's without knobs.
  Structure plain;
  plain.backend = committed.backend;
  plain.file = committed.place.file;
  plain.letters = operation.letters;
  plain.plan = committed.plan;
  const Result<Space> space = Space::Make(plain, shape);
  if (!space) return space.error();
  const std::vector<Violation> violations = space->Validate({});
  if (!violations.empty()) {
    return Error{committed.place.Text() + ": " + violations.front().text};
  }
  return LaunchesAt(operation, committed.plan, *space, {});
}

}  // namespace pawl
