// Preprocessing of float rows and their targets, before rounding to the lattice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/described_types.hpp"

namespace dpreduce {

// Numbers to predict, as a row's columns beside its features.
//
// Legend: y the m targets of a row, c and h their public (or released) centers and scales:
//
//     v_t = clamp((y_t - c_t) / h_t, -1, 1)        y' = v / max(1, |v|_2)
//
// so that |y'| <= 1 whatever the row holds; of a NaN v_t is -1. It reads one row and public constants only, in a fixed
// order of double operations, as the transform of features does.

struct TargetColumns {
  std::size_t count = 0;         ///< m; 0: rows have classes
  std::vector<double> center{};  ///< c; empty until it is known
  std::vector<double> scale{};   ///< h, above 0; as many
  double share = 0.0;            ///< b: of a row's C^2, for y'; 0: it is no part of the row

  bool operator==(const TargetColumns&) const = default;

  /// Writes y' (m entries) of the row with these label slots (label_slots.hpp). Preconditions: c and h are known; as
  /// many slots as m targets take.
  void scaled(std::span<const std::int32_t> row_slots, std::span<double> out) const;
  /// The same of targets, m numbers, in the place of slots.
  void scaled_numbers(std::span<const double> targets, std::span<double> out) const;
};

/// Public centers and scales of raw columns; empty where these stay as they are.
struct FeatureColumns {
  std::vector<double> center{};  ///< c, d_in
  std::vector<double> scale{};   ///< h, above 0

  bool operator==(const FeatureColumns&) const = default;
  /// p_a of that number in column a.
  double scaled(std::size_t a, double x) const {
    return scale.empty() ? x : std::clamp((x - center[a]) / scale[a], -1.0, 1.0);
  }
};

/// Columns from ranges lo_1, hi_1, lo_2, hi_2, ..., one for each of `count` columns, or one for all: c their middles, h
/// half their widths. Throws UsageError naming the option if there are neither two numbers nor twice as many as
/// columns, one is not finite, or a range is empty.
FeatureColumns ranges_of(const char* option, std::span<const double> ranges, std::size_t count);

/// m targets with those ranges: h half their widths times sqrt(m), so that no row whose targets are within them is
/// clipped.
TargetColumns target_columns(FeatureColumns ranges);

// The per-row preprocessing, one function for training rows and for prediction.
//
// Legend: x is a raw row of d_in floats, d = ceil(d_in / pool) the dimension after pooling, C the clip norm,
// m the public (released) center. The transform is
//
//     p = average of `pool` consecutive features of x (the last group may be shorter)
//     with ranges of columns: p_a = clamp((x_a - c_a) / h_a, -1, 1), and pool is 1
//     u = p * C / ||p||_2             (Normalize::kL2; a zero row stays zero)
//     u = p * min(1, C / ||p||_2)     (Normalize::kNone)
//     with a center: v = g (u - m), and v is scaled or clipped to C in the same way again
//     with a projection P (k x d): w = P v, scaled or clipped to C once more; v and the rows of P are rounded to the
//     lattice first (lattice_rows, lattice_weights), so that products are exact integers: fast, and in any order
//     with selected features: the entries of w at those indices, scaled or clipped to C once more
//     with an intercept share a > 0: the row is u = (sqrt(1 - a) w, sqrt(a) C), of norm at most C still
//     with targets of share b > 0: the row is (sqrt(1 - b) u, sqrt(b) C y'), y' scaled and clipped
//
// The transform reads one row and public constants only, in a fixed order of double operations: its bits cannot depend
// on any other row, on the row's position, on threads or on alignment.

enum class Normalize {
  kL2,   ///< every row is scaled to norm C
  kNone  ///< rows longer than C are scaled down to C
};
template <>
inline constexpr auto spellings<Normalize> = spelled<Normalize>("l2", "none");

/// The public constants of the transform. Saved with a model, so that prediction does what training did.
struct Preprocessing {
  std::size_t input_dim = 0;  ///< d_in
  std::size_t pool = 1;       ///< features averaged into one
  Normalize normalize = Normalize::kL2;
  double clip_norm = 1.0;               ///< C
  std::vector<double> center;           ///< m, length d; empty when rows are not centered
  double intercept = 0.0;               ///< a: share of C^2 that an appended constant takes; 0 for none
  std::vector<double> projection{};     ///< P, k x d, row-major; empty when rows are not projected
  std::vector<std::size_t> selected{};  ///< indices of the features that are kept, ascending; empty for all
  double center_factor = 1.0;           ///< g, from 1 to kLargestCenterFactor
  FeatureColumns columns{};             ///< how raw columns are scaled
  TargetColumns targets{};              ///< numbers to predict; none where rows have classes

  bool operator==(const Preprocessing&) const = default;

