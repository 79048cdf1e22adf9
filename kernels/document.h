#pragma once
// A TOML file read with every key accounted for. The only code that sees toml++.
//
// A reader takes keys out of a Table; what nobody took is an error that names the nearest key that would
// have been taken, with file and line. Every message is "FILE:LINE: what was seen; what is wanted".

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/expression.h"
#include "schema/configuration.h"
#include "schema/result.h"

namespace pawl {

class Table;

// A value of a document and where it stands.
struct Node {
  using Array = std::vector<Node>;
  // toml's booleans, integers, floats, strings, arrays and tables.
  std::variant<bool, std::int64_t, double, std::string, Array, std::shared_ptr<Table>> value;
  Place place;
};

// A table whose keys are taken one by one. Copies share what has been taken.
class Table {
 public:
  const Place& place() const;
  std::vector<std::string> Keys() const;  // in file order
  bool Has(std::string_view key) const;
  // Marks keys as known before they are read: a missing one is not taken for another of them misspelt.
  void Know(const std::vector<std::string>& keys);
  Place PlaceOf(std::string_view key) const;  // of the key, or of the table when it is absent

  // Each marks the key as known, whether or not it is there. Wrong type: an error. `optional` calls give
  // nullopt when it is absent; the others an error that says it is missing, and what it may be misspelt as.
  Result<std::string> String(std::string_view key);
  Result<std::int64_t> Integer(std::string_view key, std::int64_t low, std::int64_t high);
  Result<double> Number(std::string_view key, double low, double high);  // integers too
  Result<bool> Bool(std::string_view key);
  Result<std::vector<std::string>> Strings(std::string_view key);
  Result<Node::Array> Array(std::string_view key);
  Result<std::shared_ptr<Table>> Sub(std::string_view key);
  Result<std::vector<std::shared_ptr<Table>>> Tables(std::string_view key);  // [[key]]
  Result<std::optional<std::string>> OptionalString(std::string_view key);
  Result<std::optional<std::int64_t>> OptionalInteger(std::string_view key, std::int64_t low,
                                                      std::int64_t high);
  Result<std::optional<double>> OptionalNumber(std::string_view key, double low, double high);
  Result<std::optional<bool>> OptionalBool(std::string_view key);
  Result<std::optional<std::vector<std::string>>> OptionalStrings(std::string_view key);
  Result<std::optional<Node::Array>> OptionalArray(std::string_view key);
  Result<std::optional<Node>> OptionalNode(std::string_view key);  // any value, as it stands
  Result<std::shared_ptr<Table>> OptionalSub(std::string_view key);  // nullptr when absent

  // An error for the first key that nobody asked for: "unknown key 'genrations'; nearest is 'generations'".
  Status Finish() const;  // this table and the tables taken out of it

  struct State;
  explicit Table(std::shared_ptr<State> state);

 private:
  std::shared_ptr<State> state_;
};

// `file` is for messages only.
Result<std::shared_ptr<Table>> ParseToml(std::string_view text, const std::string& file);
Result<std::shared_ptr<Table>> ReadToml(const std::string& path);

// A file's bytes (some, and 4 MiB at most). Errors: "PATH: no such file", "PATH: is empty" and the like.
Result<std::string> ReadText(const std::string& path);

// Control characters, of quoted input, as spaces: messages are one line.
std::string OneLine(std::string message);

// The known name nearest to `name` by edit distance; empty when none is near.
std::string Nearest(std::string_view name, const std::vector<std::string>& known);

// What a value is, as an error names it: "'x'", "3", "an array of 2".
std::string Describe(const Node& node);

}  // namespace pawl
