// Models from kept statistics: with the settings of a fit the same model as that fit's from the same release, byte for
// byte; with other settings models that no fit has made. No row is read, and no budget is spent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "aggregator/solvers/ridge_path.hpp"
#include "aggregator/solvers/weight_intervals.hpp"
#include "common/model/classifier.hpp"
#include "refit/chosen_statistics.hpp"
#include "refit/kept_statistics.hpp"

namespace dpreduce {

struct Refit {
  Classifier classifier;
  std::optional<double> ridge{};   ///< of the shared Gram matrix
  std::vector<RidgePoint> path{};  ///< with chooses_ridge
};

/// Returns the model. Throws UsageError if options contradict each other or name parts that the statistics lack.
Refit refit(const KeptStatistics& statistics, const RefitOptions& options);

/// Returns intervals by docs/reference/schemas/refit-intervals.schema.json: of the weights of prepared rows, and of
/// scores of `rows`, m x input_dim, which are public. `ridge` is Refit::ridge. Throws UsageError unless the Gram matrix
/// is shared, `level` is from .5 to .999999, no class is weighted and no components are requested; BadInput if a row
/// has a NaN or an infinity.
nlohmann::json intervals_json(const KeptStatistics& statistics, const RefitOptions& options, double ridge, double level,
                              std::span<const float> rows);

/// `rows`, K x |columns|, with zeros where there are other columns: K x width.
std::vector<double> scattered(std::span<const double> rows, const Indices& columns, std::size_t width);

/// Appends to `terms` the scores of `rows`, m x input_dim, by these columns of prepared rows. Throws BadInput if a row
/// has a NaN or an infinity.
void add_scores_of(IntervalTerms& terms, std::span<const float> rows, const Preprocessing& preprocessing,
                   const Indices& columns);

/// Subject of intervals: first those of weights and of a bias, then those of predictions.
struct IntervalShape {
  double level;
  double ridge;
  const Indices& features;
  bool has_bias;
  const char* of;  ///< "class" or "target"
};
/// Returns kind, kappa and reason as JSON, weights and predictions with their intervals if there are any, and what they
/// are of. `options` are the requested ones.
nlohmann::json interval_json(const LinearIntervals& intervals, const IntervalShape& shape,
                             const KeptStatistics& statistics, const RefitOptions& options);

/// Upper bound on the bytes that intervals_json() and its text use for `rows` rows, including the rows.
std::uint64_t memory_of_intervals(const KeptStatistics& statistics, std::uint64_t rows);

}  // namespace dpreduce
