#include "kernels/expression.h"

namespace pawl {

std::string Place::Text() const { return line > 0 ? file + ":" + std::to_string(line) : file; }

}  // namespace pawl
