// Choice of prototypes, class means or chosen public rows, by public knowledge alone.
//
//     means  <=>  mu n_s >= sqrt(d)   or   epsilon n_m < 7 log m
//
// Legend: N the approximate number of rows in the files (--expected-rows; without it the number of public rows), K
// classes, n_s = N p_(K-1) / K the size of the smallest class under the law of --imbalance-ratio, or N
// --smallest-share, n_m = N sum_c p_c / K^2 the size of the mean class (both N / K without --imbalance-ratio), d
// features of prepared rows, m public rows; mu and epsilon those that the budget gives for means and for a choice.
//
// The noise of a class sum has length sqrt(d) / mu, and a sum of n_s unit rows has length at most n_s. Below the first
// bound the directions of small classes are mostly noise, and such classes are never predicted. A choice among m rows
// needs utilities that differ by some log m / epsilon. Below the second bound the choice is mostly chance, and means
// lose less. Source: the suggestion that closes section 5.1 of [wahdany2025]. The rule is ours;
// docs/explanation/methods/sums-and-prototypes.md reports the measurements behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "methods/registry.hpp"

namespace dpreduce {

/// Returns whether class means are better under `options` (--method prototypes). Always true without noise. Never true
/// for a budget of epsilon without delta, which only a choice keeps to. Precondition (asserted): public_rows >= 1.
/// Throws UsageError if the budget is none.
bool prefers_means(const FitOptions& options, std::size_t dim, std::uint64_t public_rows);

/// Returns whether prototypes serve --objective balanced (`options` of --method auto) better than adjusted rounds.
/// Prototypes do if mu n_s < 2 sqrt(log K) and epsilon n_m >= 7 log m, with public rows; always for a budget of epsilon
/// without delta. A unit row's score for the smallest class holds at most n_s, noise of 1 / mu is in each score, and
/// the largest of K differences of two noises is about 2 sqrt(log K) / mu. Below the first bound even a class of equal
/// rows is therefore lost among the noise of the others. Below the second bound a choice is chance, and rounds lose
/// less. Throws as prefers_means.
bool prefers_prototypes(const FitOptions& options, std::uint64_t public_rows);

/// Returns whether public rows can improve rounds under --objective balanced (public_refit.hpp): mu^2 n_s < d. A
/// feature of a sum of n_s unit rows has variance about n_s / d from sampling and 1 / mu^2 from noise. If the noise is
/// larger, rows without labels hold more about the smallest class than its release does. Never true without noise or
/// without public rows. Throws as prefers_means.
bool noise_exceeds_sampling(const FitOptions& options, std::size_t dim, std::uint64_t public_rows);

/// Returns the options that a choice among public rows cannot be combined with, and why.
std::vector<RefusedOption> refused_by_public_choice();

}  // namespace dpreduce
