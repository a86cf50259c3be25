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
// the unit's own rows alone (and, for gradients, of the public point). Proof: as of weighted_rows.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {

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

}  // namespace dpreduce
