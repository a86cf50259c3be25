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

/// Subject of intervals, and the number of them that are of weights.
struct IntervalShape {
  double level;
  std::size_t columns;  ///< the first ones are of weights, the others of predictions
  const char* of;       ///< "class" or "target"
  bool are_chosen;      ///< RefitOptions::chooses
};
/// Returns kind, kappa and reason as JSON, and weights and predictions with their intervals if there are any.
nlohmann::json interval_json(const LinearIntervals& intervals, const IntervalShape& shape);
/// Adds to `told` "private", and "forfeited_by" with the reasons if the promise is forfeited.
void add_promise(nlohmann::json& told, const KeptStatistics& statistics);

/// Upper bound on the bytes that intervals_json() and its text use for `rows` rows, including the rows.
std::uint64_t memory_of_intervals(const KeptStatistics& statistics, std::uint64_t rows);

}  // namespace dpreduce
