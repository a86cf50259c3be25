// Rows on the lattice: their computation from float rows, and the similarity of two of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/base/huge_pages.hpp"
#include "common/data/element_conversion.hpp"
#include "common/data/label_slots.hpp"
#include "common/data/row_units.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/lattice/row_transform.hpp"

namespace dpreduce {

// Rounding of float rows to integer rows with a proven norm.
//
// Legend: u is a transformed row with ||u||_2 <= C up to rounding, S = 32767 the lattice's norm bound, d the dimension.
//
//     scale = (S - ceil(sqrt(d) / 2)) / C        q_a = round(u_a * scale)        sum_a q_a^2 <= S^2, checked in
//     integers
//
// Rounding moves a row by at most sqrt(d) / 2, so a clipped row passes the check; one that does not (by an ulp) is
// shrunk and tried again, and counts as zero if it still fails. scale and S are public constants, never maxima of the
// data. The proof: docs/explanation/sensitivities.md, "Rows on the lattice".

/// S: the integer L2 norm that no lattice row exceeds, and so the exact sensitivity of a sum of rows.
inline constexpr std::int64_t kLatticeNorm = 32767;

/// The public map between feature units and lattice units.
struct Lattice {
  double clip_norm = 1.0;  ///< C
  std::size_t dim = 0;     ///< d

  /// Lattice units per feature unit, (S - ceil(sqrt(d)/2)) / C.
  double scale() const;
};

/// Writes q (d entries) for one transformed row u, by the equations above. Returns false where the row had to be
/// zeroed.
bool quantize_row(std::span<const double> u, const Lattice& lattice, std::span<std::int16_t> q);

/// A chunk of n x d lattice rows (row-major, one row a record) with n x k label slots (label_slots.hpp).
class LatticeRows {
 public:
  /// Precondition (asserted): labels_per_row >= 1.
  LatticeRows(const Lattice& lattice, std::size_t capacity, std::size_t labels_per_row = 1);

  const Lattice& lattice() const { return lattice_; }
  std::size_t rows() const { return counts_.size(); }
  std::size_t dim() const { return lattice_.dim; }
  std::span<const std::int16_t> row(std::size_t index) const { return {values_.data() + index * dim(), dim()}; }
  const std::int16_t* values() const { return values_.data(); }
  /// n x k slots.
  std::span<const std::int32_t> labels() const { return labels_; }
  std::size_t labels_per_row() const { return labels_per_row_; }
  /// The classes of a row, ascending: none where it is of no class, or counts nowhere.
  std::span<const std::int32_t> classes_of(std::size_t row) const {
    return classes_in(slots_of(labels_, labels_per_row_, row));
  }
  /// Returns whether the row counts: in sums over all rows, whatever its classes.
  bool counts(std::size_t row) const { return counts_[row] != 0; }

  /// ||q||^2 of a row.
  std::uint32_t squared_norm(std::size_t row) const { return squared_norms_[row]; }

  /// Returns whether rows have weights (row_units.hpp); else each is a whole row.
  bool has_weights() const { return !weights_.empty(); }
  std::span<const RowWeight> weights() const { return weights_; }
  RowWeight weight(std::size_t row) const { return weights_.empty() ? kWholeRow : weights_[row]; }
  /// Gives the rows weights. Precondition (asserted): one a row.
  void set_weights(std::vector<RowWeight> weights);

  /// Returns whether the worker knows whose rows these are. unit() returns the unit of a row, by the worker's number
  /// (row_units.hpp).
  bool has_units() const { return !units_.empty(); }
  std::uint32_t unit(std::size_t row) const { return units_[row]; }
  /// Share of the unit's bound that is for these rows.
  UnitPart part_of_unit(std::size_t row) const { return parts_ ? (*parts_)[units_[row]] : UnitPart{}; }
  /// Sets the unit of each row, and the part of the unit's bound that is for these rows; without `parts` all of it.
  /// Precondition (asserted): one unit a row, each among the parts, if any.
  void set_units(std::vector<std::uint32_t> units, std::shared_ptr<const UnitParts> parts = {});
  /// The row behind those of the unit whose row `first` is, as far as they follow one another. Precondition:
  /// has_units().
  std::size_t end_of_unit(std::size_t first) const;

