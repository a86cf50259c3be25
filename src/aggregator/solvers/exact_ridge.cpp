#include "aggregator/solvers/exact_ridge.hpp"

#include <cmath>
#include <cstddef>
#include <stdexcept>

#include <lapacke.h>

#include "aggregator/solvers/blas.hpp"
#include "common/base/error.hpp"

namespace dpreduce {

void solve_exact_ridge(std::span<double> gram, double ridge, std::span<double> rows) {
  const auto dim = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(gram.size()))));
  DPREDUCE_ASSERT(dim > 0 && gram.size() == dim * dim && rows.size() % dim == 0);
  use_one_blas_thread();
  for (std::size_t i = 0; i < dim; ++i) gram[i * dim + i] += ridge;
  // The upper triangle by rows is the lower one by columns, and rows are LAPACK's right-hand sides.
  const auto order = static_cast<lapack_int>(dim);
  const auto count = static_cast<lapack_int>(rows.size() / dim);
  if (LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', order, count, gram.data(), order, rows.data(), order) != 0) {
    throw std::runtime_error("a Gram matrix with its ridge is not positive definite; give a larger --lambda");
  }
}

}  // namespace dpreduce
