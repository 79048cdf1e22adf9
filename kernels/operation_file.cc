#include "kernels/operation_file.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/structure_file.h"

namespace pawl {
namespace {

constexpr double kLargestTolerance = 1.0;
constexpr double kLargestFill = 1e6;
constexpr std::size_t kMostLetters = 8;
constexpr std::size_t kMostTensors = 16;
constexpr std::size_t kMostExtents = 6;

// Parses an expression over the shape letters, for its errors.
Status CheckExpression(const std::vector<std::string>& letters, const std::string& text,
                       const Place& place) {
  Scope scope;
  for (const std::string& letter : letters) scope.Add(letter);
  const Result<Expression> parsed = Expression::Parse(text, scope, place);
  if (!parsed) return parsed.error();
  return {};
}

// One parameter of a fill: a number, or, where it may depend on the shape, an expression over the
// letters, which is checked against the same bounds at a shape.
struct Parameter {
  double low;
  double high;
  bool whole;  // integers, by number or by expression
};

Status ReadParameter(Table& table, const char* key, const Parameter& parameter,
                     const std::vector<std::string>& letters, double& number, std::string& text) {
  if (!parameter.whole) {
    const Result<double> value = table.Number(key, parameter.low, parameter.high);
    if (!value) return value.error();
    number = *value;
    return {};
  }
  const Result<std::optional<Node>> node = table.OptionalNode(key);
  if (!node) return node.error();
  if (*node && std::holds_alternative<std::string>((*node)->value)) {
    text = std::get<std::string>((*node)->value);
    return CheckExpression(letters, text, (*node)->place);
  }
  const Result<std::int64_t> value = table.Integer(key, static_cast<std::int64_t>(parameter.low),
                                                   static_cast<std::int64_t>(parameter.high));
  if (!value) return value.error();
  number = static_cast<double>(*value);
  return {};
}

// { kind = "normal", mean = 0.0, stddev = 0.25 } and the like.
Status ReadFill(Table& table, const std::vector<std::string>& letters, Tensor& tensor) {
  struct Kind {
    const char* name;
    FillKind kind;
    const char* a;
    const char* b;  // nullptr: has none
  };
  static constexpr Kind kKinds[] = {
      {"normal", FillKind::kNormal, "mean", "stddev"},
      {"uniform", FillKind::kUniform, "low", "high"},
      {"integers", FillKind::kIntegers, "low", "high"},
      {"constant", FillKind::kConstant, "value", nullptr},
      {"row_pointers", FillKind::kRowPointers, "last", nullptr},
  };
  const Result<std::string> name = table.String("kind");
  if (!name) return name.error();
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const Kind& other) { return other.name == *name; });
  if (kind == std::end(kKinds)) {
    return Error{table.PlaceOf("kind").Text() + ": fill kind '" + *name +
                 "'; known are normal, uniform, integers, constant, row_pointers"};
  }
  Fill& fill = tensor.fill;
  fill = Fill{kind->kind, 0, 0};
  const bool integers = tensor.dtype == DType::kI32 || tensor.dtype == DType::kU32;
  const bool pointers = fill.kind == FillKind::kRowPointers;
  const bool real = fill.kind == FillKind::kNormal || fill.kind == FillKind::kUniform;
  if (integers ? real : pointers) {
    return Error{
        table.PlaceOf("kind").Text() + ": fill kind '" + *name + "' in a tensor of " +
        std::string(Name(tensor.dtype)) +
        (integers ? "; integers, row_pointers or constant is wanted" : "; i32 or u32 is wanted")};
  }
  const bool whole = integers || fill.kind == FillKind::kIntegers;
  const auto [least, most] = RangeOf(tensor.dtype, fill.kind);
  Status read =
      ReadParameter(table, kind->a, {least, most, whole}, letters, fill.a, tensor.fill_texts[0]);
  if (!read || kind->b == nullptr) return read;
  const bool positive = fill.kind == FillKind::kNormal;
  read = ReadParameter(table, kind->b, {positive ? 0 : least, most, whole}, letters, fill.b,
                       tensor.fill_texts[1]);
  if (!read) return read;
  const bool later = !tensor.fill_texts[0].empty() || !tensor.fill_texts[1].empty();
  const bool ordered = positive || (whole ? fill.a <= fill.b : fill.a < fill.b);
  if (!later && !ordered) return Error{table.place().Text() + ": fill has low above high"};
  return {};
}