  /// Products <q_i, q_j>, j <= i, of the unit whose first row is `first`, rows counted from there, row-major; empty if
  /// they are not remembered.
  std::span<const std::int32_t> products_of_unit(std::size_t first) const;
  /// Remembers them until the rows change: `products` of units one behind the other, from firsts[row] on for the
  /// unit whose first row is `row`, firsts[row] = firsts[row + 1] where there are none. Precondition (asserted): one
  /// more of `firsts` than rows.
  void set_products(std::vector<std::int32_t> products, std::vector<std::size_t> firsts);

  /// The row with a NaN, an infinity or too many classes that has the smallest index, or rows() where none has.
  std::size_t first_bad_row() const { return first_bad_row_; }

  /// Replaces the content: transforms and rounds the rows of `features` (row-major, transform.input_dim() columns) with
  /// their slots, without weights and units, on `threads` threads, each of which decodes what it transforms. A row with
  /// a NaN, an infinity or more classes than slots becomes zero without classes and counts nowhere. If rows have
  /// targets, slots hold these (label_slots.hpp). Rows are independent of each other: the result does not depend on
  /// `threads`. At most `capacity` rows.
  void assign(const RowTransform& transform, const StoredFloats& features, std::span<const std::int32_t> labels,
              unsigned threads);
  /// The same of rows that lie apart, one after the other.
  void assign(const RowTransform& transform, std::span<const StoredFloats> rows, std::span<const std::int32_t> labels,
              unsigned threads);

  /// Assigns rows that are prepared as `transform` does but for its projection and what comes after it
  /// (is_projection_of), with their weights and units: the result is as if `transform` had assigned them. Precondition
  /// (asserted): as many slots a row.
  void assign_projected(const RowTransform& transform, const LatticeRows& rows, unsigned threads);

  /// Measures the rows' energies, for many products of them, until they are replaced. Cost: two readings.
  void measure_energies(unsigned threads);
  /// Energies of the rows; nothing if they were not measured.
  const KnownEnergies& energies() const { return energies_; }

  /// Drops all rows.
  void clear();

  /// Copies one row of `from`, with its slots, weight and unit, behind the last. Preconditions (asserted): equal
  /// dimensions, and as many slots a row; fewer than `capacity` rows; the row exists.
  void append(const LatticeRows& from, std::size_t index);

 private:
  // `write` transforms a block of rows, and `fetch` asks for a part of the rows after it, in so many rows at once.
  template <typename Write, typename Fetch>
  void assign_stored(const RowTransform& transform, const Write& write, const Fetch& fetch, std::size_t block_rows,
                     std::span<const std::int32_t> labels, unsigned threads);

  Lattice lattice_;
  std::size_t capacity_;
  LargeUnsetVector<std::int16_t> values_;  // set up to rows()
  std::size_t labels_per_row_;
  std::vector<std::int32_t> labels_;
  std::vector<char> counts_;
  std::vector<std::uint32_t> squared_norms_;
  std::vector<RowWeight> weights_;  // none: whole rows
  std::vector<std::uint32_t> units_;
  std::shared_ptr<const UnitParts> parts_;
  std::vector<std::int32_t> products_;
  std::vector<std::size_t> first_products_;
  KnownEnergies energies_;
  std::size_t first_bad_row_ = 0;
};

// Similarity of two lattice rows, in exact integers between public bounds.
//
//     s(q, z) = S^2 + <q, z>, in [0, 2 S^2]            1 + cos(q, z) in units of 1 / S^2, for rows of length near S
//     u(q, z) = clip(s(q, z), lower, upper) - lower    in [0, upper - lower]
//
// Rows on the lattice are a little shorter than S, at d = 1280 by 0.06 %: cosines are read short by
// twice that. Source: [wahdany2025], DPPL-Public, its distance clipped to [d_min, d_max].

struct CosineClip {
  std::int64_t lower = 0;
  std::int64_t upper = 2 * kLatticeNorm * kLatticeNorm;

