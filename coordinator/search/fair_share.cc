#include "coordinator/search/fair_share.h"

#include <algorithm>

#include "schema/check.h"

namespace pawl {
namespace {

constexpr double kFirstGuess = 1;  // seconds, of a job's first orders

}  // namespace

double FairShare::Turn(const std::string& job) const {
  const auto found = accounts_.find(job);
  if (found == accounts_.end()) return level_;
  return found->second.out > 0 ? found->second.served : std::max(found->second.served, level_);
}

double FairShare::Went(const std::string& job) {
  const double turn = Turn(job);
  Account& account = accounts_[job];
  const double guess =
      account.orders > 0 ? account.seconds / static_cast<double>(account.orders) : kFirstGuess;
  level_ = std::max(level_, turn);
  account.served = turn + guess;
  ++account.out;
  return guess;
}

void FairShare::Took(const std::string& job, double charged, double seconds) {
  Account& account = accounts_[job];
  CHECK(account.out > 0, "job", job, "has no order out");
  --account.out;
  account.served += seconds - charged;
  if (seconds <= 0) return;
  account.seconds += seconds;
  ++account.orders;
}

}  // namespace pawl
