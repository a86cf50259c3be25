// Common terms of least squares and of the releases of their statistics: shares, the intercept, and kept matrices of
// classes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "common/ledger/released_block.hpp"
#include "methods/fit_options.hpp"

namespace dpreduce {

/// Share of mu^2 for the Gram matrices, shared or by class.
double least_squares_gram_share(const FitOptions& options);

/// Share of C^2 for the intercept coordinate of every row, with two classes or `--center moments`; else 0.
double least_squares_intercept(const FitOptions& options);

/// Weight of all rows relative to a class's own rows: 1 / mu, clamped to [1, 10]. The noise in A_j + alpha G is the
/// same for every alpha. The smaller the budget, the more the noise hides A_j, which has the rows of one class only,
/// and the more weight G should have.
double usual_alpha(const FitOptions& options);

/// Release "class_least_squares" as numbers for each class, which a run file keeps (TrainingRun::release_class_grams):
/// the class's triangle, its sum, its part of G and the noise of all three.
class KeptClassGrams {
 public:
  KeptClassGrams(std::size_t classes, std::size_t dim, bool has_gram);

  /// Returns how many numbers a class has.
  std::size_t width() const { return triangle_ + dim_ + part_ + 3; }
  /// Sets the release made before the matrices.
  void set_sums(const Release& sums) { sums_ = sums; }
  /// Returns the numbers of class `label`. Precondition: set_sums.
  std::vector<double> numbers_of(std::size_t label, const ReleasedBlock& gram) const;
  /// Returns the release that `numbers`, K x width(), hold.
  Release whole(std::span<const double> numbers) const;

 private:
  std::size_t classes_;
  std::size_t dim_;
  std::size_t triangle_;
  std::size_t part_;  // of G, a class; 0 without G
  std::optional<Release> sums_;
};

}  // namespace dpreduce
