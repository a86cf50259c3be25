// Scores that treat small classes as large ones: adjusted by noised class sizes.
//
//     p_c = log max(n_c, s, 1), less the largest of them; rounds begin at biases p_c, and in the end
//     b_c <- b_c - p_c        n_c the released size of class c, s its noise's standard deviation
//
// Softmax rounds learn log p(class | row), which holds log of the class's share. Without that share the largest score
// is the class that is right most often over classes. Few rounds from 0 do not come to the log of a small share. A
// class smaller than its noise counts as large as the noise: nothing else is known of it. Source: [menon2021], logit
// adjustment after training, with noised sizes. All but the sizes is post-processing. Where rows are centered by public
// rows, these refine the result (public_refit.hpp).
#pragma once

#include "aggregator/solvers/linear_scores.hpp"
#include "methods/fit_options.hpp"
#include "methods/training_method.hpp"

namespace dpreduce {

/// Share of mu^2 that class sizes take.
inline constexpr double kSizesShare = 0.01;

/// Returns whether the method that `options` (resolved) name is adjusted: --objective balanced, by rounds.
bool adjusts_scores(const FitOptions& options);

/// Returns whether public rows refine what adjusts_scores adjusts. They do if the method allows it, rows of `dim`
/// features are centered by `public_rows` public rows, and the noise exceeds sampling (prototype_choice.hpp). A method
/// does not allow it if d x d matrices are too slow.
bool refits_on_public_rows(const FitOptions& options, std::size_t dim, std::uint64_t public_rows);

/// Trains `method` on the run and returns its scores, the same on every rank. Where adjusts_scores says so, they are
/// adjusted by the release "class_sizes", which is made first. Where refits_on_public_rows says so, they are refined by
/// the run's candidates. Collective. Preconditions (asserted): one bias a class. Throws as TrainingMethod::train.
LinearScores trained_scores(const TrainingMethod& method, TrainingRun& run, const FitOptions& options);

}  // namespace dpreduce
