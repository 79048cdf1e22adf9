#include "coordinator/commands/shape_text.h"

#include <algorithm>
#include <charconv>

#include "kernels/expression.h"

namespace pawl {

Result<std::vector<Scalar>> ParseShape(const std::string& option, const std::string& text) {
  std::vector<Scalar> shape;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string pair = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = pair.find('=');
    std::int64_t value = 0;
    const char* const last = pair.data() + pair.size();
    const char* const first = equals == std::string::npos ? last : pair.data() + equals + 1;
    const auto [at, error] = std::from_chars(first, last, value);
    const bool number = at == last && first != last && error != std::errc::invalid_argument;
    if (!number || equals == 0) {
      return Error{option + ": '" + text +
                   "' is no shape; letter=value,letter=value is wanted, such as m=256,n=256,k=128"};
    }
    if (error == std::errc::result_out_of_range || value < 1 || value > kLargestValue) {
      return Error{option + ": " + pair + " is out of range; 1 to " +
                   std::to_string(kLargestValue) + " is wanted"};
    }
    shape.push_back({pair.substr(0, equals), value});
  }
  return shape;
}

Result<std::uint64_t> ParseWhole(const std::string& text) {
  std::uint64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), last, value);
  if (at == last && error == std::errc()) return value;
  return Error{"'" + text + "'; a whole number from 0 to 18446744073709551615 is wanted"};
}

}  // namespace pawl