Status ReadTensor(Table& table, Operation& operation) {
  Tensor tensor;
  Result<std::string> name = table.String("name");
  if (!name) return name.error();
  const Place place = table.PlaceOf("name");
  if (!IsName(*name))
    return Error{place.Text() + ": '" + *name + "' cannot be the name of a tensor"};
  for (const Tensor& other : operation.tensors) {
    if (other.name == *name) return Error{place.Text() + ": tensor '" + *name + "' is named twice"};
  }
  if (std::find(operation.letters.begin(), operation.letters.end(), *name) !=
      operation.letters.end()) {
    return Error{place.Text() + ": '" + *name + "' is a letter of the shape already"};
  }
  tensor.name = std::move(*name);
  const Result<std::string> role = table.String("role");
  if (!role) return role.error();
  if (*role != "input" && *role != "output") {
    return Error{table.PlaceOf("role").Text() + ": role is '" + *role +
                 "'; 'input' or 'output' is wanted"};
  }
  tensor.role = *role == "input" ? BufferRole::kInput : BufferRole::kOutput;
  const Result<std::string> dtype = table.String("dtype");
  if (!dtype) return dtype.error();
  const DType dtypes[] = {DType::kF32, DType::kF64, DType::kI32, DType::kU32};
  const auto known = std::find_if(std::begin(dtypes), std::end(dtypes),
                                  [&](DType other) { return Name(other) == *dtype; });
  if (known == std::end(dtypes)) {
    return Error{table.PlaceOf("dtype").Text() + ": dtype is '" + *dtype +
                 "'; known are f32, f64, i32, u32"};
  }
  tensor.dtype = *known;
  const Result<Node::Array> extents = table.Array("extents");
  if (!extents) return extents.error();
  if (extents->empty() || extents->size() > kMostExtents) {
    return Error{table.PlaceOf("extents").Text() + ": " + std::to_string(extents->size()) +
                 " extents; 1 to " + std::to_string(kMostExtents) + " are wanted"};
  }
  for (const Node& node : *extents) {
    const auto* text = std::get_if<std::string>(&node.value);
    const auto* number = std::get_if<std::int64_t>(&node.value);
    if (text == nullptr && number == nullptr) {
      return Error{node.place.Text() + ": extents are integers or expressions over the letters"};
    }
    tensor.extents.push_back(text != nullptr ? *text : std::to_string(*number));
    const Status parsed = CheckExpression(operation.letters, tensor.extents.back(), node.place);
    if (!parsed) return parsed;
  }
  const Result<std::shared_ptr<Table>> fill = table.OptionalSub("fill");
  if (!fill) return fill.error();
  const bool integers = tensor.dtype == DType::kI32 || tensor.dtype == DType::kU32;
  if (tensor.role == BufferRole::kOutput ? *fill != nullptr : (*fill == nullptr && integers)) {
    return Error{table.PlaceOf("fill").Text() + ": tensor " + tensor.name +
                 (integers && tensor.role == BufferRole::kInput
                      ? " has no fill; one of kind integers, row_pointers or constant is wanted"
                      : " is an output and has a fill; outputs are written by the kernels")};
  }
  if (*fill != nullptr) {
    if (const Status read = ReadFill(**fill, operation.letters, tensor); !read) return read;
  }
  operation.tensors.push_back(std::move(tensor));
  return {};
}

Status ReadCheck(Table& table, Operation& operation) {
  const Result<std::shared_ptr<Table>> check = table.Sub("check");
  if (!check) return check.error();
  (*check)->Know({"rtol", "atol", "atol_times"});
  const Result<double> rtol = (*check)->Number("rtol", 0, kLargestTolerance);
  if (!rtol) return rtol.error();
  const Result<double> atol = (*check)->Number("atol", 0, kLargestTolerance);
  if (!atol) return atol.error();
  operation.rtol = *rtol;
  operation.atol = *atol;
  const Result<std::optional<Node>> times = (*check)->OptionalNode("atol_times");
  if (!times) return times.error();
  if (*times) {
    const auto* text = std::get_if<std::string>(&(*times)->value);
    if (text == nullptr) {
      return Error{(*times)->place.Text() + ": 'atol_times' is " + Describe(**times) +
                   "; an expression is wanted, such as \"max(1, k / 8192)\""};
    }
    if (Status parsed = CheckExpression(operation.letters, *text, (*times)->place); !parsed) {
      return parsed;
    }
    operation.atol_times = *text;
  }
  const Result<std::shared_ptr<Table>> exact = (*check)->OptionalSub("exact");
  if (!exact) return exact.error();
  if (*exact == nullptr) return {};
  const auto most = static_cast<std::int64_t>(kLargestInteger);
  const Result<std::int64_t> low = (*exact)->Integer("low", -most, most);
  if (!low) return low.error();
  const Result<std::int64_t> high = (*exact)->Integer("high", *low, most);
  if (!high) return high.error();
  operation.exact =
      Fill{FillKind::kIntegers, static_cast<double>(*low), static_cast<double>(*high)};
  return {};
}

