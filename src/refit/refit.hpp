// Models of kept statistics: those that a fit with the same settings would have made of the same release, byte for
// byte, and others that no fit was requested for. No row is read, and nothing is spent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
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

/// Makes the model. Throws UsageError where options contradict each other or name what the statistics do not have.
Refit refit(const KeptStatistics& statistics, const RefitOptions& options);

/// Returns intervals by docs/reference/schemas/refit-intervals.schema.json: of the weights of prepared rows, and of
/// scores of `rows`, m x input_dim, which are public. `ridge` of Refit. Throws UsageError unless the Gram matrix is
/// shared, `level` is from .5 to .999999, no class is weighed and no components are requested.
nlohmann::json intervals_json(const KeptStatistics& statistics, const RefitOptions& options, double ridge, double level,
                              std::span<const float> rows);

/// Subject of intervals, and how many of them are of weights.
struct IntervalShape {
  double level;
  std::size_t columns;  ///< the first ones are of weights, the others of predictions
  const char* of;       ///< "class" or "target"
  bool are_chosen;      ///< RefitOptions::chooses
};
/// Kind, kappa, reason, and where there are intervals weights and predictions with them.
nlohmann::json interval_json(const LinearIntervals& intervals, const IntervalShape& shape);
/// Adds to `told` whether the statistics are private, and why not.
void add_promise(nlohmann::json& told, const KeptStatistics& statistics);

/// Bytes that intervals_json() and its text use at most, of so many rows, the rows among them.
std::uint64_t memory_of_intervals(const KeptStatistics& statistics, std::uint64_t rows);

}  // namespace dpreduce
