#pragma once
// A template's text: an ordinary source with the knobs' defaults between two marker lines. Private
// to kernels/.
//
//   // pawl: knobs
//   constexpr int k_step = 64;                       constexpr declarations of knobs, of the parts
//   of constexpr int block_m = 64, block_n = 64;        tuples (block_m) and of derived values;
//   enum class Order { ijk, ikj };                   the enumerations of words; comments
//   // pawl: end

#include <string>
#include <string_view>
#include <vector>

#include "kernels/operation.h"
#include "schema/result.h"

namespace pawl {

struct TemplateCut {
  std::string_view head;  // up to and with the line `// pawl: knobs`
  std::string_view declarations;
  std::string_view tail;  // from the line `// pawl: end` on
  int first_line = 0;     // of declarations
  int tail_line = 0;      // of tail
};

// Views into `text`. `file` is for messages.
Result<TemplateCut> CutTemplate(std::string_view text, const std::string& file);

// Checks a template against its structure: every name declared between the markers is a knob, a
// part or a derived value; every knob (part) is used after or before them, by itself or through a
// derived value that is. Gives the derived values that are used, in file order.
Result<std::vector<std::string>> CheckTemplate(const Structure& structure, std::string_view text,
                                               const std::string& file);

// "block_order" -> "BlockOrder": the enumeration of a word knob.
std::string EnumName(std::string_view knob);

}  // namespace pawl
