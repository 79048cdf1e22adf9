#include "kernels/launch_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/structure_file.h"

namespace pawl {
namespace {

constexpr std::size_t kMostLaunches = 16;
constexpr std::size_t kMostScratch = 16;

// An integer or an expression, kept as text.
Status ReadExpression(Table& table, const char* key, std::string& text,
                      std::map<std::string, Place>& places) {
  places[key] = table.PlaceOf(key);
  const Result<std::optional<Node>> node = table.OptionalNode(key);
  if (!node) return node.error();
  if (!*node) return {};
  Result<std::string> read = ExpressionText(**node, key);
  if (!read) return read.error();
  text = std::move(*read);
  return {};
}

Status ReadSides(Table& table, const char* key, std::array<std::string, 3>& sides,
                 std::map<std::string, Place>& places) {
  places[key] = table.PlaceOf(key);
  const Result<std::optional<Node::Array>> array = table.OptionalArray(key);
  if (!array) return array.error();
  if (!*array) return {};
  if ((*array)->size() != 3) {
    return Error{table.PlaceOf(key).Text() + ": " + key + " has " +
                 std::to_string((*array)->size()) + " sides; 3 are wanted (x, y, z)"};
  }
  for (std::size_t i = 0; i < 3; ++i) {
    Result<std::string> side = ExpressionText((**array)[i], key);
    if (!side) return side.error();
    sides[i] = std::move(*side);
  }
  return {};
}

Status ReadKernelLaunch(Table& table, bool needs_kernel, LaunchText& launch) {
  const Result<std::optional<std::string>> kernel = table.OptionalString("kernel");
  if (!kernel) return kernel.error();
  if (*kernel && !IsName(**kernel)) {
    return Error{table.PlaceOf("kernel").Text() + ": kernel is '" + **kernel +
                 "'; a function's name is wanted"};
  }
  if (!*kernel && needs_kernel) return Error{table.place().Text() + ": key 'kernel' is missing"};
  launch.kernel = kernel->value_or("");
  if (Status read = ReadSides(table, "grid", launch.grid, launch.places); !read) return read;
  if (Status read = ReadSides(table, "block", launch.block, launch.places); !read) return read;
  if (Status read = ReadSides(table, "cluster", launch.cluster, launch.places); !read) return read;
  return ReadExpression(table, "dynamic_shared_bytes", launch.dynamic_shared_bytes, launch.places);
}

Status ReadMemset(Table& table, LaunchText& launch) {
  Result<std::string> target = table.String("memset");
  if (!target) return target.error();
  const Result<std::optional<std::int64_t>> byte = table.OptionalInteger("byte", 0, 255);
  if (!byte) return byte.error();
  launch.kind = LaunchKind::kMemset;
  launch.byte = static_cast<std::uint8_t>(byte->value_or(0));
  launch.arguments = std::vector<std::string>{std::move(*target)};
  launch.places["arguments"] = table.PlaceOf("memset");
  return {};
}

Status ReadLaunchTable(Table& table, LaunchText& launch) {
  launch.place = table.place();
  Result<std::optional<std::string>> when = table.OptionalString("when");
  if (!when) return when.error();
  launch.when = when->value_or("");
  launch.places["when"] = table.PlaceOf("when");
  if (table.Has("memset")) return ReadMemset(table, launch);
  if (Status read = ReadKernelLaunch(table, true, launch); !read) return read;
  Result<std::optional<std::vector<std::string>>> arguments = table.OptionalStrings("arguments");
  if (!arguments) return arguments.error();
  launch.arguments = std::move(*arguments);
  launch.places["arguments"] = table.PlaceOf("arguments");
  return {};
}

Status ReadScratch(Table& table, std::vector<ScratchText>& scratch) {
  const auto entries = table.Tables("scratch");
  if (!entries) return entries.error();
  if (entries->size() > kMostScratch) {
    return Error{table.PlaceOf("scratch").Text() + ": " + std::to_string(entries->size()) +
                 " scratch buffers; at most " + std::to_string(kMostScratch) + " are wanted"};
  }
  for (const std::shared_ptr<Table>& entry : *entries) {
    ScratchText one;
    Result<std::string> name = entry->String("name");
    if (!name) return name.error();
    if (!IsName(*name)) {
      return Error{entry->PlaceOf("name").Text() + ": '" + *name +
                   "' cannot be the name of a scratch buffer"};
    }
    one.name = std::move(*name);
    const Result<std::string> dtype = entry->String("dtype");
    if (!dtype) return dtype.error();
    const DType dtypes[] = {DType::kF32, DType::kF64, DType::kI32, DType::kU32};
    const auto parsed = std::find_if(std::begin(dtypes), std::end(dtypes),
                                     [&](DType known) { return Name(known) == *dtype; });
    if (parsed == std::end(dtypes)) {
      return Error{entry->PlaceOf("dtype").Text() + ": dtype is '" + *dtype +
                   "'; f32, f64, i32 or u32 is wanted"};
    }
    one.dtype = *parsed;
    one.place = entry->PlaceOf("elements");
    const Result<std::optional<Node>> elements = entry->OptionalNode("elements");
    if (!elements) return elements.error();
    if (!*elements) return Error{entry->place().Text() + ": key 'elements' is missing"};
    Result<std::string> text = ExpressionText(**elements, "elements");
    if (!text) return text.error();
    one.elements = std::move(*text);
    scratch.push_back(std::move(one));
  }
  return {};
}

}  // namespace

Status ReadLaunches(Table& table, bool needs_kernel, LaunchPlan& plan) {
  const auto entries = table.Tables("launch");
  if (!entries) return entries.error();
  if (entries->size() > kMostLaunches) {
    return Error{table.PlaceOf("launch").Text() + ": " + std::to_string(entries->size()) +
                 " launches; at most " + std::to_string(kMostLaunches) + " are wanted"};
  }
  LaunchText single;
  single.place = table.place();
  const bool listed = !entries->empty();
  for (const char* key : {"kernel", "grid", "block", "cluster", "dynamic_shared_bytes"}) {
    if (!listed || !table.Has(key)) continue;
    return Error{table.PlaceOf(key).Text() + ": '" + key +
                 "' stands beside [[launch]]; each "
                 "launch says its own"};
  }
  if (Status read = ReadKernelLaunch(table, needs_kernel && !listed, single); !read) return read;
  plan.launches.clear();
  if (!listed) plan.launches.push_back(std::move(single));
  for (const std::shared_ptr<Table>& entry : *entries) {
    LaunchText launch;
    if (Status read = ReadLaunchTable(*entry, launch); !read) return read;
    plan.launches.push_back(std::move(launch));
  }
  const auto runs = [](const LaunchText& launch) { return launch.kind == LaunchKind::kKernel; };
  const auto first = std::find_if(plan.launches.begin(), plan.launches.end(), runs);
  if (first == plan.launches.end()) {
    return Error{table.PlaceOf("launch").Text() + ": no launch runs a kernel"};
  }
  return ReadScratch(table, plan.scratch);
}

Status CheckLaunches(const LaunchPlan& plan, const Operation& operation) {
  std::set<std::string> readable(operation.letters.begin(), operation.letters.end());
  std::set<std::string> writable;
  for (const Tensor& tensor : operation.tensors) {
    (tensor.role == BufferRole::kOutput ? writable : readable).insert(tensor.name);
  }
  for (const ScratchText& scratch : plan.scratch) {
    if (!readable.contains(scratch.name) && writable.insert(scratch.name).second) continue;
    return Error{scratch.place.Text() + ": scratch '" + scratch.name +
                 "' is the name of something else already"};
  }
  std::vector<std::string> all(writable.begin(), writable.end());
  all.insert(all.end(), readable.begin(), readable.end());
  for (const LaunchText& launch : plan.launches) {
    if (!launch.arguments) continue;
    const bool is_memset = launch.kind == LaunchKind::kMemset;
    const std::string place = launch.places.at("arguments").Text();
    for (const std::string& name : *launch.arguments) {
      if (writable.contains(name) || (!is_memset && readable.contains(name))) continue;
      const std::string nearest = Nearest(name, all);
      return Error{place + ": '" + name + "' is " +
                   (readable.contains(name) ? "not to be written; memset wants an output or a "
                                              "scratch buffer"
                                            : "no tensor, shape letter or scratch buffer" +
                                                  (nearest.empty() || nearest == name
                                                       ? std::string()
                                                       : "; nearest is '" + nearest + "'"))};
    }
  }
  return {};
}

}  // namespace pawl
