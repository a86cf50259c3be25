// Models of kept statistics: what a fit with the same settings would have made of the same release, byte for byte, and
// what no fit was asked for. No row is read, and nothing is spent.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "aggregator/solvers/ridge_path.hpp"
#include "aggregator/solvers/weight_intervals.hpp"
#include "common/base/spelling.hpp"
#include "common/model/classifier.hpp"
#include "common/plan/metric.hpp"
#include "refit/kept_statistics.hpp"

namespace dpreduce {

enum class RefitMethod { kLs, kMean, kFisher };
template <>
inline constexpr std::array spellings<RefitMethod>{std::pair{std::string_view{"ls"}, RefitMethod::kLs},
                                                   std::pair{std::string_view{"mean"}, RefitMethod::kMean},
                                                   std::pair{std::string_view{"fisher"}, RefitMethod::kFisher}};

struct RefitOptions {
  RefitMethod method = RefitMethod::kLs;
  bool shared_gram = false;  ///< also without class_grams
  Metric metric = Metric::kCosine;
  std::optional<double> alpha{};        ///< empty: that of the release
  std::optional<double> lambda{};       ///< ridge, in feature units squared; empty: as a fit takes it from the noise
  bool chooses_ridge = false;           ///< by the path of ridges
  std::vector<std::size_t> classes{};   ///< kept; empty: all
  std::vector<std::size_t> features{};  ///< of prepared rows, that weights may be of; empty: all
  std::vector<double> class_weights{};  ///< of kept classes; empty: all alike
  std::size_t select = 0;               ///< features in which class means are farthest apart; 0: all
  std::optional<SelectBy> select_by{};
  std::size_t components = 0;  ///< of the Gram matrix, that weights are within; 0: all

  /// Whether something is asked for that was seen in the statistics first.
  bool chooses() const { return chooses_ridge || select > 0 || components > 0 || !features.empty(); }
};

struct Refit {
  Classifier classifier;
  std::optional<double> ridge{};   ///< of the shared Gram matrix
  std::vector<RidgePoint> path{};  ///< with chooses_ridge
};

/// The model. Throws UsageError where options contradict each other or name what the statistics do not have.
Refit refit(const KeptStatistics& statistics, const RefitOptions& options);

/// {"kind", "kappa", "level", "why", "ridge", "chosen", "weights": [{"class", "feature", "estimate", "low", "high",
/// "population": {"low", "high"}}], "predictions": [...]}: of the weights of raw, prepared rows, and of scores of
/// `rows`, m x input_dim, which are public. `ridge` of Refit. Throws UsageError unless the Gram matrix is shared, no
/// class is weighed and no components are asked for.
nlohmann::json intervals_json(const KeptStatistics& statistics, const RefitOptions& options, double ridge, double level,
                              std::span<const float> rows);

}  // namespace dpreduce