  /// d = ceil(d_in / pool).
  std::size_t pooled_dim() const { return (input_dim + pool - 1) / pool; }
  /// k, or d without a projection.
  std::size_t projected_dim() const { return projection.empty() ? pooled_dim() : projection.size() / pooled_dim(); }
  /// Entries of a row, less the intercept.
  std::size_t dim() const { return selected.empty() ? projected_dim() : selected.size(); }
  /// The same, and one more with an intercept.
  std::size_t scored_dim() const { return dim() + (intercept > 0.0 ? 1 : 0); }
  /// Number of all entries of a row: the same, and m more with targets in it.
  std::size_t output_dim() const { return scored_dim() + (targets.share > 0.0 ? targets.count : 0); }
};

inline constexpr double kLargestCenterFactor = 10.0;

/// g = C / sqrt(C^2 - |m|^2): rows of mean m and of mean square C^2 at most have mean square C^2 - |m|^2 at most about
/// m, and noise is measured by C. 1 where rows are scaled to C anyhow.
double center_factor_of(std::span<const double> center, Normalize normalize, double clip_norm);

/// `preprocessing` with `matrix` (m x dim(), row-major) as one more step: selection and an earlier projection P become
/// one projection with it, m x pooled_dim(), so that rows are scaled or clipped once where they were twice; under
/// Normalize::kL2 that is the same row. Precondition (asserted): no intercept yet; whole rows.
Preprocessing with_projection(Preprocessing preprocessing, std::vector<double> matrix);

/// Returns whether `projected` is `rows` followed by a projection and later steps. Its rows can then be computed from
/// rows prepared by `rows` (RowTransform::project).
bool is_projection_of(const Preprocessing& projected, const Preprocessing& rows);

class LatticeWeights;
class RowFactors;

class RowTransform {
 public:
  /// Throws UsageError, in this order, unless: input_dim > 0; 1 <= pool <= input_dim; C is positive and finite. The
  /// center is empty or of length d. The projection has 1 to d rows of d finite entries. Selected indices exist and
  /// ascend. Columns are not both scaled and pooled. Centers of columns and targets are finite, and their scales
  /// positive. Shares are in [0, 1).
  explicit RowTransform(Preprocessing preprocessing);

  /// Sets the share of the intercept for all further rows; 0 is none. The projection is not rounded again. Throws as
  /// the constructor.
  void set_intercept(double share);

  /// Sets the scaling of targets for all further rows, which contain the targets by their share. Throws as the
  /// constructor.
  void set_targets(TargetColumns targets);

  const Preprocessing& preprocessing() const { return preprocessing_; }
  std::size_t input_dim() const { return preprocessing_.input_dim; }
  std::size_t output_dim() const { return preprocessing_.output_dim(); }

  /// Rows that are fast to transform at once.
  std::size_t rows_at_once() const;

  /// Writes the transformed row. `row` has input_dim() entries, `out` output_dim(). Returns false, and writes zeros,
  /// where the row has a NaN or an infinity. Cost: a few d operations, and k d with a projection.
  bool operator()(std::span<const float> row, std::span<double> out) const;

  /// The same for a block of rows, n x input_dim() to n x output_dim(), row-major; is_finite (n entries) becomes what
  /// operator() returns. A row's result does not depend on the others. With a projection n k d integer multiply-adds,
  /// fast for rows_at_once().
  void operator()(std::span<const float> rows, std::span<double> out, std::span<char> is_finite) const;

  /// The same of rows that are on the lattice as they are before the projection, n x pooled_dim(); where is_finite is 0
  /// a row becomes zeros. Precondition (asserted): there is a projection.
  void project(std::span<const std::int16_t> rows, std::span<const char> is_finite, std::span<double> out) const;

  /// Writes the targets of a row, in its label slots, into their entries of `row` (output_dim()), where they are part
  /// of it.
  void put_targets(std::span<const std::int32_t> row_slots, std::span<double> row) const;

 private:
  std::span<double> place_of_w(std::span<double> out) const;
  void finish(std::span<const double> w, bool is_finite, std::span<double> out) const;

  Preprocessing preprocessing_;
  std::shared_ptr<const LatticeWeights> projection_;  // P; none where rows are not projected
  std::shared_ptr<const RowFactors> packed_;          // the same, for products
};

/// sum_a v_a^2 in a fixed order (eight running sums, then pairwise): the same bits for the same v everywhere.
double squared_norm(std::span<const double> v);

/// v <- v C / |v| (kL2), or v min(1, C / |v|) (kNone); zeros stay.
inline void scale_to_clip_norm(std::span<double> v, Normalize normalize, double clip_norm) {
  const double norm = std::sqrt(squared_norm(v));
  if (norm == 0.0 || (normalize == Normalize::kNone && norm <= clip_norm)) return;
  const double factor = clip_norm / norm;
  for (double& entry : v) entry *= factor;
}

}  // namespace dpreduce
