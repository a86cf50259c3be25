// Settings of OpenBLAS, and products by it. It computes on released numbers: results have the same bits for any number
// of threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dpreduce {

/// Makes BLAS and LAPACK use one thread from here on: with several, the order of their sums depends on the number of
/// threads.
void use_one_blas_thread();

/// Rows of `dim` entries each times a matrix, dim x dim, on one thread.
std::vector<double> rows_times(std::span<const double> rows, std::span<const double> matrix, std::size_t dim);

/// one other^T of rows of `dim` entries each, on one thread.
std::vector<double> inner_products(std::span<const double> one, std::span<const double> other, std::size_t dim);

/// rows^T rows of rows of `dim` entries each, dim x dim, of which the upper triangle is set; on one thread.
std::vector<double> gram_of(std::span<const double> rows, std::size_t dim);

/// Orthonormal rows, as many, whose span holds that of `rows`, on one thread. Precondition (asserted): at most `dim`
/// rows. Source: LAPACK's dgeqrf and dorgqr.
std::vector<double> orthonormal_rows(std::vector<double> rows, std::size_t dim);

/// Throws unless LAPACK has succeeded: std::bad_alloc without memory, else std::runtime_error, since eigenvalues did
/// not converge.
void require_lapack(int info);

/// Keeps use_one_blas_thread in force while one lives. After the last of them, in whatever order threads drop theirs,
/// BLAS works on as many threads again as before the first. For programs that have uses of BLAS of their own.
class KeptBlasThreads {
 public:
  KeptBlasThreads();
  ~KeptBlasThreads();
  KeptBlasThreads(const KeptBlasThreads&) = delete;
  KeptBlasThreads& operator=(const KeptBlasThreads&) = delete;
};

/// Makes OpenBLAS allocate its working memory, once per process, for one thread at a time. Otherwise it allocates at
/// first use, and retries for ever if the process may not have that much. Throws UsageError if there is not enough;
/// call it before anything is spent.
void take_blas_memory();

}  // namespace dpreduce
