#include "worker/device/generated_text.h"

namespace pawl {

std::string LineMark(const std::string& name) {
  std::string quoted;
  for (const char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return "#line 1 \"" + quoted + "\"\n";
}

std::string LaunchMark(const std::string& source) { return LineMark(source + kLaunchMark); }

void AppendItem(std::string& list, const std::string& item) {
  if (!list.empty()) list += ", ";
  list += item;
}

std::string PlaceStatements(const Buffer& output, const std::string& indent) {
  std::string text;
  for (std::size_t axis = output.extents.size(); axis-- > 0;) {
    const std::string extent = std::to_string(output.extents[axis]);
    text += indent + "const std::int64_t i" + std::to_string(axis) + " = rest % " + extent + ";\n" +
            indent + "rest /= " + extent + ";\n";
  }
  return text;
}

void AppendPlace(std::string& list, const Buffer& output) {
  for (std::size_t axis = 0; axis < output.extents.size(); ++axis) {
    AppendItem(list, "i" + std::to_string(axis));
  }
}

}  // namespace pawl
