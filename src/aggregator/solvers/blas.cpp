#include "aggregator/solvers/blas.hpp"

#include <cstdio>
#include <mutex>
#include <new>
#include <stdexcept>

#include <cblas.h>
#include <lapacke.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/error.hpp"

extern "C" void openblas_set_num_threads(int count);
extern "C" int openblas_get_num_threads();

namespace dpreduce {
namespace {

// The number of BLAS threads is the process's: so is what it was before the first of those who want one.
struct KeptThreads {
  std::mutex mutex;
  int holders = 0;
  int threads = 1;
};
KeptThreads kept_threads;

// Rows of `dim` entries each times a matrix, dim x dim, or times the transpose of other such rows.
std::vector<double> matrix_product(std::span<const double> rows, std::span<const double> other, std::size_t dim,
                                   CBLAS_TRANSPOSE transpose) {
  use_one_blas_thread();
  const std::size_t count = rows.size() / dim;
  const std::size_t columns = other.size() / dim;
  const auto order = static_cast<int>(dim);
  std::vector<double> products(count * columns);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, transpose, static_cast<int>(count), static_cast<int>(columns), order, 1.0,
              rows.data(), order, other.data(), order, 0.0, products.data(), static_cast<int>(columns));
  return products;
}

}  // namespace

void use_one_blas_thread() {
  openblas_set_num_threads(1);
}

std::vector<double> rows_times(std::span<const double> rows, std::span<const double> matrix, std::size_t dim) {
  return matrix_product(rows, matrix, dim, CblasNoTrans);
}

std::vector<double> inner_products(std::span<const double> one, std::span<const double> other, std::size_t dim) {
  return matrix_product(one, other, dim, CblasTrans);
}

std::vector<double> gram_of(std::span<const double> rows, std::size_t dim) {
  use_one_blas_thread();
  const auto order = static_cast<int>(dim);
  std::vector<double> gram(dim * dim);
  cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, order, static_cast<int>(rows.size() / dim), 1.0, rows.data(),
              order, 0.0, gram.data(), order);
  return gram;
}

std::vector<double> orthonormal_rows(std::vector<double> rows, std::size_t dim) {
  DPREDUCE_ASSERT(rows.size() <= dim * dim);
  use_one_blas_thread();
  const auto length = static_cast<lapack_int>(dim);
  const auto count = static_cast<lapack_int>(rows.size() / dim);
  std::vector<double> factors(rows.size() / dim);
  // Rows are LAPACK's columns.
  require_lapack(LAPACKE_dgeqrf(LAPACK_COL_MAJOR, length, count, rows.data(), length, factors.data()));
  require_lapack(LAPACKE_dorgqr(LAPACK_COL_MAJOR, length, count, count, rows.data(), length, factors.data()));
  return rows;
}

void require_lapack(int info) {
  if (info == LAPACK_WORK_MEMORY_ERROR) throw std::bad_alloc();
  if (info != 0) throw std::runtime_error("the eigenvalues of the released Gram matrix do not converge");
}

KeptBlasThreads::KeptBlasThreads() {
  const std::lock_guard lock(kept_threads.mutex);
  if (kept_threads.holders++ > 0) return;
  kept_threads.threads = openblas_get_num_threads();
  use_one_blas_thread();
}

KeptBlasThreads::~KeptBlasThreads() {
  const std::lock_guard lock(kept_threads.mutex);
  if (--kept_threads.holders == 0) openblas_set_num_threads(kept_threads.threads);
}

void take_blas_memory() {
  // BUFFER_SIZE of OpenBLAS, 32 << 22 on x86-64 and ARM, which it maps at once; and some room.
  constexpr std::size_t kBytes = (std::size_t{32} << 22) + (std::size_t{16} << 20);
  static const bool is_taken = [] {
    void* const probe =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe == MAP_FAILED) {
      // OpenBLAS' own threads may be trying already, and its end would wait for them: this process ends without it.
      const auto end_at_once = [](int status, void*) {
        std::fflush(nullptr);
        ::_exit(status);
      };
      ::on_exit(end_at_once, nullptr);
      throw UsageError(
          "not enough memory: this process cannot map the {} MiB that OpenBLAS needs; raise its limits "
          "(ulimit -v, ulimit -d)",
          kBytes >> 20);
    }
    ::munmap(probe, kBytes);
    // Smaller products are made without that memory.
    constexpr int kOrder = 128;
    const std::vector<double> matrix(static_cast<std::size_t>(kOrder) * kOrder, 1.0);
    std::vector<double> product(matrix.size());
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kOrder, kOrder, kOrder, 1.0, matrix.data(), kOrder,
                matrix.data(), kOrder, 0.0, product.data(), kOrder);
    return true;
  }();
  DPREDUCE_ASSERT(is_taken);
}

}  // namespace dpreduce
