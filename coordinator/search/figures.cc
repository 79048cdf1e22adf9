#include "coordinator/search/figures.h"

#include <cstdio>

namespace pawl {

std::string Fixed(double figure, int digits) {
  char text[400];  // the largest double has 309 digits before the point
  std::snprintf(text, sizeof text, "%.*f", digits, figure);
  return text;
}

std::string Plain(double figure) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", figure);
  return text;
}

std::string Chance(double figure) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", figure);
  return text;
}

}  // namespace pawl
