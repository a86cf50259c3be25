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
#include <vector>

#include "common/base/huge_pages.hpp"
#include "common/kernels/matrix_view.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/noise_plan.hpp"

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

// Clipped units: a unit's sum is scaled down if it is longer than the sum of B rows may be.
//
// Legend: q_i a lattice row of the unit, |q_i| <= S, Y_i its classes (at most k), r_i its residual, |r_i| <= S; B the
// number of rows that a unit's rows count for together; J a whole row, w <= J the unit's weight, s = w / J; [.]
// weigh_row; p the part of B that is for the rows here (row_units.hpp): 1, unless the unit has rows elsewhere.
//
//     sum                  row scaled            squared norm N^2 of what the unit adds                   at most
//     class sums           q' = [s q]            sum_c |sum_{i : c in Y_i} q'_i|^2                      (B p)^2 k S^2
//     Gram matrix          q' = [sqrt(s) q]      sum_ij <q'_i, q'_j>^2                                  (B p)^2 S^4
//     class Gram matrices  q' = [sqrt(s) q]      sum_ij |Y_i and Y_j| <q'_i, q'_j>^2                    (B p)^2 k S^4
//     gradient             r' = [s r]            sum_ij <r'_i, r'_j> <q_i, q_j>                         (B p)^2 S^4
//
// The parts p of a unit sum to at most 1. So by the triangle inequality all rows of the unit add at most B F, where F^2
// is the most that one row adds. All rows of a unit have one weight. The weight is J if N^2 of the unscaled rows is
// within the bound; else about J B p F / N, lowered until N^2 of the scaled rows is within the bound. N^2 is an exact
// integer of 128 bits, computed from the very integers that are summed: nothing about roundings needs to be proved. A
// unit of at most B rows never exceeds the bound: N <= m F. unit_norms.hpp computes N^2. The weight is a function of
// the unit's own rows alone (and, for gradients, of the public point). Proof: as above.

/// Sums that a unit's rows are added to.
enum class UnitSum { kClassSums, kGram, kClassGrams };

/// Weight of every row of the chunk: the weight of its unit for this sum. `scaled`, n x d or empty, receives the rows
/// that are not whole, scaled. The result is the same for any number of threads. Preconditions (asserted): has_units();
/// the rows of a unit follow one another, and are all in the chunk (not checked); rows_per_unit >= 1; `scaled` is empty
/// or of that size. Memory: a unit's rows once more, per thread, without `scaled`; d^2 words if a unit has more than d
/// rows.
std::vector<RowWeight> clipped_weights(const LatticeRows& chunk, UnitSum sum, std::uint64_t rows_per_unit,
                                       unsigned threads, std::span<std::int16_t> scaled = {});

/// Largest number of rows of a unit whose products are remembered.
inline constexpr std::size_t kMostRemembered = 64;
/// Largest number of bytes remembered per row: its products, and their place.
inline constexpr std::size_t kBytesRememberedOfRow = 4 * (kMostRemembered + 1) / 2 + sizeof(std::size_t);

/// Remembers inner products of units' rows in the chunk, 4 bytes each, for units with at most kMostRemembered rows. For
/// rows that are passed over many times. Preconditions: as of clipped_weights.
void remember_products(LatticeRows& chunk, unsigned threads);

/// Scales the residuals of one unit's rows [first, first + n) of the chunk, n x `classes` lattice residuals.
/// Preconditions (asserted): whole residuals; |r| <= S. Memory: that of SquaredGradient.
void clip_residuals(const LatticeRows& chunk, std::size_t first, std::span<std::int16_t> residuals, std::size_t classes,
                    std::uint64_t rows_per_unit);

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
