// Adjustment of scores by noised class sizes, so that small classes count as much as large ones.
//
//     p_c = log max(n_c, s, 1), minus the largest of these
//     b_c = p_c at the start of rounds, and b_c <- b_c - p_c at the end
//
// Legend: n_c the released size of class c, s the standard deviation of its noise, b_c its bias.
//
// Softmax rounds learn log p(class | row), which holds the log of the class's share. Without that share the largest
// score belongs to the class that maximizes accuracy averaged over classes. A few rounds from 0 do not reach the log of
// a small share. A class smaller than its noise counts as large as the noise: nothing else is known about its size.
// Source: [menon2021], logit adjustment after training, with noised sizes. Everything but the sizes is post-processing.
// If rows are centered by public rows, public rows refine the result (public_refit.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "methods/registry.hpp"

namespace dpreduce {

/// Share of mu^2 for the class sizes.
inline constexpr double kSizesShare = 0.01;

/// Returns whether the method that resolved `options` name is adjusted: under --objective balanced, a method by rounds.
bool adjusts_scores(const FitOptions& options);

/// Returns whether public rows refine the scores that adjusts_scores adjusts: if the method allows refinement, rows of
/// `dim` features are centered by `public_rows` public rows, and the noise exceeds sampling (prototypes.hpp). A
/// method does not allow refinement if d x d matrices are too slow.
bool refits_on_public_rows(const FitOptions& options, std::size_t dim, std::uint64_t public_rows);

/// Trains `method` on the run and returns its scores, the same on every rank. If adjusts_scores, the scores are
/// adjusted by the release "class_sizes", which is made first. If refits_on_public_rows, the run's candidates refine
/// them. Collective. Precondition (asserted): one bias a class. Throws as TrainingMethod::train.
LinearScores trained_scores(const TrainingMethod& method, TrainingRun& run, const FitOptions& options);

}  // namespace dpreduce
