// Preparation of rows before a method sees them, where that takes looking at rows: centering, projection, selection.
//
//     ranges    of targets, and of raw columns, by noised histograms, where they are not public; --method auto asks
//               for those of few raw columns, and lets rows be where columns are of one size
//     clip      C, where rows have numbers and nobody says C, by noised lengths of rows
//     center    m = mean of the training rows, noised, in two steps, or of the public rows
//     pca       P = first k eigenvectors of the Gram matrix of the training rows, noised, or of the public rows
//     select    the m features in which noised class sums point farthest apart, where the method cannot select from
//               its own release at no cost (MethodEntry::selects_features)
//
// in this order. Each step changes what rows are from then on, for the steps after it, the method and the model.
#pragma once

#include <vector>

#include "methods/fit_options.hpp"
#include "methods/training_run.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce {

/// Preprocessing as known before any row is read, for rows of `input_dim` features. Throws UsageError where ranges are
/// not as many as columns, or not in order.
Preprocessing known_preprocessing(const PreparationOptions& rows, const DataOptions& data, std::size_t input_dim);

/// Share of mu^2 that the DP center takes: --center-share, else the method's own.
double center_share(const FitOptions& options);

/// Releases of the preparation, in order, each with its share of mu^2; the method gets what is left. `terms` are those
/// of rows before it, and become those of rows after it. Throws UsageError where rows have fewer features than are to
/// be kept, --center-share is given without a DP center, or no share is left.
std::vector<ReleaseRequest> preparation_requests(const FitOptions& options, ReleaseTerms& terms);

/// Makes those releases, sums public rows where they serve instead, and prepares the rows of `run` by what came out.
/// Returns the targets whose range noise hides: nothing can be learned of them. `options` are resolved, and the run's
/// plan is theirs. Collective. Throws as TrainingRun::release.
std::vector<std::size_t> prepare_rows(TrainingRun& run, const FitOptions& options);

}  // namespace dpreduce
