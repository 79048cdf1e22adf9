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

std::vector<Argument> AllArguments(const Operation& operation) {
  std::vector<Argument> arguments;
  for (std::uint32_t i = 0; i < operation.tensors.size(); ++i) {
    arguments.push_back({Argument::Kind::kBuffer, i});
  }
  for (std::uint32_t i = 0; i < operation.letters.size(); ++i) {
    arguments.push_back({Argument::Kind::kScalar, i});
  }
  return arguments;
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

Result<Launch> LaunchOf(const Operation& operation, const Structure& structure, const Space& space,
                        const Configuration& configuration) {
  const std::vector<Violation> violations = space.Validate(configuration);
  if (!violations.empty()) return Invalid(structure, violations);
  const Geometry geometry = space.GeometryOf(configuration);
  return Launch{structure.kernel, geometry.grid, geometry.block, geometry.dynamic_shared_bytes,
                AllArguments(operation)};
}

Result<Launch> LaunchOf(const Operation& operation, const Committed& committed,
                        const std::vector<Scalar>& shape) {
  if (!committed.structure.empty()) {
    const Structure* structure = operation.FindStructure(committed.backend, committed.structure);
    CHECK(structure != nullptr, committed.structure);
    const Result<Space> space = Space::Make(*structure, shape);
    if (!space) return space.error();
    return LaunchOf(operation, *structure, *space, committed.configuration);
  }
  // A committed kernel's launch is a structure's without knobs.
  Structure plain;
  plain.backend = committed.backend;
  plain.file = committed.place.file;
  plain.letters = operation.letters;
  plain.grid = committed.grid;
  plain.block = committed.block;
  plain.dynamic_shared_bytes = committed.dynamic_shared_bytes;
  const Result<Space> space = Space::Make(plain, shape);
  if (!space) return space.error();
  const std::vector<Violation> violations = space->Validate({});
  if (!violations.empty()) {
    return Error{committed.place.Text() + ": " + violations.front().text};
  }
  const Geometry geometry = space->GeometryOf({});
  return Launch{committed.kernel, geometry.grid, geometry.block, geometry.dynamic_shared_bytes,
                AllArguments(operation)};
}

}  // namespace pawl
