// Rows that count for less than a whole row, for a unit of privacy that consists of all rows of one person.
//
// Legend: q a lattice row, ||q|| <= S; w its weight in units of 1 / J (common/data/row_units.hpp), J a whole row;
// s = w / J. A unit's rows have sum s <= B.
//
//     statistic          what is summed of a row       its norm, checked in integers      a unit's rows together
//     sums of rows       q' = [s q]                    ||q'||^2 <= floor(s^2 S^2)         <= B S
//     sums of q q^T      q' = [sqrt(s) q]              ||q'||^2 <= floor(s S^2)           <= B S^2, since
//                                                      ||q' q'^T||_F = ||q'||^2
//     gradients r q^T    r' = [s r]                    ||r'||^2 <= floor(s^2 S^2)         <= B S^2
//
// [x] rounds to the nearest integers. A result that is longer than the checked norm is rounded toward zero instead, by
// a factor a little smaller, so that no entry exceeds the real one. If the row were still too long, it would count as
// zero. A whole row stays as it is, bit by bit. A row's result is a function of the row and its weight alone. Proof:
// docs/explanation/persons.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/base/huge_pages.hpp"
#include "common/kernels/matrix_view.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/noise_plan.hpp"
#include "worker/clipped_units.hpp"

namespace dpreduce {

/// Power of s by which a row is scaled.
enum class WeightPower {
  kHalf,  ///< sqrt(s): for q q^T
  kWhole  ///< s: for q, and for one factor of a product
};

/// out = [s^power q]; ||out||^2 <= floor(s^(2 power) S^2). `out` may be `q`. Preconditions: equal sizes; ||q|| <= S;
/// weight <= J.
void weigh_row(std::span<const std::int16_t> q, RowWeight weight, WeightPower power, std::span<std::int16_t> out);
/// Writes the same for rows of `dim` entries each, one after the other, and ||out||^2 of each. Preconditions
/// (asserted): weight < J; equal sizes, one norm a row. `out` is not `rows`.
void weigh_rows(std::span<const std::int16_t> rows, std::size_t dim, RowWeight weight, WeightPower power,
                std::span<std::int16_t> out, std::span<std::uint32_t> squared_norms);

/// Rounds each q_a toward zero from at most sqrt(s) q_a, so that no |q_a| is above sqrt(s) times what it was: for
/// weighing rows of other norms than S. Precondition (asserted): weight <= J.
void shrink_row(std::span<std::int16_t> q, RowWeight weight);

/// floor(s value), toward zero, for a count or a utility of one row. Preconditions: 0 <= value < 2^39; weight <= J.
constexpr std::int64_t weighed(std::int64_t value, RowWeight weight) {
  return (value * static_cast<std::int64_t>(weight)) >> kWeightBits;
}

/// Amount that a row adds to a count of a block with `fraction_bits`: 1, or its weight in units of 1 / J. Precondition
/// (asserted): rows with weights are counted in these units, other rows in units of 1.
std::int64_t count_of_row(const LatticeRows& chunk, std::size_t row, unsigned fraction_bits);

/// counts_c += the amounts that the rows of class c add, for every class.
void accumulate_counts(const LatticeRows& chunk, unsigned fraction_bits, std::span<std::int64_t> counts);

/// Rows of a chunk in the form in which they are summed: weighed, or scaled by clipping each unit; the chunk's own rows
/// if all of them are whole.
class WeightedRows {
 public:
  /// Weighs rows for a statistic whose units are never clipped.
  explicit WeightedRows(WeightPower power) : power_(power) {}
  /// Weighs rows for the sum `sum`, as `request` bounds units.
  WeightedRows(UnitSum sum, const ReleaseRequest& request);

  /// Returns the chunk's rows as they are summed. Valid until the next call, and as long as the chunk. Cost: n d
  /// roundings on `threads` threads, and 2 d bytes a row; for clipped units, the cost of clipped_weights. Precondition
  /// for clipped units: that of clipped_weights.
  Int16View of(const LatticeRows& chunk, unsigned threads);
  /// Same with these weights, which are known.
  Int16View of(const LatticeRows& chunk, std::span<const RowWeight> weights, unsigned threads);

 private:
  std::span<std::int16_t> room_for(const LatticeRows& chunk);

  WeightPower power_;
  std::optional<UnitSum> clipped_;
  std::uint64_t rows_per_unit_ = 1;
  LargeVector<std::int16_t> rows_;
};

}  // namespace dpreduce