Status ReadAudit(Table& table, Operation& operation) {
  const Result<std::shared_ptr<Table>> audit = table.OptionalSub("audit");
  if (!audit) return audit.error();
  if (*audit == nullptr) return {};
  const auto shapes = (*audit)->Tables("shapes");
  if (!shapes) return shapes.error();
  for (const std::shared_ptr<Table>& shape : *shapes) {
    std::vector<Scalar> given;
    for (const std::string& letter : shape->Keys()) {
      const Result<std::int64_t> value = shape->Integer(letter, 1, kLargestValue);
      if (!value) return value.error();
      given.push_back({letter, *value});
    }
    Result<std::vector<Scalar>> checked = CheckShape(operation, given, shape->place());
    if (!checked) return checked.error();
    operation.audit_shapes.push_back(std::move(*checked));
  }
  return {};
}

}  // namespace

FillRange RangeOf(DType dtype, FillKind kind) {
  if (kind == FillKind::kRowPointers) return {0, kLargestRowPointer};
  const double most = kind == FillKind::kIntegers ? kLargestInteger : kLargestFill;
  return {dtype == DType::kU32 ? 0 : -most, most};
}

Status ReadOperationFile(Table& table, Operation& operation) {
  Result<std::string> name = table.String("name");
  if (!name) return name.error();
  if (!IsName(*name)) {
    return Error{table.PlaceOf("name").Text() + ": '" + *name +
                 "' cannot be the name of an operation"};
  }
  operation.name = std::move(*name);
  Result<std::string> summary = table.String("summary");
  if (!summary) return summary.error();
  operation.summary = std::move(*summary);
  Result<std::vector<std::string>> letters = table.Strings("shape");
  if (!letters) return letters.error();
  if (letters->empty() || letters->size() > kMostLetters) {
    return Error{table.PlaceOf("shape").Text() + ": shape has " + std::to_string(letters->size()) +
                 " letters; 1 to " + std::to_string(kMostLetters) + " are wanted"};
  }
  if (const Status named = CheckNames(*letters, "shape letter", table.PlaceOf("shape")); !named) {
    return named;
  }
  operation.letters = std::move(*letters);
  for (const auto& [key, text] :
       {std::pair{"flops", &operation.flops}, {"bytes", &operation.bytes}}) {
    Result<std::string> expression = table.String(key);
    if (!expression) return expression.error();
    if (const Status parsed = CheckExpression(operation.letters, *expression, table.PlaceOf(key));
        !parsed)
      return parsed;
    *text = std::move(*expression);
  }
  const auto tensors = table.Tables("tensor");
  if (!tensors) return tensors.error();
  for (const std::shared_ptr<Table>& tensor : *tensors) {
    if (const Status read = ReadTensor(*tensor, operation); !read) return read;
  }
  const bool writes =
      std::any_of(operation.tensors.begin(), operation.tensors.end(),
                  [](const Tensor& tensor) { return tensor.role == BufferRole::kOutput; });
  if (!writes || operation.tensors.size() > kMostTensors) {
    return Error{table.place().Text() + ": " + std::to_string(operation.tensors.size()) +
                 " tensors ([[tensor]]); 1 to " + std::to_string(kMostTensors) +
                 " are wanted, one of them an output"};
  }
  if (const Status check = ReadCheck(table, operation); !check) return check;
  if (const Status audit = ReadAudit(table, operation); !audit) return audit;
  return table.Finish();
}

}  // namespace pawl
