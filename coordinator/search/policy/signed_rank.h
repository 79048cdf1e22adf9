#pragma once
// Wilcoxon's signed-rank test of paired times, exact at every number of pairs.
//
// Two arms that are the same kernel are as likely to come out one way round as the other in each
// pair, whatever the noise's size, tails or modes: only the signs are random. The test needs no
// more than that, so it holds on a busy host, with a few wild outliers, with two clock modes and
// with a coarse timer alike, where a spread estimated from a handful of rounds does not (six rounds
// of a timer with two modes have a median absolute deviation of zero every few hundred tries).
// Source: F. Wilcoxon, Individual comparisons by ranking methods, Biometrics 1 (1945).

#include <utility>
#include <vector>

namespace pawl {

// The chance, if in each pair (a, b) it were a coin's throw which is the smaller, that the pairs
// speak at least as strongly for `a` as they do. Pairs are ranked by max/min, ties sharing their
// rank; equal pairs say nothing and are left out. In (0, 1]; at least 2^-pairs. Times are positive.
// Cost: pairs cubed, at most 20 ms for 240.
double SignedRankTail(const std::vector<std::pair<double, double>>& pairs);

// The chance that a normal variable exceeds `z`: what "z standard errors" means as a chance.
double NormalTail(double z);

}  // namespace pawl
