// Weights of linear scores on the lattice, so that the scores of a row are exact integer dot products: the same bits
// for any other rows beside it.
//
// Legend: W is K x d weights, w_c its rows, q a lattice row, S = 32767, scale = lattice units per feature unit.
//
//     t_c = S / max_a |W_ca|      w_ca = round(t_c W_ca)      score_c = <q, w_c> * factor_c,  factor_c = 1 / (scale
//     t_c)
//
// Weights are public, so t_c may be their own maximum: rounding them spends no privacy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/kernels/matrix_view.hpp"
#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {

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
