// Squared norms of the sums that a unit's rows add, exact: integers of 128 bits.
//
//     of                 is                                            from
//     a sum              |sum_i q_i|^2                                 products of a few rows; of more, their sum
//     a Gram matrix      |sum_i q_i q_i^T|^2 = sum_ij <q_i, q_j>^2     products of rows; of more than d, the matrix
//     a gradient         |sum_i r_i q_i^T|^2                           products of rows and of residuals, or the
//                          = sum_ij <r_i, r_j> <q_i, q_j>              gradient, whichever takes fewer steps
//
// q_i is a row of d entries with |q_i| <= S, and r_i one of K entries with |r_i| <= S. Products of m rows need m^2 d /
// 2 multiply-adds, and no memory of d^2 or K d words. Squares of the sizes that occur here, for at most 2^32 rows, fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/randomness/secure_bytes.hpp"

namespace dpreduce {

__extension__ using WideSquare = unsigned __int128;
__extension__ using WideSum = __int128;

/// Rows q_i of a unit, one after another. A product of two rows, or any part of it, has magnitude at most S^2 < 2^31.
struct UnitRows {
  const std::int16_t* values;  ///< count x dim
  std::size_t count;
  std::size_t dim;
  std::span<const std::uint32_t> squared_norms{};  ///< |q_i|^2, if known

  const std::int16_t* row(std::size_t index) const { return values + index * dim; }
};

/// Returns |sum_i q_i|^2 over the rows that `members` lists, whose norms are known.
WideSquare squared_sum(const UnitRows& rows, std::span<const std::size_t> members);

/// Returns sum_ij <q_i, q_j>^2 over the rows that `members` lists, at least one, whose norms are known.
WideSquare squared_gram(const UnitRows& rows, std::span<const std::size_t> members);

/// Number of products of `count` rows: pairs of i and j <= i.
constexpr std::size_t products_of_rows(std::size_t count) {
  return count * (count + 1) / 2;
}

/// products[i (i + 1) / 2 + j] <- <q_i, q_j> for j <= i. Precondition (asserted): it has products_of_rows entries.
void make_products(const UnitRows& rows, std::span<std::int32_t> products);

/// Squared norm sum_ij <r_i, r_j> <q_i, q_j> for one unit's rows and any residuals of them. One object serves unit
/// after unit: memory is allocated once.
class SquaredGradient {
 public:
  /// Sets the unit's rows. `products` holds the entries of make_products, or is empty: products are then computed if
  /// they are needed. Both are kept by reference. Preconditions (asserted): at least one class; no products, or
  /// products_of_rows of them. Memory: 6 n^2 + 4 n K bytes with products, else 8 K d, for the largest unit.
  void assign(const UnitRows& rows, std::span<const std::int32_t> products, std::size_t classes);

  /// Returns the squared norm for `residuals`, rows x classes. Precondition (asserted): of that size, after assign.
  WideSquare of(std::span<const std::int16_t> residuals);

 private:
  WideSquare of_gradient(std::span<const std::int16_t> residuals) const;
  WideSum by_entries(std::span<const std::int16_t> residuals) const;
  WideSum by_rows(std::span<const std::int16_t> residuals);

  UnitRows rows_{};
  std::size_t classes_ = 0;
  std::size_t stride_ = 0;
  bool by_products_ = false;
  SecretVector<std::int32_t> made_;
  std::span<const std::int32_t> products_;
  SecretVector<std::int32_t> factors_;  // rows x stride_
  SecretVector<std::int32_t> columns_;  // of residuals, classes x stride_
};

}  // namespace dpreduce
