// Models from kept statistics: with the settings of a fit the same model as that fit's from the same release, byte for
// byte; with other settings models that no fit has made. No row is read, and no budget is spent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "aggregator/solvers/ridge_figures.hpp"
#include "common/base/described_types.hpp"
#include "common/ledger/metric.hpp"
#include "common/model/classifier.hpp"
#include "refit/kept_statistics.hpp"

namespace dpreduce {

struct FittedRun;

enum class RefitMethod { kLs, kMean, kFisher };
template <>
inline constexpr auto spellings<RefitMethod> = spelled<RefitMethod>("ls", "mean", "fisher");

struct RefitOptions {
  RefitMethod method = RefitMethod::kLs;
  bool shared_gram = false;  ///< also without class_grams
  Metric metric = Metric::kCosine;
  std::optional<double> alpha{};        ///< absent: that of the release
  std::optional<double> lambda{};       ///< ridge, in feature units squared; absent: from the noise, as in a fit
  bool chooses_ridge = false;           ///< by the path of ridges
  std::vector<std::size_t> classes{};   ///< kept; empty: all
  std::vector<std::size_t> features{};  ///< of prepared rows, that may have weights; empty: all
  std::vector<double> class_weights{};  ///< of kept classes; empty: all equal
  std::size_t select = 0;               ///< number of features in which class means differ most; 0: all
  std::optional<SelectBy> select_by{};
  std::size_t components = 0;  ///< principal components of the Gram matrix that span the weights; 0: all

  /// Returns whether ridge, features or components are requested that may have been chosen from the statistics first.
  bool chooses() const { return chooses_ridge || select > 0 || components > 0 || !features.empty(); }
};

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

/// Upper bound on the bytes that intervals_json() and its text use for `rows` rows, including the rows.
std::uint64_t memory_of_intervals(const KeptStatistics& statistics, std::uint64_t rows);

// Kept statistics as a refit requests them: restricted to some classes and some features, and weighted.

using Indices = std::vector<std::size_t>;

/// 0, ..., count - 1.
Indices all_below(std::size_t count);

/// Statistics of the chosen classes and features alone, as solvers see them, on a lattice of the same scale. Refers to
/// both constructor arguments.
struct ChosenStatistics {
  /// Chooses classes and features. With least squares and `select`, the features are the selected ones. Throws
  /// UsageError if options name classes or features that do not exist, or weights that do not fit.
  ChosenStatistics(const KeptStatistics& kept, const RefitOptions& requested);

  /// Number of features of prepared rows, without the intercept.
  std::size_t dim() const { return statistics.of_rows.preprocessing.dim(); }
  bool has_intercept() const { return statistics.of_rows.preprocessing.intercept > 0.0; }
  /// Weight of the Gram matrix of all rows beside that of a class.
  double alpha() const { return options.alpha.value_or(statistics.alpha()); }
  bool has_class_grams() const { return statistics.has("class_grams"); }
  /// Columns of the features, and of the intercept if rows have one.
  Indices columns() const;
  Lattice lattice_of(std::size_t columns) const;
  /// Weight of kept class number `place`.
  double weight(std::size_t place) const;
  /// Approximate number of rows in gram(); nullopt if unknown. Without class_sizes rows are counted by their norm,
  /// which is the same for all rows only with --normalize l2.
  std::optional<double> rows() const;
  /// Sum of |y|^2 over kept classes, y a row's targets; nullopt if unknown.
  std::optional<double> squared_targets() const;

  ReleasedBlock class_sums(const Indices& columns) const;
  ReleasedBlock class_counts() const;
  /// Gram matrix of all rows that count: those of kept classes if class_grams were released, each class with its
  /// weight.
  ReleasedBlock gram(const Indices& columns) const;
  ReleasedBlock class_gram(std::size_t place, const Indices& columns) const;
  /// Sums of squares of each feature over rows of kept classes.
  ReleasedBlock second_moments() const;
  /// Returns whether weights apply to rows, as in least squares, and not to class shares, as in the Fisher rule.
  bool weighs_rows() const { return !options.class_weights.empty() && options.method == RefitMethod::kLs; }

  const KeptStatistics& statistics;
  const RefitOptions& options;
  const Indices classes;
  const Indices features;  ///< their choice reads the members above

 private:
  Indices chosen_classes() const;
  Indices chosen_features() const;
};

/// Upper triangle of the rows and columns at ascending indices `kept` of a d x d matrix, given by its upper triangle.
std::vector<std::int64_t> picked_triangle(std::span<const std::int64_t> triangle, const Indices& kept, std::size_t dim);
/// Throws UsageError, naming the option, unless the indices ascend and are below `count`.
void require_indices(const char* option, const Indices& indices, std::size_t count, const char* of_what);
/// Lattice of `columns` columns with the scale of `whole`.
Lattice part_of(const Lattice& whole, std::size_t columns);

// Weights and scores with intervals, of classes or targets.

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

// Regressions on numbers from the released Gram matrix of rows and targets: with any ridge, on any features and
// targets, and with intervals of their coefficients.

/// Returns the model: by default that which `fit --method ls` makes from the same release. Throws as refit.
Refit refit_targets(const KeptStatistics& statistics, const RefitOptions& options);

/// Returns intervals by docs/reference/schemas/refit-intervals.schema.json, with targets in place of classes.
/// Coefficients are in the units of raw columns and targets if rows were only scaled by column, else in those of
/// prepared rows; the constant is last. Predictions are for `rows`, m x input_dim, which are public. Intervals are
/// those of ridge_figures.hpp, for targets minus their noised mean. `ridge` is Refit::ridge. Throws as
/// intervals_json.
nlohmann::json target_intervals_json(const KeptStatistics& statistics, const RefitOptions& options, double ridge,
                                     double level, std::span<const float> rows);

/// Returns "coefficients" of a report by docs/reference/schemas/fit-report.schema.json: those of the run's model in the
/// units of raw columns and targets, the largest 20 in effect over the ranges of their columns, and intervals by
/// target_intervals_json with next to no ridge. `keeper` has the run's Gram matrix if it had noise. At the coordinator.
/// Precondition: rows have targets.
nlohmann::json coefficients_json(const FittedRun& run, const StatisticsKeeper& keeper);

}  // namespace dpreduce
