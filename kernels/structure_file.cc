#include "kernels/structure_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/knob_value.h"
#include "kernels/launch_file.h"
#include "kernels/program.h"
#include "kernels/space.h"

namespace pawl {
namespace {

constexpr std::size_t kMostValues = 4096;
constexpr std::size_t kMostKnobs = 64;
constexpr std::uint64_t kLargestCartesian = std::uint64_t{1} << 62;

// Files of a backend lie beside its TOML files: no folders, nothing outside.
Status CheckFileName(const std::string& name, const Place& place) {
  const bool plain =
      !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
      });
  if (plain && name.find('.') != std::string::npos) return {};
  return Error{place.Text() + ": source is '" + name +
               "'; the name of a file in this folder is wanted, such as 'tiled.cu'"};
}

Status CheckKernelName(const std::string& name, const Place& place) {
  if (IsName(name)) return {};
  return Error{place.Text() + ": kernel is '" + name + "'; a function's name is wanted"};
}

Result<std::vector<std::string>> ReadBuildOptions(Table& table) {
  Result<std::optional<std::vector<std::string>>> options = table.OptionalStrings("build_options");
  if (!options) return options.error();
  return options->value_or(std::vector<std::string>{});
}

// A knob's values, all of one kind, each once.
Result<std::vector<KnobValue>> ReadValues(const Node& node, const std::string& knob) {
  const auto* array = std::get_if<Node::Array>(&node.value);
  if (array == nullptr || array->empty() || array->size() > kMostValues) {
    return Error{node.place.Text() + ": knob " + knob + " wants a list of 1 to " +
                 std::to_string(kMostValues) + " values"};
  }
  std::vector<KnobValue> values;
  std::set<std::string> seen;
  for (const Node& element : *array) {
    Result<KnobValue> value = ToKnobValue(element);
    if (!value) return value.error();
    if (!values.empty() && value->index() != values.front().index()) {
      return Error{element.place.Text() + ": knob " + knob + " has " + ToText(*value) + " beside " +
                   ToText(values.front()) + "; values of one kind are wanted"};
    }
    if (!seen.insert(ToText(*value)).second) {
      return Error{element.place.Text() + ": knob " + knob + " has " + ToText(*value) + " twice"};
    }
    values.push_back(std::move(*value));
  }
  return values;
}

Status ReadKnob(Knob& knob, const Node& node) {
  const auto* table = std::get_if<std::shared_ptr<Table>>(&node.value);
  Node list = node;
  if (table != nullptr) {
    Result<std::vector<std::string>> parts = (*table)->Strings("parts");
    if (!parts) return parts.error();
    if (parts->size() < 2 || parts->size() > 4) {
      return Error{(*table)->PlaceOf("parts").Text() + ": knob " + knob.name + " has " +
                   std::to_string(parts->size()) + " parts; 2 to 4 are wanted"};
    }
    const Status named = CheckNames(*parts, "part", (*table)->PlaceOf("parts"));
    if (!named) return named;
    knob.parts = std::move(*parts);
    Result<Node::Array> array = (*table)->Array("values");
    if (!array) return array.error();
    list = Node{std::move(*array), (*table)->PlaceOf("values")};
  }
  Result<std::vector<KnobValue>> values = ReadValues(list, knob.name);
  if (!values) return values.error();
  knob.values = std::move(*values);
  for (const KnobValue& value : knob.values) {
    const auto* tuple = std::get_if<Tuple>(&value);
    if (tuple != nullptr && knob.parts.empty()) {
      return Error{node.place.Text() + ": knob " + knob.name +
                   " has tuples without names for their parts; { parts = [\"m\", \"n\"], values = "
                   "[...] } is wanted"};
    }
    if (!knob.parts.empty() && (tuple == nullptr || tuple->size() != knob.parts.size())) {
      return Error{list.place.Text() + ": knob " + knob.name + " has the value " + ToText(value) +
                   "; " + std::to_string(knob.parts.size()) + " parts are wanted"};
    }
  }
  return {};
}

Result<const Knob*> KnobAt(const Structure& structure, const std::string& name,
                           const Place& place) {
  Result<const Knob*> knob = KnobNamed(structure, name);
  if (!knob) return Error{place.Text() + ": " + knob.error().message};
  return knob;
}

