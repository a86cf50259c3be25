// Preparation of rows before a method sees them, as far as it depends on the rows: scaling, clipping, centering,
// projection, selection. The steps, in this order:
//
//     ranges    of targets, and of raw columns, by noised histograms, if they are not public; --method auto requests
//               ranges of few raw columns, and leaves these unscaled if columns are of one size
//     zeros     columns whose public range ends at 0 keep their zeros if most entries are zeros, by noised counts; only
//               where clip is a step
//     clip      C by noised lengths of rows, if rows have numbers to predict and the user gives no C
//     center    m = mean of the training rows, noised, in two steps, or of the public rows
//     pca       P = first k eigenvectors of the Gram matrix of the training rows, noised, or of the public rows
//     select    the m features in which noised class sums point farthest apart, if the method cannot select from its
//               own release at no cost (MethodEntry::selects_features)
//
// Each step changes the rows for the steps after it, the method and the model.
#pragma once

#include <vector>

#include "methods/fit_options.hpp"
#include "methods/training_run.hpp"

namespace dpreduce {

/// Preprocessing as known before any row is read, for rows of `input_dim` features. Throws UsageError if the number of
/// ranges is not that of the columns, or a range is not in order.
Preprocessing known_preprocessing(const PreparationOptions& rows, const DataOptions& data, std::size_t input_dim);

/// Share of mu^2 that the DP center takes: --center-share, else the method's own.
double center_share(const FitOptions& options);

/// Returns the releases of the preparation, in order, each with its share of mu^2; the method gets the remaining share.
/// `terms` are those of rows before the preparation, and become those of rows after it. Throws UsageError if rows have
/// fewer features than are to be kept, if --center-share is given without a DP center, or if no share remains.
std::vector<ReleaseRequest> preparation_requests(const FitOptions& options, ReleaseTerms& terms);

/// Makes those releases, sums public rows where they are used instead, and prepares the rows of `run` by the results.
/// Returns the targets whose range noise hides: nothing can be learned about them. Preconditions: `options` are
/// resolved, and the run's plan is made from them. Collective. Throws as TrainingRun::release.
std::vector<std::size_t> prepare_rows(TrainingRun& run, const FitOptions& options);

}  // namespace dpreduce
