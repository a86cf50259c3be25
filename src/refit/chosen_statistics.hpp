// Kept statistics as a refit requests them: restricted to some classes and some features, and weighted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/ledger/metric.hpp"
#include "refit/kept_statistics.hpp"

namespace dpreduce {

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

using Indices = std::vector<std::size_t>;

/// 0, ..., count - 1.
Indices all_below(std::size_t count);

/// Statistics of the chosen classes and features alone, as solvers see them, on a lattice of the same scale. Refers to
/// both constructor arguments.
class ChosenStatistics {
 public:
  /// Chooses classes and features. With least squares and `select`, the features are the selected ones. Throws
  /// UsageError if options name classes or features that do not exist, or weights that do not fit.
  ChosenStatistics(const KeptStatistics& statistics, const RefitOptions& options);

  const KeptStatistics& statistics() const { return statistics_; }
  const RefitOptions& options() const { return options_; }
  /// Number of features of prepared rows, without the intercept.
  std::size_t dim() const { return statistics_.of_rows.preprocessing.dim(); }
  const Indices& classes() const { return classes_; }
  const Indices& features() const { return features_; }
  bool has_intercept() const { return statistics_.of_rows.preprocessing.intercept > 0.0; }
  /// Weight of the Gram matrix of all rows beside that of a class.
  double alpha() const { return options_.alpha.value_or(statistics_.alpha()); }
  bool has_class_grams() const { return statistics_.has("class_grams"); }
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

 private:
  // Weights apply to rows in least squares, and to class shares in the Fisher rule.
  bool weighs_rows() const { return !options_.class_weights.empty() && options_.method == RefitMethod::kLs; }
  void select();
  void require_weights() const;

  const KeptStatistics& statistics_;
  const RefitOptions& options_;
  Indices classes_;
  Indices features_;
};

/// Upper triangle of the rows and columns at ascending indices `kept` of a d x d matrix, given by its upper triangle.
std::vector<std::int64_t> picked_triangle(std::span<const std::int64_t> triangle, const Indices& kept, std::size_t dim);
/// Throws UsageError, naming the option, unless the indices ascend and are below `count`.
void require_indices(const char* option, const Indices& indices, std::size_t count, const char* of_what);
/// Lattice of `columns` columns with the scale of `whole`.
Lattice part_of(const Lattice& whole, std::size_t columns);

}  // namespace dpreduce
