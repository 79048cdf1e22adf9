#include "coordinator/search/policy/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "schema/check.h"

namespace pawl {
namespace {

// How far a pair is apart, either way round, by one division: the same bits on every machine, which
// a logarithm does not promise.
struct Apart {
  double ratio;
  bool first_smaller;
};

}  // namespace

double SignedRankTail(const std::vector<std::pair<double, double>>& pairs) {
  std::vector<Apart> aparts;
  for (const auto& [a, b] : pairs) {
    CHECK(a > 0 && b > 0, a, b);
    if (a != b) aparts.push_back({std::max(a, b) / std::min(a, b), a < b});
  }
  std::sort(aparts.begin(), aparts.end(),
            [](const Apart& a, const Apart& b) { return a.ratio < b.ratio; });

  // Twice the rank, so that a shared one is whole: the sum of the first and last place of its ties.
  const std::size_t n = aparts.size();
  std::vector<std::size_t> twice_rank(n);
  for (std::size_t first = 0; first < n;) {
    std::size_t end = first;
    while (end < n && aparts[end].ratio == aparts[first].ratio) ++end;
    std::fill(twice_rank.begin() + first, twice_rank.begin() + end, first + end + 1);
    first = end;
  }
  std::size_t seen = 0;
  for (std::size_t i = 0; i < n; ++i) seen += aparts[i].first_smaller ? twice_rank[i] : 0;

  // chance[s]: of a rank sum of s, one pair's coin after another. Halving is exact.
  std::vector<double> chance(n * (n + 1) + 1, 0.0);
  chance[0] = 1;
  std::size_t reach = 0;
  for (const std::size_t rank : twice_rank) {
    reach += rank;
    for (std::size_t s = reach + 1; s-- > 0;) {
      chance[s] = 0.5 * (chance[s] + (s >= rank ? chance[s - rank] : 0));
    }
  }
  double tail = 0;
  for (std::size_t s = chance.size(); s-- > seen;) tail += chance[s];  // the smallest first
  return std::min(tail, 1.0);
}

double NormalTail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

}  // namespace pawl
