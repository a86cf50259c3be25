// Exact integer products of lattice rows: the hot path of every method.
//
// Legend: A is n x p, B is n x q, one row a record, int16 values in [-32767, 32767]; C is int64 in Z mod 2^64. Results
// are exact, so they are the same bits for every kernel, every number of threads and every split of the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "common/kernels/matrix_view.hpp"
#include "common/kernels/thread_team.hpp"

namespace dpreduce {

// Energies of rows that take part in many products, measured once: rows that are kept from round to round.
//
// Legend: as packed_panels.hpp, in units of 1024; q is n x d.
//
//     of_rows[i]          at least max_l sum over k = 2 l, 2 l + 1 mod 32 of q_ik^2       (what a lane of 16 sums)
//     of_columns[s][g]    at least max over columns a of [16 g, 16 g + 16) of the sum of q_ia^2 over rows
//                         [64 s, 64 s + 64)
//
// A kernel of 8 lanes sums two of the first in a lane.

struct KnownEnergies {
  std::vector<std::uint32_t> of_rows;     ///< n
  std::vector<std::uint32_t> of_columns;  ///< ceil(n / 64) x ceil(d / 16)

  /// `rows`, of which these are the energies; it outlives neither them nor its values. None: as it is.
  Int16View with(Int16View rows) const {
    if (!of_rows.empty()) rows.energies = {of_rows.data(), of_columns.data()};
    return rows;
  }
};

/// Entries of C that a product computes.
enum class ProductPart { kFull, kUpperTriangle };

/// Takes the products of some rows, from `first_row` on, with all others: rows x m, which last for the call.
using VisitProducts = std::function<void(std::size_t first_row, const Int64View& products)>;

/// B of products A B^T, rearranged once for any number of A: the weights of a round, a projection. Made by
/// IntegerKernel::row_factors. Holds no state beside: one object serves all threads.
class RowFactors {
 public:
  virtual ~RowFactors() = default;

  /// Number of rows of A that are fast at a time, and few enough that what becomes of them stays in the cache.
  std::size_t block_rows() const { return block_rows_; }

  /// C += A B^T, on this thread.
  /// Shapes: A n x d, B m x d, C n x m. Cost: n m d multiply-adds.
  /// Preconditions: as IntegerKernel::accumulate_row_products.
  void accumulate(const Int16View& a, const Int64View& c) const;

  /// Calls `visit` with A_block B^T for blocks of rows of A, each once, in any order and on any thread of the team: n x
  /// m products of which a few rows are held at a time.
  /// Preconditions: as accumulate.
  void visit(const Int16View& a, ThreadTeam& team, const VisitProducts& visit) const;

 protected:
  /// `block_rows` rows of A are a block.
  RowFactors(const Int16View& b, std::size_t block_rows) : b_(b), block_rows_(block_rows) {}
  const Int16View& factors() const { return b_; }

 private:
  // C += the rows' products. Shapes are checked.
  virtual void add(const Int16View& a, const Range& rows, const Int64View& c) const = 0;

  Int16View b_;
  std::size_t block_rows_;
};

/// Method of computing the products. Kernels hold no state: one object serves all threads.
class IntegerKernel {
 public:
  virtual ~IntegerKernel() = default;

  /// The name that forces this kernel (select_kernel).
  virtual std::string_view name() const = 0;

  /// C += A^T B.
  /// Shapes: A n x p, B n x q, C p x q; any of n, p, q may be 0. Cost: n p q multiply-adds on `threads` threads.
  /// Preconditions (asserted): A.rows = B.rows; C is p x q; strides >= columns; no null data of a non-empty view;
  /// threads >= 1; no value is -32768 (found while C is being written: C is then unspecified).
  void accumulate_product(const Int16View& a, const Int16View& b, const Int64View& c, unsigned threads = 1) const;

  /// C(i, j) += (A^T A)(i, j) for i <= j; entries below the diagonal are left as they are.
  /// Shapes: A n x p, C p x p. Cost: n p (p + 1) / 2 multiply-adds.
  /// Preconditions: as accumulate_product.
  void accumulate_gram(const Int16View& a, const Int64View& c, unsigned threads = 1) const;

  /// C += A B^T: all dot products of rows of A with rows of B (logits).
  /// Shapes: A n x d, B m x d, C n x m.
  /// Preconditions: as accumulate_product, with A.cols = B.cols.
  void accumulate_row_products(const Int16View& a, const Int16View& b, const Int64View& c, unsigned threads = 1) const;

  /// B, packed as this kernel wants it. `b` and its values outlive the result.
  /// Memory: 2 m d bytes and what padding needs. Cost: a copy of B.
  /// Preconditions: as accumulate_row_products.
  std::unique_ptr<const RowFactors> row_factors(const Int16View& b) const;

  /// Energies of rows that take part in many products. With them a product reads its rows once, and has the same bits.
  /// Cost: two readings. Preconditions: as accumulate_product.
  KnownEnergies measure(const Int16View& a, unsigned threads = 1) const;

 protected:
  // The above; B's shape is checked. Unless a kernel knows better, B is used as it lies.
  virtual std::unique_ptr<const RowFactors> make_row_factors(const Int16View& b) const;
  // The above; A's shape is checked. Nothing, unless a kernel uses energies.
  virtual KnownEnergies measured(const Int16View& a, ThreadTeam& team) const;

 private:
  void accumulate_checked(const Operand& a, const Operand& b, ProductPart part, const Int64View& c,
                          unsigned threads) const;

  // C(i, j) += sum_k A(k, i) B(k, j), for i <= j only where `part` says so (then A and B are one matrix). Shapes are
  // checked and not empty.
  virtual void accumulate(const Operand& a, const Operand& b, ProductPart part, const Int64View& c,
                          unsigned threads) const = 0;
};

}  // namespace dpreduce
