#include "kernels/document.h"

// Malformed text such as "[1, }" or "[}" fails an assertion in toml++ 3.3, which in a build without
// them is an assumption. Here both are checked, and what fails is an error.
namespace pawl {
namespace {
struct FailedAssertion {};
constexpr void Assert(bool condition) {
  if (!condition) throw FailedAssertion();
}
}  // namespace
}  // namespace pawl
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) ::pawl::Assert(static_cast<bool>(condition))
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "schema/file_kind.h"

namespace pawl {
namespace {

constexpr std::uintmax_t kLargestFile = 4 << 20;
constexpr int kDeepest = 32;
constexpr std::size_t kLongestKey = 100;

std::string Number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

// With all its digits, and never like an integer's: one may be wanted.
std::string Float(double value) {
  char digits[32];
  const std::string text(digits, std::to_chars(digits, std::end(digits), value).ptr);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::string Describe(const Node& node) {
  struct Visitor {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return Float(number); }
    std::string operator()(const std::string& text) const {
      return "'" + OneLine(text.size() > 60 ? text.substr(0, 60) + "..." : text) + "'";
    }
    std::string operator()(const Node::Array& array) const {
      return "an array of " + std::to_string(array.size());
    }
    std::string operator()(const std::shared_ptr<Table>&) const { return "a table"; }
  };
  return std::visit(Visitor{}, node.value);
}

struct Table::State {
  struct Entry {
    std::string key;
    Place place;
    std::uint32_t column = 0;
    Node node;
  };
  Place place;
  std::vector<Entry> entries;                 // in file order
  mutable std::vector<std::string> asked;     // each once
  std::vector<std::shared_ptr<Table>> below;  // every table in it, in arrays too

