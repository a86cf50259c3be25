// Method for users who do not choose one.
//
//     most features      DP-FC, which was best on every set of real features tried; class means where rows spread
//                        evenly over directions, which a small release finds out (gradient_rounds.hpp)
//     above 4096         DP-Adam: the Gram matrix of so many takes the coordinator minutes (9 d^3 flops)
//     few raw columns    scaled by ranges that are found with noise, where their sizes differ (row_preparation.hpp)
//     small classes      with --objective balanced, chosen public rows where rounds would lose them in their noise
//                        (prefers_prototypes)
#include <cmath>
#include <optional>

#include "aggregator/solvers/isotropic_rule.hpp"
#include "common/base/error.hpp"
#include "methods/fit_options.hpp"
#include "methods/gradient_rounds.hpp"
#include "methods/prototypes.hpp"
#include "methods/registry.hpp"

namespace dpreduce {

namespace {

constexpr std::size_t kMostFeaturesOfGram = 4096;
constexpr double kIsotropyShare = 0.03;
// With so few rows the center's noise is about as long as rows: .05 was up to 6 points ahead of .02 on images
// whose mean is longer than what is left of them, and as good on text.
constexpr double kCenterShareOfFewRows = 0.05;
constexpr double kFewRows = 20.0;  // of n mu / sqrt(d)
// Bound on n mu / sqrt(d): below it the question of isotropy finds rows that spread evenly in less than one run of
// five.
constexpr double kFewestRowsToDecide = 8.0;
// Multiple of the largest signal for which class means are considered. It is above 1 because expectations are rough.
constexpr double kCertainlyMore = 2.0;

// n mu of the rows that are expected, where that is public and there is noise.
std::optional<double> expected_signal(const FitOptions& options) {
  const BudgetOptions& budget = options.privacy.budget;
  if (!options.method.expected_rows || budget.non_private) return std::nullopt;
  return *options.method.expected_rows * mu_of(budget) / static_cast<double>(options.data.bounded_rows());
}

// Returns whether so few rows are expected that noise would hide what they are like.
bool are_surely_few(const FitOptions& options, std::size_t dim) {
  const double fewest = kFewestRowsToDecide * std::sqrt(static_cast<double>(dim));
  return expected_signal(options).value_or(fewest) < fewest;
}

// Returns whether so many rows are expected that rounds are best whatever rows are like.
bool are_surely_many(const FitOptions& options, std::size_t dim) {
  return expected_signal(options).value_or(0.0) >
         kCertainlyMore * kLargestSignalOfMeans * std::sqrt(static_cast<double>(dim * options.data.classes));
}

// Returns whether to request the question of isotropy: only where the answer may be class means, for rows about their
// mean, with noise.
bool requests_isotropy(const FitOptions& options, std::size_t dim) {
  return may_take_means(options) && options.rows.center != Centering::kNone && dim >= kFewestFeaturesOfMeans &&
         !options.privacy.budget.non_private && !are_surely_few(options, dim) && !are_surely_many(options, dim);
}

FitOptions resolve_auto(FitOptions options, const RowsAhead& rows) {
  const bool is_balanced = options.method.objective == Objective::kBalanced;
  if (is_balanced && prefers_prototypes(options, rows.public_rows)) {
    options.method.name = prototypes_method.name;
    return options;
  }
  if (options.rows.leaves_columns_open() && rows.input_dim <= kMostRawColumns) {
    options.rows.finds_ranges = FindRanges::kWhereColumnsDiffer;
  }
  if (options.data.has_targets()) {
    // Rounds clip residuals, whose noise is then less than that of one Gram matrix of all: they were ahead on each of
    // four tables, at epsilon .5, 1 and 4.
    options.method.name = fc_method.name;
    return options;
  }
  const MethodEntry& chosen = rows.kept_features <= kMostFeaturesOfGram ? fc_method : adam_method;
  for (const auto& [option, is_given] : {std::pair{"--gram-share", options.method.gram_share.has_value()},
                                         std::pair{"--isotropy-share", options.method.isotropy_share.has_value()}}) {
    if (is_given && !chosen.takes_option(option)) {
      throw UsageError("{}: --method auto is {} for rows of {} features, without a Gram matrix; give the method itself",
                       option, chosen.name, rows.input_dim);
    }
  }
  if (rows.public_rows > 0 && whitens_by_public_rows(options) && !chosen.whitens_by_public_rows &&
      options.rows.center.value_or(Centering::kDp) != Centering::kPublic && options.rows.pca == 0) {
    throw UsageError(
        "--public-x: --method auto is {} for rows of {} features, which uses no public rows; "
        "leave them out, or add --pca",
        chosen.name, rows.input_dim);
  }
  options.method.name = chosen.name;
  // With --objective balanced there may be public rows. Their mean costs no budget. It also treats classes alike, where
  // the mean of the training rows is near the large ones.
  if (!options.rows.center) {
    options.rows.center = is_balanced && rows.public_rows > 0 ? Centering::kPublic : Centering::kDp;
  }
  const double few = kFewRows * std::sqrt(static_cast<double>(rows.kept_features));
  if (options.rows.center == Centering::kDp && !options.rows.center_share &&
      expected_signal(options).value_or(few) < few) {
    options.rows.center_share = kCenterShareOfFewRows;
  }
  if (!options.method.isotropy_share && chosen.takes_option("--isotropy-share") &&
      requests_isotropy(options, rows.kept_features)) {
    options.method.isotropy_share = kIsotropyShare;
  }
  return options;
}

}  // namespace

const MethodEntry auto_method{.name = "auto",
                              .help = "the usually best method, centered by a released mean",
                              .takes = with_options_of_rounds({{"--objective"},
                                                               {"--expected-rows"},
                                                               {"--smallest-share"},
                                                               {"--gram-share"},
                                                               {"--isotropy-share", "0.03"},
                                                               {"--rounds"},
                                                               {"--targets"}}),
                              .resolve = resolve_auto,
                              .resolved_by = "features, --objective and public rows: public knowledge",
                              .whitens_rows = true,
                              .whitens_by_public_rows = true};

}  // namespace dpreduce