// What the rendered source declares for a knob or derived value must not meet another name there.
Status CheckClashes(const Structure& structure) {
  std::set<std::string> taken(structure.letters.begin(), structure.letters.end());
  const auto take = [&](const std::string& name, const Place& place) -> Status {
    if (taken.insert(name).second) return {};
    return Error{place.Text() + ": '" + name + "' is the name of something else already"};
  };
  for (const Knob& knob : structure.knobs) {
    if (const Status free = take(knob.name, knob.place); !free) return free;
    for (const std::string& part : knob.parts) {
      if (const Status free = take(knob.name + "_" + part, knob.place); !free) return free;
    }
  }
  for (const auto& [name, text] : structure.derived) {
    const Status free = take(name, structure.places.at("derived." + name));
    if (!free) return free;
  }
  return {};
}

Status ReadKnobs(Table& table, Structure& structure) {
  const Result<std::shared_ptr<Table>> knobs = table.Sub("knobs");
  if (!knobs) return knobs.error();
  const std::vector<std::string> names = (*knobs)->Keys();
  if (names.empty() || names.size() > kMostKnobs) {
    return Error{(*knobs)->place().Text() + ": [knobs] has " + std::to_string(names.size()) +
                 " knobs; 1 to " + std::to_string(kMostKnobs) + " are wanted"};
  }
  std::uint64_t cartesian = 1;
  for (const std::string& name : names) {
    Knob knob;
    knob.name = name;
    knob.place = (*knobs)->PlaceOf(name);
    if (!IsName(name)) {
      return Error{knob.place.Text() + ": '" + name + "' cannot be the name of a knob"};
    }
    const Result<std::optional<Node>> node = (*knobs)->OptionalNode(name);
    if (!node) return node.error();
    if (const Status read = ReadKnob(knob, **node); !read) return read;
    if (__builtin_mul_overflow(cartesian, knob.values.size(), &cartesian) ||
        cartesian > kLargestCartesian) {
      return Error{knob.place.Text() + ": the space has more than 2^62 configurations"};
    }
    structure.knobs.push_back(std::move(knob));
  }
  return {};
}

Status ReadDerived(Table& table, Structure& structure) {
  const Result<std::shared_ptr<Table>> derived = table.OptionalSub("derived");
  if (!derived) return derived.error();
  if (*derived == nullptr) return {};
  for (const std::string& name : (*derived)->Keys()) {
    const Place place = (*derived)->PlaceOf(name);
    if (!IsName(name)) {
      return Error{place.Text() + ": '" + name + "' cannot be the name of a derived value"};
    }
    const Result<std::optional<Node>> node = (*derived)->OptionalNode(name);
    if (!node) return node.error();
    Result<std::string> text = ExpressionText(**node, name);
    if (!text) return text.error();
    structure.places["derived." + name] = place;
    structure.derived.emplace_back(name, std::move(*text));
  }
  return {};
}

Status ReadRules(Table& table, Structure& structure) {
  const auto constraints = table.Tables("constraint");
  if (!constraints) return constraints.error();
  for (const std::shared_ptr<Table>& entry : *constraints) {
    Result<std::string> need = entry->String("need");
    if (!need) return need.error();
    Result<std::string> why = entry->String("why");
    if (!why) return why.error();
    if (why->empty()) {
      return Error{entry->PlaceOf("why").Text() + ": why is empty; a reason is wanted"};
    }
    structure.constraints.push_back({std::move(*need), std::move(*why), entry->PlaceOf("need")});
  }
  const auto ignored = table.Tables("ignored");
  if (!ignored) return ignored.error();
  for (const std::shared_ptr<Table>& entry : *ignored) {
    Result<std::string> name = entry->String("knob");
    if (!name) return name.error();
    const Result<const Knob*> knob = KnobAt(structure, *name, entry->PlaceOf("knob"));
    if (!knob) return knob.error();
    Result<std::string> when = entry->String("when");
    if (!when) return when.error();
    structure.ignored.push_back({std::move(*name), std::move(*when), entry->PlaceOf("when")});
  }
  return {};
}

// [repair] and [audit]: knobs and values, which may lie outside the knobs' lists.
using ValueLists = std::vector<std::pair<std::string, std::vector<KnobValue>>>;
Result<ValueLists> ReadValueLists(Table& table, const char* key, const Structure& structure) {
  ValueLists lists;
  const Result<std::shared_ptr<Table>> section = table.OptionalSub(key);
  if (!section) return section.error();
  if (*section == nullptr) return lists;
  for (const std::string& name : (*section)->Keys()) {
    const Result<const Knob*> knob = KnobAt(structure, name, (*section)->PlaceOf(name));
    if (!knob) return knob.error();
    const Result<std::optional<Node>> node = (*section)->OptionalNode(name);
    if (!node) return node.error();
    Result<std::vector<KnobValue>> values = ReadValues(**node, name);
    if (!values) return values.error();
    for (const KnobValue& value : *values) {
      // A word may be new here; everything else must be of the knob's kind.
      const bool words = std::holds_alternative<std::string>(value) &&
                         std::holds_alternative<std::string>((*knob)->values.front());
      if (words) continue;
      const std::optional<std::string> why = WhyNotValueOf(structure, **knob, value);
      if (why) return Error{(*section)->PlaceOf(name).Text() + ": " + *why};
    }
    lists.emplace_back(name, std::move(*values));
  }
  return lists;
}

