// The per-row preprocessing, one function for training rows and for prediction.
//
// Legend: x is a raw row of d_in floats, d = ceil(d_in / pool) the dimension after pooling, C the clip norm,
// m the public (released) centre. The transform is
//
//     p = average of `pool` consecutive features of x (the last group may be shorter)
//     u = p * C / ||p||_2             (Normalize::kL2; a zero row stays zero)
//     u = p * min(1, C / ||p||_2)     (Normalize::kNone)
//     with a centre: v = u - m, and v is scaled or clipped to C in the same way again
//     with an intercept share a > 0: the row is (sqrt(1 - a) v, sqrt(a) C), of norm at most C still.
//
// It reads one row and public constants only, in a fixed order of double operations: its bits cannot depend on any
// other row, on the row's position, on threads or on alignment.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dpreduce/config/choices.hpp"

namespace dpreduce {

/// The public constants of the transform. Saved with a model, so that prediction does what training did.
struct Preprocessing {
  std::size_t input_dim = 0;  ///< d_in
  std::size_t pool = 1;       ///< features averaged into one
  Normalize normalize = Normalize::kL2;
  double clip_norm = 1.0;      ///< C
  std::vector<double> center;  ///< m, length d; empty when rows are not centred
  double intercept = 0.0;      ///< a: share of C^2 that an appended constant takes; 0 for none

  /// d = ceil(d_in / pool).
  std::size_t dim() const { return (input_dim + pool - 1) / pool; }
  /// d, and one more with an intercept.
  std::size_t output_dim() const { return dim() + (intercept > 0.0 ? 1 : 0); }
};

class RowTransform {
 public:
  /// Throws UsageError where input_dim is 0, pool is 0 or above input_dim, C is not positive and finite, the centre
  /// is neither empty nor of length d, or the intercept share is not in [0, 1).
  explicit RowTransform(Preprocessing preprocessing);

  const Preprocessing& preprocessing() const { return preprocessing_; }
  std::size_t input_dim() const { return preprocessing_.input_dim; }
  std::size_t output_dim() const { return preprocessing_.output_dim(); }

  /// Writes the transformed row. `row` has input_dim() entries, `out` output_dim(). Returns false, and writes zeros,
  /// where the row has a NaN or an infinity.
  bool operator()(std::span<const float> row, std::span<double> out) const;

 private:
  Preprocessing preprocessing_;
};

/// sum_a v_a^2 in a fixed order (eight running sums, then pairwise): the same bits for the same v everywhere.
double squared_norm(std::span<const double> v);

}  // namespace dpreduce
