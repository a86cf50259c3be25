// Figures about test rows with numbers: how much of them the predictions explain.
//
// Legend: y the m targets of a row, f what the model predicts, c and h the model's centers and scales:
//
//     R^2_t = 1 - sum (y_t - f_t)^2 / sum (y_t - mean)^2        RMSE_t = sqrt(sum (y_t - f_t)^2 / n)
//
// Sums are of (y - c) / h and (y - f) / h, as integers on a grid of 2^-56, which have no order: figures are the same
// for any number of ranks. A number whose square is 2^192 or more is in no sum, and leaves no figure. They are exact
// figures of the test rows, outside of the privacy guarantee.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/lattice/target_columns.hpp"

namespace dpreduce {

class TargetFigures {
 public:
  /// All zero. Precondition (asserted): centers and scales are known.
  explicit TargetFigures(TargetColumns targets);

  /// Adds a row. Precondition (asserted): m targets, and m predictions.
  void add(std::span<const double> targets, std::span<const double> predictions);

  /// All sums, to be added to those of other rows word by word.
  std::span<std::uint64_t> words() { return words_; }

  std::uint64_t rows() const { return words_.front(); }
  std::size_t targets() const { return targets_.count; }
  /// Empty where rows are none or all alike, or a number is too large for sums.
  std::optional<double> r2(std::size_t target) const;
  /// Empty without rows, or where a number is too large.
  std::optional<double> rmse(std::size_t target) const;

 private:
  void put(std::size_t sum, double value);
  double sum(std::size_t place) const;

  TargetColumns targets_;
  std::vector<std::uint64_t> words_;  // rows, numbers that no sum holds, then the words of three sums of each target
};

/// {"r2": the mean over targets, "rmse": the root of the mean square over targets, "rows"}, and where there are several
/// "per_target_r2" and "per_target_rmse". Empty figures are null.
nlohmann::json to_json(const TargetFigures& figures);

}  // namespace dpreduce
