#pragma once
// Figures as decisions, hypotheses and messages write them: the same text on every machine.

#include <string>

namespace pawl {

std::string Fixed(double figure, int digits);  // "0.77778"
std::string Plain(double figure);              // "1", "0.01"
std::string Chance(double figure);             // "0.00034": two digits that count

}  // namespace pawl
