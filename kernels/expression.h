#pragma once
// Arithmetic and conditions over named integers, as operation and structure files write them. The only
// code that sees muParser.
//
// Values are 64-bit integers held exactly (results past 2^53 are an error, never rounded). Operators, by
// rising precedence: ?: || && == != < <= > >= + - * / % and unary - !. `/` rounds towards zero; dividing
// by zero is an error; || && ?: evaluate only what decides them. Words stand for string knob values:
// 'guarded'. Tuples have named parts: block.m. Functions: min, max, ceil_div.

#include <cstdint>
#include <map>
#include <memory>
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

// The names an expression may use and their slots. Strings are interned: each distinct word has a number,
// so that a comparison of words is a comparison of integers.
class Scope {
 public:
  // Returns the slot of `name`, adding it when it is new.
  std::size_t Add(std::string_view name);
  const std::vector<std::string>& names() const { return names_; }
  std::int64_t Word(std::string_view word);  // its number; the same word, the same number

 private:
  std::vector<std::string> names_;
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

 private:
  struct State;
  explicit Expression(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pawl