  const Entry* Find(std::string_view key) const {
    for (const Entry& entry : entries) {
      if (entry.key == key) return &entry;
    }
    return nullptr;
  }
  const Entry* Ask(std::string_view key) const {
    if (std::find(asked.begin(), asked.end(), key) == asked.end()) asked.emplace_back(key);
    return Find(key);
  }
  // A key near it that nobody has asked for is what it was misspelt as.
  Error Missing(std::string_view key) const {
    std::vector<std::string> strays;
    for (const Entry& entry : entries) {
      if (std::find(asked.begin(), asked.end(), entry.key) == asked.end())
        strays.push_back(entry.key);
    }
    const std::string nearest = Nearest(key, strays);
    const std::string missing = ": key '" + std::string(key) + "' is missing";
    if (nearest.empty()) return Error{place.Text() + missing};
    return Error{Find(nearest)->place.Text() + missing + "; nearest here is '" + nearest + "'"};
  }
  static Error Wrong(const Entry& entry, std::string_view wanted) {
    return Error{entry.place.Text() + ": " + entry.key + " is " + Describe(entry.node) + "; " +
                 std::string(wanted) + " is wanted"};
  }
  // The first key, by place, that nobody asked for, here or below.
  struct Stray {
    const Entry* entry = nullptr;
    const State* table = nullptr;
  };
  Stray FirstStray() const {
    Stray first;
    const auto take = [&](const Stray& other) {
      if (other.entry == nullptr) return;
      if (first.entry == nullptr || std::pair(other.entry->place.line, other.entry->column) <
                                        std::pair(first.entry->place.line, first.entry->column)) {
        first = other;
      }
    };
    std::vector<std::shared_ptr<Table>> of_strays;
    for (const Entry& entry : entries) {
      if (std::find(asked.begin(), asked.end(), entry.key) == asked.end()) {
        take({&entry, this});
        Collect(entry.node, of_strays);  // what is in it is its own matter
      }
    }
    for (const std::shared_ptr<Table>& table : below) {
      if (std::find(of_strays.begin(), of_strays.end(), table) == of_strays.end()) {
        take(table->state_->FirstStray());
      }
    }
    return first;
  }
  static void Collect(const Node& node, std::vector<std::shared_ptr<Table>>& tables) {
    if (const auto* table = std::get_if<std::shared_ptr<Table>>(&node.value))
      tables.push_back(*table);
    if (const auto* array = std::get_if<Node::Array>(&node.value)) {
      for (const Node& element : *array) Collect(element, tables);
    }
  }
};

namespace {

Place PlaceAt(const toml::source_region& region, const std::string& file, const Place& otherwise) {
  return region.begin.line > 0 ? Place{file, static_cast<int>(region.begin.line)} : otherwise;
}

Result<std::shared_ptr<Table>> Convert(const toml::table& table, const std::string& file,
                                       const Place& place, int depth);

Result<Node> Convert(const toml::node& node, const std::string& file, const Place& above,
                     int depth) {
  const Place place = PlaceAt(node.source(), file, above);
  if (depth > kDeepest) return Error{place.Text() + ": nested too deeply"};
  if (const auto* table = node.as_table()) {
    Result<std::shared_ptr<Table>> converted = Convert(*table, file, place, depth + 1);
    if (!converted) return converted.error();
    return Node{std::move(*converted), place};
  }
  if (const auto* array = node.as_array()) {
    Node::Array elements;
    for (const toml::node& element : *array) {
      Result<Node> converted = Convert(element, file, place, depth + 1);
      if (!converted) return converted.error();
      elements.push_back(std::move(*converted));
    }
    return Node{std::move(elements), place};
  }
  if (const auto* flag = node.as_boolean()) return Node{flag->get(), place};
  if (const auto* number = node.as_integer()) return Node{number->get(), place};
  if (const auto* real = node.as_floating_point()) return Node{real->get(), place};
  if (const auto* text = node.as_string()) return Node{text->get(), place};
  return Error{place.Text() + ": a date or time stands here; no key takes one"};
}

Result<std::shared_ptr<Table>> Convert(const toml::table& table, const std::string& file,
                                       const Place& place, int depth) {
  auto state = std::make_shared<Table::State>();
  state->place = place;
  for (const auto& [key, node] : table) {
    const Place at = PlaceAt(key.source(), file, place);
    if (key.length() > kLongestKey || OneLine(std::string(key.str())) != key.str()) {
      return Error{at.Text() + ": a key of more than " + std::to_string(kLongestKey) +
                   " characters, or with control characters in it"};
    }
    Result<Node> converted = Convert(node, file, at, depth + 1);
    if (!converted) return converted.error();
    Table::State::Collect(*converted, state->below);
    state->entries.push_back(
        {std::string(key.str()), at, key.source().begin.column, std::move(*converted)});
  }
  // toml++ sorts keys by name; what is listed first is tried first, so the order of the file
  // matters.
  std::stable_sort(state->entries.begin(), state->entries.end(),
                   [](const Table::State::Entry& a, const Table::State::Entry& b) {
                     return std::pair(a.place.line, a.column) < std::pair(b.place.line, b.column);
                   });
  return std::make_shared<Table>(std::move(state));
}

}  // namespace

Table::Table(std::shared_ptr<State> state) : state_(std::move(state)) {}

const Place& Table::place() const { return state_->place; }

std::vector<std::string> Table::Keys() const {
  std::vector<std::string> keys;
  for (const State::Entry& entry : state_->entries) keys.push_back(entry.key);
  return keys;
}

void Table::Know(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) (void)state_->Ask(key);
}

bool Table::Has(std::string_view key) const { return state_->Find(key) != nullptr; }

Place Table::PlaceOf(std::string_view key) const {
  const State::Entry* entry = state_->Find(key);
  return entry != nullptr ? entry->place : state_->place;
}

// Each required reader is its optional twin, whose absence is an error.
template <typename T>
static Result<T> Required(Result<std::optional<T>> found, const Error& missing) {
  if (!found) return found.error();
  if (!found->has_value()) return missing;
  return std::move(**found);
}

Result<std::string> Table::String(std::string_view key) {
  return Required(OptionalString(key), state_->Missing(key));
}
Result<std::int64_t> Table::Integer(std::string_view key, std::int64_t low, std::int64_t high) {
  return Required(OptionalInteger(key, low, high), state_->Missing(key));
}
Result<double> Table::Number(std::string_view key, double low, double high) {
  return Required(OptionalNumber(key, low, high), state_->Missing(key));
}
Result<bool> Table::Bool(std::string_view key) {
  return Required(OptionalBool(key), state_->Missing(key));
}
Result<std::vector<std::string>> Table::Strings(std::string_view key) {
  return Required(OptionalStrings(key), state_->Missing(key));
}
Result<Node::Array> Table::Array(std::string_view key) {
  return Required(OptionalArray(key), state_->Missing(key));
}

Result<std::optional<std::string>> Table::OptionalString(std::string_view key) {
  const State::Entry* entry = state_->Ask(key);
  if (entry == nullptr) return std::optional<std::string>{};
  const auto* text = std::get_if<std::string>(&entry->node.value);
  if (text == nullptr) return State::Wrong(*entry, "a string");
  return std::optional<std::string>(*text);
}

Result<std::optional<std::int64_t>> Table::OptionalInteger(std::string_view key, std::int64_t low,
                                                           std::int64_t high) {
  const State::Entry* entry = state_->Ask(key);
  if (entry == nullptr) return std::optional<std::int64_t>{};
  const auto* number = std::get_if<std::int64_t>(&entry->node.value);
  if (number == nullptr || *number < low || *number > high) {
    return State::Wrong(*entry,
                        "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return std::optional<std::int64_t>(*number);
}

Result<std::optional<double>> Table::OptionalNumber(std::string_view key, double low, double high) {
  const State::Entry* entry = state_->Ask(key);
  if (entry == nullptr) return std::optional<double>{};
  std::optional<double> value;
  if (const auto* real = std::get_if<double>(&entry->node.value)) value = *real;
  if (const auto* number = std::get_if<std::int64_t>(&entry->node.value)) {
    value = static_cast<double>(*number);
  }
  if (!value || !std::isfinite(*value) || *value < low || *value > high) {
    return State::Wrong(*entry, "a number from " + pawl::Number(low) + " to " + pawl::Number(high));
  }
  return value;
}

Result<std::optional<bool>> Table::OptionalBool(std::string_view key) {
  const State::Entry* entry = state_->Ask(key);
  if (entry == nullptr) return std::optional<bool>{};
  const auto* flag = std::get_if<bool>(&entry->node.value);
  if (flag == nullptr) return State::Wrong(*entry, "true or false");
  return std::optional<bool>(*flag);
}

Result<std::optional<Node>> Table::OptionalNode(std::string_view key) {
  const State::Entry* entry = state_->Ask(key);
  if (entry == nullptr) return std::optional<Node>{};
  return std::optional<Node>(entry->node);
}

Result<std::optional<Node::Array>> Table::OptionalArray(std::string_view key) {
  const State::Entry* entry = state_->Ask(key);
  if (entry == nullptr) return std::optional<Node::Array>{};
  const auto* array = std::get_if<Node::Array>(&entry->node.value);
  if (array == nullptr) return State::Wrong(*entry, "an array");
  return std::optional<Node::Array>(*array);
}

Result<std::optional<std::vector<std::string>>> Table::OptionalStrings(std::string_view key) {
  const Result<std::optional<Node::Array>> array = OptionalArray(key);
  if (!array) return array.error();
  if (!*array) return std::optional<std::vector<std::string>>{};
  std::vector<std::string> strings;
  for (const Node& node : **array) {
    const auto* text = std::get_if<std::string>(&node.value);
    if (text == nullptr) {
      return Error{node.place.Text() + ": " + std::string(key) + " holds " + Describe(node) +
                   "; only strings are wanted"};
    }
    strings.push_back(*text);
  }
  return std::optional<std::vector<std::string>>(std::move(strings));
}

Result<std::shared_ptr<Table>> Table::Sub(std::string_view key) {
  Result<std::shared_ptr<Table>> table = OptionalSub(key);
  if (table && *table == nullptr) return state_->Missing(key);
  return table;
}

Result<std::shared_ptr<Table>> Table::OptionalSub(std::string_view key) {
  const State::Entry* entry = state_->Ask(key);
  if (entry == nullptr) return std::shared_ptr<Table>();
  const auto* table = std::get_if<std::shared_ptr<Table>>(&entry->node.value);
  if (table == nullptr) return State::Wrong(*entry, "a table");
  return *table;
}

Result<std::vector<std::shared_ptr<Table>>> Table::Tables(std::string_view key) {
  const State::Entry* entry = state_->Ask(key);
  std::vector<std::shared_ptr<Table>> tables;
  if (entry == nullptr) return tables;
  const auto* array = std::get_if<Node::Array>(&entry->node.value);
  if (array == nullptr) {
    return State::Wrong(*entry, "an array of tables ([[" + std::string(key) + "]])");
  }
  for (const Node& node : *array) {
    const auto* table = std::get_if<std::shared_ptr<Table>>(&node.value);
    if (table == nullptr) {
      return Error{node.place.Text() + ": " + std::string(key) + " holds " + Describe(node) +
                   "; only tables are wanted"};
    }
    tables.push_back(*table);
  }
  return tables;
}

Status Table::Finish() const {
  const State::Stray stray = state_->FirstStray();
  if (stray.entry == nullptr) return {};
  std::string message = stray.entry->place.Text() + ": unknown key '" + stray.entry->key + "'";
  const std::string nearest = Nearest(stray.entry->key, stray.table->asked);
  if (!nearest.empty()) return Error{message + "; nearest is '" + nearest + "'"};
  for (const std::string& known : stray.table->asked) {
    message += (&known == &stray.table->asked.front() ? "; known are " : ", ") + known;
  }
  return Error{message};
}

namespace {

// The bytes of the character that begins at `at`; 0: it is no UTF-8 (Unicode's table 3-7).
std::size_t CharacterBytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xc2   ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  const unsigned second = byte(1);
  const bool longer_than_needed =
      (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second > 0x9f;
  const bool past_the_last = first == 0xf4 && second > 0x8f;
  return longer_than_needed || surrogate || past_the_last ? 0 : size;
}

Status CheckUtf8(std::string_view text, const std::string& file) {
  int line = 1;
  std::size_t size = 0;
  for (std::size_t at = 0; at < text.size(); at += size) {
    if (text[at] == '\n') ++line;
    size = CharacterBytes(text, at);
    if (size > 0) continue;
    char byte[8];
    std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[at]));
    return Error{Place{file, line}.Text() + ": byte " + byte +
                 " is no UTF-8; save the file as UTF-8"};
  }
  return {};
}

// The line of the first byte outside comments and strings that is not ASCII, from 1; 0: none. TOML
// has no place for one, and toml++ 3.3 runs into __builtin_unreachable on most of them
// (is_non_ascii_horizontal_whitespace), so they must not reach it.
int LineOfStrayUnicode(std::string_view text) {
  int line = 1;
  std::string_view closing;  // what ends the comment or string that we are in; empty: in neither
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (text[i] == '\n') {
      ++line;
      if (closing.size() == 1) closing = {};
    } else if (closing.empty()) {
      if (static_cast<unsigned char>(text[i]) >= 0x80) return line;
      if (text[i] == '#') closing = "\n";
      for (const std::string_view quote : {"\"\"\"", "'''", "\"", "'"}) {
        if (closing.empty() && rest.substr(0, quote.size()) == quote) {
          closing = quote;
          i += quote.size() - 1;
        }
      }
    } else if (closing[0] == '"' && text[i] == '\\') {
      if (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (rest.substr(0, closing.size()) == closing) {
      i += closing.size() - 1;
      // Up to two quotes before the closing three are the string's own.
      for (int more = 0; closing.size() == 3 && more < 2 && i + 1 < text.size(); ++more) {
        if (text[i + 1] == closing[0]) ++i;
      }
      closing = {};
    }
  }
  return 0;
}

}  // namespace

Result<std::shared_ptr<Table>> ParseToml(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  if (Status utf8 = CheckUtf8(text, file); !utf8) return utf8.error();
  if (const int line = LineOfStrayUnicode(text)) {
    return Error{Place{file, line}.Text() +
                 ": a letter that is not ASCII outside quotes; keys and values are "
                 "plain letters, other text goes in quotes"};
  }
  try {
    const toml::table table = toml::parse(text, file);
    return Convert(table, file, Place{file, 0}, 0);
  } catch (const toml::parse_error& failed) {
    const Place place{file, static_cast<int>(failed.source().begin.line)};
    std::string what = OneLine(std::string(failed.description()));
    if (!what.empty() && what[0] >= 'A' && what[0] <= 'Z')
      what[0] = static_cast<char>(what[0] + 32);
    return Error{place.Text() + ": " + what};
  } catch (const FailedAssertion&) {
    return Error{Place{file, 0}.Text() + ": is no TOML: a bracket or quote stands where none can"};
  }
}

Result<std::shared_ptr<Table>> ReadToml(const std::string& path) {
  Result<std::string> text = ReadText(path);
  if (!text) return text.error();
  return ParseToml(*text, path);
}

Result<std::string> ReadText(const std::string& path) {
  const std::optional<std::string> there = WhatIsAt(path);
  if (!there) return Error{path + ": no such file"};
  if (*there != kAFile) return Error{path + ": is " + *there + "; a file is wanted"};
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(path, failed);
  if (failed) return Error{path + ": " + failed.message()};
  if (size == 0) return Error{path + ": is empty"};
  if (size > kLargestFile) {
    return Error{path + ": " + std::to_string(size) + " bytes; at most " +
                 std::to_string(kLargestFile) + " are read"};
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  if (!stream || !bytes) return Error{path + ": cannot be read"};
  return std::move(bytes).str();
}

}  // namespace pawl
