#pragma once
// A structure's expressions, parsed once: what Space evaluates. Private to kernels/.
//
// Slots: the shape letters, then each knob (each part of a tuple), then the derived values, in file
// order. The level of an expression is the index of the last knob that it depends on (-1: letters
// only), through derived values too: it is settled once the knobs up to there have values.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernels/expression.h"
#include "kernels/operation.h"
#include "schema/result.h"

namespace pawl {

// Text with figures: "{shared_bytes} B needed". A piece is text, a slot, or an expression.
using Figures = std::vector<std::variant<std::string, std::size_t, Expression>>;

struct Program {
  struct KnobSlots {
    std::size_t first = 0;
    std::size_t count = 1;
    std::size_t kind = 0;  // KnobValue's index
    std::vector<std::string> words;
  };
  struct Derived {
    std::size_t slot = 0;
    Expression expression;
    int level = -1;
  };
  struct Need {
    Expression need;
    Figures why;
    bool has_figures = false;  // `why` names at least one
    int level = -1;
  };
  struct Ignore {
    std::size_t knob = 0;  // index
    Expression when;
  };
  struct Launch {
    std::optional<Expression> when;    // none: always there
    std::vector<Expression> geometry;  // grid x, y, z, block x, y, z, cluster x, y, z, dynamic
                                       // shared bytes; of a memset: none
  };

  Scope scope;
  std::size_t letters = 0;
  std::vector<KnobSlots> knobs;
  std::vector<Derived> derived;
  std::vector<Need> needs;
  std::vector<Ignore> ignored;
  std::vector<Launch> launches;  // of the plan, in order
  std::vector<Expression> scratch;  // elements of each
  std::vector<std::vector<bool>> knobs_behind;  // by slot: the knobs (by index) it depends on

  // The knobs that an expression depends on, by index.
  std::vector<bool> KnobsBehind(const Expression& expression) const;
  int LevelOf(const Expression& expression) const;
  // The text with its figures; a figure that cannot be computed is "?".
  std::string Text(const Figures& figures, const std::vector<std::int64_t>& values) const;
};

// Errors: an unknown name, a malformed expression, an `ignored` rule that depends on what it or a
// later rule ignores, each with its place.
Result<Program> Compile(const Structure& structure);

// A structure's knob; an error that names the nearest (no place in it).
Result<const Knob*> KnobNamed(const Structure& structure, const std::string& name);

// Every word a knob may take: of its list, its repairs and its audit list, in that order.
std::vector<std::string> WordsOf(const Structure& structure, const Knob& knob);

// Why `value` cannot be a value of `knob` (wrong kind, wrong number of parts, an unknown word);
// nullopt: it can. Whether it is listed does not matter.
std::optional<std::string> WhyNotValueOf(const Structure& structure, const Knob& knob,
                                         const KnobValue& value);

}  // namespace pawl
