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

#include "common/kernels/instruction_set.hpp"
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

class IntegerKernel;
class RowDots;

/// B of products A B^T, rearranged once for any number of A: the weights of a round, a projection. Made by
/// IntegerKernel::row_factors. Holds no state beside: one object serves all threads.
class RowFactors {
 public:
  /// `kernel`, `b` and its values outlive it.
  RowFactors(const IntegerKernel& kernel, const Int16View& b);
  ~RowFactors();

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

 private:
  friend class IntegerKernel;
  // True if B is packed for products along rows: otherwise tiles are faster.
  static bool are_packed(const Int16View& b);
  // accumulate, blocks of rows on the threads of the team. Shapes are not checked.
  void accumulate_on(ThreadTeam& team, const Int16View& a, const Int64View& c) const;
  // Calls work(rows) for each block of rows.
  template <typename Work>
  void for_each_block(ThreadTeam& team, std::size_t rows, const Work& work) const;
  // C += the rows' products. Shapes are checked.
  void add(const Int16View& a, const Range& rows, const Int64View& c) const;

  const IntegerKernel& kernel_;
  Int16View b_;
  std::size_t block_rows_;
  std::vector<RowDots> parts_;  // packed runs of the columns, in order; none where tiles are faster
};

// The loops around a micro-kernel: which rows are packed, which tiles are computed, where sums are widened.
//
//     for each range of at most 4096 columns of A, of B      (bounds the memory: 16 MiB of packed values an operand)
//       for each block of 2048 rows
//         pack the block, stripe by stripe                   (threads share the stripes)
//         for each panel of A and panel of B                 (threads share these)
//           for each safe segment of the block               (packed_panels.hpp)
//             C tile += micro-kernel(segment), widened to int64
//
// A panel of B stays in the second-level cache while the panels of A pass. Cost of packing: O(n (p + q)), against n p
// q. Where one side is small, or both are summed along their rows, nothing large is packed (row_products.cpp).

/// The products, by the loops of one instruction set. Kernels hold no state: one object serves all threads.
class IntegerKernel {
 public:
  explicit IntegerKernel(const MicroKernel& micro) : micro_(micro) {}

  const MicroKernel& micro() const { return micro_; }
  /// The name that forces this kernel (select_kernel).
  std::string_view name() const { return micro_.name; }

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

 private:
  // C(i, j) += sum_k A(k, i) B(k, j), for i <= j only where `part` says so (then A and B are one matrix).
  void accumulate(const Operand& a, const Operand& b, ProductPart part, const Int64View& c, unsigned threads) const;
  // C += A^T B: both summed over their rows, A of few columns.
  void accumulate_outer(ThreadTeam& team, const Operand& a, const Operand& b, const Int64View& c) const;

  MicroKernel micro_;
};

/// The kernels that this processor can run, plainest first; found once, at the first call.
const std::vector<IntegerKernel>& supported_kernels();

/// The fastest supported kernel for "auto", else the one of that name: portable, avx2, avx512-vnni.
/// Throws UsageError where the name is unknown or the processor cannot run that kernel.
const IntegerKernel& select_kernel(std::string_view name = "auto");

}  // namespace dpreduce
