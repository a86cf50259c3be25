// Exact integer products of lattice rows: the hot path of every method.
//
// Legend: A is n x p, B is n x q, one row a record, int16 values in [-32767, 32767]; C is int64 in Z mod 2^64. Results
// are exact, so they are the same bits for every kernel, every number of threads and every split of the rows.
#pragma once

#include <functional>
#include <string_view>

#include "common/kernels/operand.hpp"

namespace dpreduce {

/// Seconds for which products that this thread asked for have packed operands, since the thread began. For benchmarks.
double packing_seconds();

/// Which entries of C a product computes.
enum class ProductPart { kFull, kUpperTriangle };

/// Takes the products of some rows, from `first_row` on, with all others: rows x m, which last for the call.
using VisitProducts = std::function<void(std::size_t first_row, const Int64View& products)>;

/// One way to compute the products. Kernels hold no state: one object serves all threads.
class IntegerKernel {
 public:
  virtual ~IntegerKernel() = default;

  /// The name that forces this kernel (select_kernel).
  virtual std::string_view name() const = 0;

  /// C += A^T B.
  /// Shapes: A n x p, B n x q, C p x q; any of n, p, q may be 0. Cost: n p q multiply-adds on `threads` threads.
  /// Preconditions: A.rows = B.rows; C is p x q; strides >= columns; no null data of a non-empty view; threads >= 1;
  /// no value is -32768 (found while C is being written: C is then unspecified).
  /// Throws UsageError for each.
  void accumulate_product(const Int16View& a, const Int16View& b, const Int64View& c, unsigned threads = 1) const;

  /// C(i, j) += (A^T A)(i, j) for i <= j; entries below the diagonal are left as they are.
  /// Shapes: A n x p, C p x p. Cost: n p (p + 1) / 2 multiply-adds.
  /// Preconditions and errors: as accumulate_product.
  void accumulate_gram(const Int16View& a, const Int64View& c, unsigned threads = 1) const;

  /// C += A B^T: all dot products of rows of A with rows of B (logits).
  /// Shapes: A n x d, B m x d, C n x m.
  /// Preconditions and errors: as accumulate_product, with A.cols = B.cols.
  void accumulate_row_products(const Int16View& a, const Int16View& b, const Int64View& c, unsigned threads = 1) const;

  /// Calls `visit` with A_block B^T for blocks of rows of A, each once, in any order and on any of the threads: n x m
  /// products of which a few rows are held at a time.
  /// Preconditions and errors: as accumulate_row_products.
  void for_each_row_products(const Int16View& a, const Int16View& b, const VisitProducts& visit,
                             unsigned threads = 1) const;

 protected:
  // The above; shapes are checked, and there is a row. Unless a kernel knows better, 1024 rows are a product.
  virtual void visit_row_products(const Int16View& a, const Int16View& b, const VisitProducts& visit,
                                  unsigned threads) const;

 private:
  // C(i, j) += sum_k A(k, i) B(k, j), for i <= j only where `part` says so (then A and B are one matrix). Shapes are
  // checked and not empty.
  virtual void accumulate(const Operand& a, const Operand& b, ProductPart part, const Int64View& c,
                          unsigned threads) const = 0;
};

}  // namespace dpreduce
