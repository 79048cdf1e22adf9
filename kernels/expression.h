#pragma once
// Arithmetic and conditions over named integers, as operation and structure files write them. The only
// code that sees muParser.
//
// Values are 64-bit integers held exactly (results past 2^53 are an error, never rounded). Operators, by
// rising precedence: ?: || && == != < <= > >= + - * / % and unary - !. `/` rounds towards zero; dividing
// by zero is an error; || && ?: evaluate only what decides them. Comparisons do not chain. Words stand for
// string knob values: staging == 'guarded'; they can be compared with == and != and nothing else. Tuples
// have named parts: block.m. Functions: min, max, ceil_div. true and false are 1 and 0.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/result.h"

namespace pawl {

// Where a piece of text stands, for messages: "kernels/matmul/cuda/tiled.toml:12".
struct Place {
  std::string file;
  int line = 0;

  std::string Text() const;
  bool operator==(const Place&) const = default;
};

// The largest magnitude a value may have: up to it every whole number is a double.
inline constexpr std::int64_t kLargestValue = std::int64_t{1} << 53;

// The names an expression may use and their slots. Strings are interned: each distinct word has a number,
// so that a comparison of words is a comparison of integers.
class Scope {
 public:
  // Returns the slot of `name`, adding it when it is new.
  std::size_t Add(std::string_view name);
  // The same for a name that stands for one of `words`; an expression may compare it with these only.
  std::size_t AddWord(std::string_view name, const std::vector<std::string>& words);

  std::optional<std::size_t> Find(std::string_view name) const;
  const std::vector<std::string>& names() const { return names_; }
  std::int64_t Word(std::string_view word);  // its number; the same word, the same number
  std::optional<std::int64_t> FindWord(std::string_view word) const;

  // Of a name added by AddWord; nullptr: its values are numbers.
  const std::vector<std::string>* WordsOf(std::size_t slot) const;
  // A slot's value as text: a number, or the word behind it.
  std::string Text(std::size_t slot, std::int64_t value) const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> slots_;
  std::map<std::size_t, std::vector<std::string>> words_of_;
  std::map<std::string, std::int64_t, std::less<>> words_;
};

class Expression {
 public:
  // Parses once. Unknown names are an error that gives the place, the name and the known ones.
  static Result<Expression> Parse(std::string_view text, Scope& scope, const Place& place);

  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  ~Expression();

  // `values` by slot, at least as long as the scope was when this was parsed. Errors name the place, the
  // text and the figures. Not safe to call from two threads at once.
  Result<std::int64_t> Evaluate(const std::vector<std::int64_t>& values) const;
  const std::string& text() const;
  const Place& place() const;
  // The slots it reads, each once, in the order in which the text names them.
  const std::vector<std::size_t>& slots() const;

 private:
  struct State;
  explicit Expression(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A C identifier that is neither a keyword of C++ nor a word of the expression language; names of shape
// letters, tensors, knobs and derived values are these.
bool IsName(std::string_view text);
bool IsCppKeyword(std::string_view text);

}  // namespace pawl
