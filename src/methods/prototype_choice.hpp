// Choice of prototypes, class means or chosen public rows: decided by public knowledge alone.
//
//     means  <=>  mu n_s >= sqrt(d)   or   epsilon n_m < 7 log m
//
// Legend: N about how many rows the files hold (--expected-rows; without it as many as public rows), K classes, n_s = N
// p_(K-1) / K the size of the smallest under the law of --imbalance-ratio, or N --smallest-share, n_m = N sum_c p_c /
// K^2 that of the mean class (both N / K without it), d features of prepared rows, m public rows; mu and epsilon what
// the budget buys either way.
//
// The noise of a class sum is sqrt(d) / mu long, a sum of n_s unit rows at most n_s: below the first bound the
// directions of small classes are mostly noise, and such classes are never predicted. A choice among m rows needs
// utilities that differ by some log m / epsilon: below the second bound it is mostly chance, and means lose less.
// Source: the suggestion that closes section 5.1 of [wahdany2025]; the rule is ours, and
// docs/explanation/methods/sums-and-prototypes.md says what it was measured on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "methods/registry.hpp"

namespace dpreduce {

/// Returns whether class means serve better under `options` (--method prototypes). Always true where there is no noise.
/// Never true where the budget is an epsilon without delta, which only a choice keeps to. Precondition (asserted):
/// public_rows >= 1. Throws UsageError where the budget is none.
bool prefers_means(const FitOptions& options, std::size_t dim, std::uint64_t public_rows);

/// Returns whether prototypes serve --objective balanced (`options` of --method auto) better than adjusted rounds: mu
/// n_s < 2 sqrt(log K) and epsilon n_m >= 7 log m, where there are public rows; always where the budget is an epsilon
/// without delta. A unit row's score for the smallest class holds at most n_s, noise of 1 / mu in each score, and the
/// largest of K differences of two noises is about 2 sqrt(log K) / mu. So below the first bound even a class of equal
/// rows is lost among the noise of the others. Below the second bound a choice is chance, and rounds lose less. Throws
/// as prefers_means.
bool prefers_prototypes(const FitOptions& options, std::uint64_t public_rows);

/// Returns whether public rows can add something to rounds under --objective balanced (public_refit.hpp): mu^2 n_s < d.
/// A feature of a sum of n_s unit rows varies by about n_s / d from sample to sample, by 1 / mu^2 from the noise. Where
/// the noise is the larger part, rows without labels hold more about the smallest class than its release. Never true
/// without noise or without public rows. Throws as prefers_means.
bool noise_exceeds_sampling(const FitOptions& options, std::size_t dim, std::uint64_t public_rows);

/// Options that a choice among public rows cannot go with, and why.
std::vector<RefusedOption> refused_by_public_choice();

}  // namespace dpreduce
