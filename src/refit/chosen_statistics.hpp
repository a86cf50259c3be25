// Kept statistics as requested for a refit: of some classes, of some features, weighed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/ledger/metric.hpp"
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

  /// Returns whether something is requested that was seen in the statistics first.
  bool chooses() const { return chooses_ridge || select > 0 || components > 0 || !features.empty(); }
};

using Indices = std::vector<std::size_t>;

/// Statistics of the chosen features alone, which solvers see, on a lattice of the same scale. Refers to both
/// arguments.
class ChosenStatistics {
 public:
  /// Throws UsageError where options name what does not exist. Least squares with `select` are of selected features.
  ChosenStatistics(const KeptStatistics& statistics, const RefitOptions& options);

  /// Features of prepared rows, without the intercept.
  std::size_t dim() const { return statistics_.of_rows.preprocessing.dim(); }
  const Indices& classes() const { return classes_; }
  const Indices& features() const { return features_; }
  bool has_intercept() const { return statistics_.of_rows.preprocessing.intercept > 0.0; }
  bool has_class_grams() const { return statistics_.has("class_grams"); }
  /// The features, and the intercept where there is one.
  Indices columns() const;
  Lattice lattice_of(std::size_t columns) const;
  /// Weight of the rows of kept class number `place`.
  double weight(std::size_t place) const;
  /// About how many rows gram() is of; nullopt if unknown. Without class_sizes rows are counted by their norm, which is
  /// one for all with --normalize l2 alone.
  std::optional<double> rows() const;
  /// Sum of |y|^2 over kept classes, y a row's targets; nullopt if unknown.
  std::optional<double> squared_targets() const;

  ReleasedBlock class_sums(const Indices& columns) const;
  ReleasedBlock class_counts() const;
  /// Gram matrix of all rows that count: of kept classes where these can be told apart, each class as it is weighed.
  ReleasedBlock gram(const Indices& columns) const;
  ReleasedBlock class_gram(std::size_t place, const Indices& columns) const;
  /// Sums of squares of each feature over rows of kept classes.
  ReleasedBlock second_moments() const;

 private:
  // Weights are of rows for least squares; for the Fisher rule of shares.
  bool weighs_rows() const { return !options_.class_weights.empty() && options_.method == RefitMethod::kLs; }
  void select();
  void require_weights() const;

  const KeptStatistics& statistics_;
  const RefitOptions& options_;
  Indices classes_;
  Indices features_;
};

/// The rows and columns of a d x d matrix's upper triangle at those indices, ascending.
std::vector<std::int64_t> picked_triangle(std::span<const std::int64_t> triangle, const Indices& kept, std::size_t dim);
/// Throws UsageError, naming the option, unless they ascend and are below `count`.
void require_indices(const char* option, const Indices& indices, std::size_t count, const char* of_what);
/// A lattice of so many columns with the scale of `whole`.
Lattice part_of(const Lattice& whole, std::size_t columns);

/// The seed of simulated noise, a function of what was released.
std::uint64_t seed_of(const KeptStatistics& statistics);

}  // namespace dpreduce