  /// Returns whether some pair of rows is clipped: if not, sums of u are sums of <q, z> but for a constant.
  bool is_active() const { return lower > 0 || upper < 2 * kLatticeNorm * kLatticeNorm; }
  /// The most that u may be.
  std::uint64_t range() const { return static_cast<std::uint64_t>(upper - lower); }
};

/// lower = round(d_min S^2), upper = round(d_max S^2). Throws UsageError unless 0 <= d_min < d_max <= 2, and they are
/// apart on the lattice.
CosineClip cosine_clip(double d_min, double d_max);

// Weights of linear scores on the lattice, so that the scores of a row are exact integer dot products: the same bits
// for any other rows beside it.
//
// Legend: W is K x d weights, w_c its rows, q a lattice row, S = 32767, scale = lattice units per feature unit.
//
//     t_c = S / max_a |W_ca|      w_ca = round(t_c W_ca)      score_c = <q, w_c> * factor_c,  factor_c = 1 / (scale
//     t_c)
//
// Weights are public, so t_c may be their own maximum: rounding them spends no privacy.

/// Weights of linear scores; copies share their values.
class LatticeWeights {
 public:
  LatticeWeights() = default;
  /// K x d weights (row-major) for rows on `lattice`. Throws UsageError where the size is no multiple of d, or an entry
  /// is above 1e100 or no number.
  LatticeWeights(std::span<const double> weights, const Lattice& lattice);

  /// Weights with these values() and largest(), as they are sent or archived: unchecked, and of no dimension.
  LatticeWeights(std::vector<std::int16_t> values, std::vector<double> largest)
      : values_(std::make_shared<std::vector<std::int16_t>>(std::move(values))), largest_(std::move(largest)) {}

  /// The weights with these values() and largest(), of K x d and K entries, for rows on `lattice`. Throws
  /// AggregationAborted where a largest entry is not within 0 and 1e100, or a value is below -S. Precondition
  /// (asserted): sizes are as said.
  LatticeWeights on(const Lattice& lattice) const;

  std::size_t classes() const { return largest_.size(); }
  std::size_t dim() const { return dim_; }
  /// w, K x d, row-major.
  std::span<const std::int16_t> values() const { return *values_; }
  Int16View view() const { return {values().data(), classes(), dim_, dim_}; }
  /// The same, which nobody may ask for again, of no copy either.
  std::vector<std::int16_t> take_values() { return std::move(*values_); }
  /// factor_c; 0 for a class whose weights are all 0.
  std::span<const double> factors() const { return factors_; }
  /// max_a |W_ca|; 0 for a class whose factor is.
  std::span<const double> largest() const { return largest_; }

  /// Archives values and largest; read into weights without copies, which are then unchecked.
  template <typename Archive>
  void serialize(Archive& archive, unsigned) {
    archive_all(archive, *values_, largest_);
  }

 private:
  std::size_t dim_ = 0;
  std::shared_ptr<std::vector<std::int16_t>> values_ = std::make_shared<std::vector<std::int16_t>>();
  std::vector<double> largest_;
  std::vector<double> factors_;
};

/// W_ca = w_ca largest_c / S, and exactly largest_c where |w_ca| = S: of values and largest() of lattice weights,
/// weights that become the same lattice weights, bit for bit, factors and all, on a lattice of any scale. (Largest
/// entries are the same, so t_c is; w_ca is off by a few units of rounding before it is rounded.) Precondition
/// (asserted): rows are of one length.
std::vector<double> weights_of(std::span<const std::int16_t> values, std::span<const double> largest);

}  // namespace dpreduce
