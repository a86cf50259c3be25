// Common terms of least squares and of releases of their statistics: shares, the intercept, and matrices of classes
// that are kept.
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

/// Share of C^2 that an intercept coordinate takes of every row, with two classes or `--center moments`; else 0.
double least_squares_intercept(const FitOptions& options);

/// Weight of all rows beside a class's own: 1 / mu, held between 1 and 10. The noise in A_j + alpha G is the same for
/// every alpha; the smaller the budget, the more it hides A_j, which has the rows of one class only, and the more
/// weight G should have.
double usual_alpha(const FitOptions& options);

/// The release "class_least_squares" as numbers of classes, which a run file keeps
/// (TrainingRun::release_class_grams): of each its triangle, its sum, its part of G and the noise of all three.
class KeptClassGrams {
 public:
  KeptClassGrams(std::size_t classes, std::size_t dim, bool has_gram);

  /// Number of numbers of a class.
  std::size_t width() const { return triangle_ + dim_ + part_ + 3; }
  /// Sets the release made before the matrices.
  void set_sums(const Release& sums) { sums_ = sums; }
  /// Appends the numbers of class `label`. Precondition: set_sums.
  void append(std::size_t label, const ReleasedBlock& gram, std::vector<double>& numbers) const;
  /// The release of `numbers`, K x width().
  Release whole(std::span<const double> numbers) const;

 private:
  std::size_t classes_;
  std::size_t dim_;
  std::size_t triangle_;
  std::size_t part_;  // of G, a class; 0 without G
  std::optional<Release> sums_;
};

}  // namespace dpreduce
