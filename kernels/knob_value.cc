#include "kernels/knob_value.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace pawl {

Result<KnobValue> ToKnobValue(const Node& node) {
  const auto wrong = [&] {
    return Error{node.place.Text() + ": " + Describe(node) +
                 " is no knob value; true, 64, \"guarded\", [64, 64] and \"64x64\" are"};
  };
  const auto in_range = [](std::int64_t value) {
    return value <= kLargestValue && value >= -kLargestValue;
  };
  if (const auto* flag = std::get_if<bool>(&node.value)) return KnobValue(*flag);
  if (const auto* number = std::get_if<std::int64_t>(&node.value)) {
    if (!in_range(*number)) return wrong();
    return KnobValue(*number);
  }
  if (const auto* text = std::get_if<std::string>(&node.value)) {
    const std::optional<KnobValue> value = KnobValueFromText(*text);
    const bool quoted = value && (std::holds_alternative<std::string>(*value) ||
                                  std::holds_alternative<Tuple>(*value));
    if (!quoted) return wrong();  // "64" and "true" are not 64 and true
    return *value;
  }
  const auto* array = std::get_if<Node::Array>(&node.value);
  if (array == nullptr || array->size() < 2 || array->size() > 4) return wrong();
  Tuple tuple;
  for (const Node& part : *array) {
    const auto* number = std::get_if<std::int64_t>(&part.value);
    if (number == nullptr || !in_range(*number)) return wrong();
    tuple.push_back(*number);
  }
  return KnobValue(std::move(tuple));
}

std::optional<KnobValue> KnobValueFromText(std::string_view text) {
  if (text == "true" || text == "false") return KnobValue(text == "true");
  if (text.empty() || text.size() > 64) return std::nullopt;
  const bool word =
      (text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z') || text[0] == '_';
  if (word) {
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    return plain ? std::optional<KnobValue>(std::string(text)) : std::nullopt;
  }
  Tuple tuple;
  std::size_t at = 0;
  while (true) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    const std::string part(text.substr(at, end - at));
    const bool minus = !part.empty() && part[0] == '-';
    const std::size_t digits = part.size() - (minus ? 1 : 0);
    if (digits == 0 || digits > 16 ||
        !std::all_of(part.begin() + (minus ? 1 : 0), part.end(),
                     [](char c) { return c >= '0' && c <= '9'; })) {
      return std::nullopt;
    }
    tuple.push_back(std::stoll(part));
    if (tuple.back() > kLargestValue || tuple.back() < -kLargestValue) return std::nullopt;
    if (end == text.size()) break;
    at = end + 1;
  }
  if (tuple.size() == 1) return KnobValue(tuple[0]);
  return tuple.size() <= 4 ? std::optional<KnobValue>(std::move(tuple)) : std::nullopt;
}

}  // namespace pawl
