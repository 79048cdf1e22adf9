#include "worker/device/host/thunk.h"

#include "worker/device/generated_text.h"

namespace pawl {
namespace {

std::string_view CType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kI32:
      return "std::int32_t";
    case DType::kU32:
      return "std::uint32_t";
  }
  CHECK(false, static_cast<int>(dtype));
}

std::string PointerType(const Buffer& buffer) {
  return (buffer.role == BufferRole::kInput ? "const " : "") + std::string(CType(buffer.dtype)) +
         "*";
}

}  // namespace

std::string KernelUnit(const SourceText& source, const std::vector<Launch>& launches,
                       const std::vector<Buffer>& buffers, const std::vector<Scalar>& scalars) {
  std::string unit =
      "#include <cstdint>\n" + LineMark(source.name) + source.text + "\n" + LaunchMark(source.name);
  unit +=
      "extern \"C\" __attribute__((visibility(\"default\"))) void pawl_call([[maybe_unused]] void* "
      "const* buffers, "
      "[[maybe_unused]] const std::int64_t* scalars) {\n";
  for (const Launch& launch : launches) {
    std::string types, values;
    for (const Argument& argument : launch.arguments) {
      const std::string at = "[" + std::to_string(argument.index) + "]";
      if (argument.kind == Argument::Kind::kBuffer) {
        CHECK(argument.index < buffers.size(), argument.index);
        const std::string type = PointerType(buffers[argument.index]);
        AppendItem(types, type);
        AppendItem(values, "static_cast<" + type + ">(buffers" + at + ")");
      } else {
        CHECK(argument.index < scalars.size(), argument.index);
        AppendItem(types, "std::int64_t");
        AppendItem(values, "scalars" + at);
      }
    }
    unit += "  {\n    void (*const signature)(" + types + ") = &" + launch.kernel +
            ";\n    signature(" + values + ");\n  }\n";
  }
  return unit + "}\n";
}

std::string ReferenceSymbol(const Buffer& output) { return "pawl_reference_" + output.name; }

std::string ReferenceUnit(const SourceText& source, const std::vector<Buffer>& buffers,
                          const std::vector<Scalar>& scalars) {
  std::string unit = "#include <cstdint>\n" + LineMark(source.name) + source.text + "\n" +
                     LineMark("pawl_reference");
  for (const Buffer& output : buffers) {
    if (output.role != BufferRole::kOutput) continue;
    std::string arguments;
    std::uint32_t input = 0;
    for (const Buffer& buffer : buffers) {
      if (buffer.role != BufferRole::kInput) continue;
      AppendItem(arguments, "static_cast<" + PointerType(buffer) + ">(inputs[" +
                                std::to_string(input++) + "])");
    }
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      AppendItem(arguments, "scalars[" + std::to_string(i) + "]");
    }
    AppendPlace(arguments, output);
    unit += "extern \"C\" void " + ReferenceSymbol(output) +
            "([[maybe_unused]] const void* const* inputs, [[maybe_unused]] const std::int64_t* "
            "scalars, "
            "std::int64_t first, std::int64_t last, double* elements) {\n"
            "  for (std::int64_t flat = first; flat < last; ++flat) {\n"
            "    [[maybe_unused]] std::int64_t rest = flat;\n";
    unit += PlaceStatements(output, "    ");
    unit +=
        "    elements[flat - first] = reference_" + output.name + "(" + arguments + ");\n  }\n}\n";
  }
  return unit;
}

}  // namespace pawl