Status ReadStart(Table& table, Structure& structure) {
  const Result<std::shared_ptr<Table>> start = table.Sub("start");
  if (!start) return start.error();
  structure.places["start"] = (*start)->place();
  Result<Configuration> configuration = ReadConfiguration(**start, structure);
  if (!configuration) return configuration.error();
  structure.start = std::move(*configuration);
  for (std::size_t i = 0; i < structure.knobs.size(); ++i) {
    const std::vector<KnobValue>& values = structure.knobs[i].values;
    const Setting& setting = structure.start.settings[i];
    if (std::find(values.begin(), values.end(), setting.value) != values.end()) continue;
    std::string message = (*start)->PlaceOf(setting.knob).Text() + ": " + setting.knob + " is " +
                          ToText(setting.value) + ", which is not in its list";
    for (const KnobValue& value : values) {
      message += (&value == &values.front() ? " (" : ", ") + ToText(value);
    }
    return Error{message + ")"};
  }
  return {};
}

Status ReadRival(Table& table, Backend& backend) {
  if (backend.name == "cuda") {
    return Error{table.place().Text() +
                 ": [[rival]] is a host function to call; a cuda kernel to compare with needs a "
                 "launch: make it a committed kernel or a structure"};
  }
  Rival rival;
  Result<std::string> name = table.String("name");
  if (!name) return name.error();
  if (!IsName(*name)) {
    return Error{table.PlaceOf("name").Text() + ": '" + *name + "' cannot be the name of a rival"};
  }
  for (const Rival& other : backend.rivals) {
    if (other.name == *name) {
      return Error{table.PlaceOf("name").Text() + ": a rival '" + *name + "' is there already"};
    }
  }
  Result<std::string> source = table.String("source");
  if (!source) return source.error();
  if (const Status plain = CheckFileName(*source, table.PlaceOf("source")); !plain) return plain;
  Result<std::string> kernel = table.String("kernel");
  if (!kernel) return kernel.error();
  if (const Status named = CheckKernelName(*kernel, table.PlaceOf("kernel")); !named) return named;
  Result<std::optional<std::vector<std::string>>> options = table.OptionalStrings("build_options");
  if (!options) return options.error();
  rival.build_options = options->value_or(std::vector<std::string>{});
  rival.name = std::move(*name);
  rival.source = backend.name + "/" + *source;
  rival.kernel = std::move(*kernel);
  backend.rivals.push_back(std::move(rival));
  return {};
}

// Its own choice of a structure: `structure` and `configuration` in place of a source.
Status ReadChoice(Table& table, const Backend& backend, Committed& committed) {
  Result<std::optional<std::string>> name = table.OptionalString("structure");
  if (!name) return name.error();
  const Result<std::shared_ptr<Table>> choice = table.OptionalSub("configuration");
  if (!choice) return choice.error();
  if (!*name && *choice == nullptr) return {};
  if (!*name || *choice == nullptr || !committed.source.empty()) {
    return Error{table.PlaceOf(*name ? "structure" : "configuration").Text() +
                 ": structure and configuration go together, and without a source"};
  }
  std::vector<std::string> names;
  for (const Structure& structure : backend.structures) {
    names.push_back(structure.name);
    if (structure.name != **name) continue;
    Result<Configuration> configuration = ReadConfiguration(**choice, structure);
    if (!configuration) return configuration.error();
    committed.structure = **name;
    committed.configuration = std::move(*configuration);
    if (committed.kernel.empty()) committed.kernel = structure.kernel;
    return {};
  }
  const std::string nearest = Nearest(**name, names);
  return Error{table.PlaceOf("structure").Text() + ": no structure '" + **name + "' in " +
               backend.name + (nearest.empty() ? "" : "; nearest is '" + nearest + "'")};
}

