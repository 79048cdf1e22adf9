#include "coordinator/search/job_keys.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "coordinator/search/parameters.h"
#include "kernels/compound.h"
#include "kernels/knob_value.h"

namespace pawl {
namespace {

constexpr std::size_t kLongestLine = 200;

}  // namespace

bool IsLine(const std::string& text) {
  return !text.empty() && text.size() <= kLongestLine &&
         std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool IsFileStem(const std::string& text) {
  return !text.empty() && text.size() <= 64 && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
         });
}

Status TakeLine(Table& table, std::string_view key, std::optional<std::string>& into) {
  auto value = table.OptionalString(key);
  if (!value) return value.error();
  if (*value && !IsLine(**value)) {
    return Error{table.PlaceOf(key).Text() + ": " + std::string(key) +
                 " is empty, longer than 200 bytes, or more than a line"};
  }
  if (*value) into = **value;
  return {};
}

Status TakeName(Table& table, std::string_view key, std::optional<std::string>& into) {
  if (Status taken = TakeLine(table, key, into); !taken) return taken;
  if (into && table.Has(key) && !IsFileStem(*into)) {
    return Error{table.PlaceOf(key).Text() + ": " + std::string(key) + " '" + *into +
                 "'; letters, digits, '_' and '-' are wanted, 64 at most"};
  }
  return {};
}

Status TakeChoice(Table& table, const std::string& key, const std::vector<std::string>& known,
                  std::optional<std::string>& into) {
  auto value = table.OptionalString(key);
  if (!value) return value.error();
  if (!*value) return {};
  if (std::find(known.begin(), known.end(), **value) == known.end()) {
    return Error{table.PlaceOf(key).Text() + ": " + UnknownName(key, **value, known).message};
  }
  into = **value;
  return {};
}

Status TakeInstrument(Table& table, std::optional<Instrument>& into) {
  std::optional<std::string> instrument;
  const std::vector<std::string> instruments = {"cpu_time", "wall_time", "event_span",
                                                "kernel_time", "graph_time"};
  if (Status taken = TakeChoice(table, "instrument", instruments, instrument); !taken) return taken;
  if (instrument) into = ParseInstrument(*instrument);
  return {};
}

Status TakeShape(Table& table, std::optional<std::vector<Scalar>>& into) {
  auto sub = table.OptionalSub("shape");
  if (!sub) return sub.error();
  if (*sub == nullptr) return {};
  into.emplace();
  for (const std::string& letter : (*sub)->Keys()) {
    auto extent = (*sub)->Integer(letter, 1, std::int64_t{1} << 32);
    if (!extent) return extent.error();
    into->push_back({letter, *extent});
  }
  return {};
}

namespace {

// `prefix`: what comes before a knob's own name, "tiled." within a table of that name.
Status TakeSettings(Table& table, const std::string& prefix, std::vector<StartValue>& into) {
  for (const std::string& key : table.Keys()) {
    auto node = table.OptionalNode(key);
    if (!node) return node.error();
    const std::string knob = prefix + key;
    const auto* structure = std::get_if<std::shared_ptr<Table>>(&(*node)->value);
    if (structure != nullptr && prefix.empty()) {
      if ((*structure)->Keys().empty()) {
        return Error{table.PlaceOf(key).Text() + ": '" + knob + "' sets no knob; leave it out"};
      }
      if (Status taken = TakeSettings(**structure, knob + ".", into); !taken) return taken;
      continue;
    }
    auto value = ToKnobValue(**node);
    if (!value) return value.error();
    const bool again = std::any_of(into.begin(), into.end(),
                                   [&](const StartValue& other) { return other.knob == knob; });
    if (again) return Error{table.PlaceOf(key).Text() + ": knob '" + knob + "' is given twice"};
    into.push_back({knob, *std::move(value), table.PlaceOf(key).Text()});
  }
  return {};
}

}  // namespace

Status TakeKnobs(Table& table, std::string_view key, std::vector<StartValue>& into) {
  auto sub = table.OptionalSub(key);
  if (!sub) return sub.error();
  return *sub == nullptr ? Status{} : TakeSettings(**sub, "", into);
}

Status TakeStructure(Table& table, std::optional<std::string>& into) {
  if (Status taken = TakeName(table, "structure", into); !taken) return taken;
  auto names = table.OptionalStrings("structures");
  if (!names) return names.error();
  if (!*names) return {};
  const std::string place = table.PlaceOf("structures").Text();
  if (table.Has("structure")) {
    return Error{place + ": structures is given beside structure; one of them is wanted"};
  }
  if ((*names)->empty()) {
    return Error{place + ": structures is empty; structure = \"any\" means all there are"};
  }
  std::string joined;
  for (const std::string& name : **names) {
    if (!IsFileStem(name)) {
      return Error{place + ": structures holds '" + name +
                   "'; letters, digits, '_' and '-' are wanted, 64 at most"};
    }
    if (!joined.empty()) joined += kStructureJoint;
    joined += name;
  }
  into = std::move(joined);
  return {};
}

std::string DeviceFrom(const std::string& folder, const std::string& device) {
  constexpr std::string_view kReplay = "replay:";
  if (!device.starts_with(kReplay) || device.size() == kReplay.size()) return device;
  const std::string file = device.substr(kReplay.size());
  return std::string(kReplay) + (std::filesystem::path(folder) / file).lexically_normal().string();
}

}  // namespace pawl