Status ReadCommittedEntry(Table& table, const std::vector<std::string>& letters, Backend& backend) {
  Committed committed;
  committed.place = table.place();
  committed.backend = backend.name;
  if (!backend.committed.empty() && backend.committed.back().when.empty()) {
    return Error{committed.place.Text() + ": is never the control: the [[committed]] of line " +
                 std::to_string(backend.committed.back().place.line) +
                 " has no 'when', so it covers every shape; it goes last"};
  }
  Result<std::optional<std::string>> when = table.OptionalString("when");
  if (!when) return when.error();
  committed.when = when->value_or("");
  const Result<std::optional<std::string>> source = table.OptionalString("source");
  if (!source) return source.error();
  if (*source) {
    if (const Status plain = CheckFileName(**source, table.PlaceOf("source")); !plain) return plain;
    committed.source = backend.name + "/" + **source;
  }
  if (const Status launches = ReadLaunches(table, false, committed.plan); !launches)
    return launches;
  committed.kernel = FirstKernel(committed.plan);
  Result<std::vector<std::string>> options = ReadBuildOptions(table);
  if (!options) return options.error();
  committed.build_options = std::move(*options);
  if (const Status choice = ReadChoice(table, backend, committed); !choice) return choice;
  if (committed.kernel.empty()) return Error{table.place().Text() + ": key 'kernel' is missing"};

  if (!committed.when.empty()) {
    Scope scope;
    for (const std::string& letter : letters) scope.Add(letter);
    const Result<Expression> parsed =
        Expression::Parse(committed.when, scope, table.PlaceOf("when"));
    if (!parsed) return parsed.error();
  }
  Structure plain;
  plain.letters = letters;
  plain.plan = committed.plan;
  const Result<Program> program = Compile(plain);
  if (!program) return program.error();
  backend.committed.push_back(std::move(committed));
  return {};
}

}  // namespace

// An integer or an expression, kept as text.
Result<std::string> ExpressionText(const Node& node, const std::string& what) {
  if (const auto* text = std::get_if<std::string>(&node.value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&node.value)) return std::to_string(*number);
  return Error{node.place.Text() + ": " + what + " holds neither an integer nor an expression"};
}

std::string FirstKernel(const LaunchPlan& plan) {
  for (const LaunchText& launch : plan.launches) {
    if (launch.kind == LaunchKind::kKernel) return launch.kernel;
  }
  return "";
}

Status CheckNames(const std::vector<std::string>& names, std::string_view what,
                  const Place& place) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!IsName(name)) {
      return Error{place.Text() + ": '" + name + "' cannot be the name of a " + std::string(what)};
    }
    if (!seen.insert(name).second) {
      return Error{place.Text() + ": " + std::string(what) + " '" + name + "' is named twice"};
    }
  }
  return {};
}

Status ReadStructure(Table& table, Structure& structure) {
  const Result<std::optional<std::string>> source = table.OptionalString("source");
  if (!source) return source.error();
  if (*source) {
    if (const Status plain = CheckFileName(**source, table.PlaceOf("source")); !plain) return plain;
    structure.source = structure.backend + "/" + **source;
    structure.places["source"] = table.PlaceOf("source");
  }
  if (const Status launches = ReadLaunches(table, true, structure.plan); !launches) return launches;
  structure.kernel = FirstKernel(structure.plan);
  Result<std::vector<std::string>> options = ReadBuildOptions(table);
  if (!options) return options.error();
  structure.build_options = std::move(*options);
  if (const Status knobs = ReadKnobs(table, structure); !knobs) return knobs;
  if (const Status derived = ReadDerived(table, structure); !derived) return derived;
  if (const Status free = CheckClashes(structure); !free) return free;
  if (const Status rules = ReadRules(table, structure); !rules) return rules;
  Result<ValueLists> repairs = ReadValueLists(table, "repair", structure);
  if (!repairs) return repairs.error();
  structure.repairs = std::move(*repairs);
  Result<ValueLists> audit = ReadValueLists(table, "audit", structure);
  if (!audit) return audit.error();
  structure.audit = std::move(*audit);
  if (const Status start = ReadStart(table, structure); !start) return start;
  if (const Status finished = table.Finish(); !finished) return finished;
  const Result<Program> program = Compile(structure);
  if (!program) return program.error();
  return {};
}

Status ReadCommitted(Table& table, const std::vector<std::string>& letters, Backend& backend) {
  const auto committed = table.Tables("committed");
  if (!committed) return committed.error();
  for (const std::shared_ptr<Table>& entry : *committed) {
    if (const Status read = ReadCommittedEntry(*entry, letters, backend); !read) return read;
  }
  const auto rivals = table.Tables("rival");
  if (!rivals) return rivals.error();
  for (const std::shared_ptr<Table>& entry : *rivals) {
    if (const Status read = ReadRival(*entry, backend); !read) return read;
  }
  return table.Finish();
}

}  // namespace pawl
