#include "dpreduce/aggregator/gram_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <Eigen/Core>
#include <lapacke.h>

#include "dpreduce/aggregator/blas.hpp"
#include "dpreduce/config/error.hpp"
#include "dpreduce/privacy/triangle.hpp"

namespace dpreduce {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

double shrunk_eigenvalue(double eigenvalue, double noise_radius) {
  if (eigenvalue < 2.0 * noise_radius) return 0.0;
  return 0.5 * (eigenvalue + std::sqrt(eigenvalue * eigenvalue - 4.0 * noise_radius * noise_radius));
}

std::vector<double> gram_in_units(const ReleasedBlock& gram, const Lattice& lattice) {
  const std::size_t dim = lattice.dim;
  DPREDUCE_ASSERT(gram.values().size() == triangle_elements(dim));
  const double unit = lattice.scale() * lattice.scale();
  std::vector<double> matrix(dim * dim);
  for (std::size_t i = 0; i < dim; ++i) {
    const auto row = gram.values().subspan(triangle_row(i, dim), dim - i);
    for (std::size_t j = i; j < dim; ++j) matrix[i * dim + j] = static_cast<double>(row[j - i]) / unit;
  }
  return matrix;
}

GramSpectrum::GramSpectrum(const ReleasedBlock& gram, const Lattice& lattice)
    : noise_radius_(gram.sigma() / (lattice.scale() * lattice.scale()) *
                    std::sqrt(static_cast<double>(lattice.dim) / 2.0)),
      eigenvalues_(lattice.dim),
      eigenvectors_(gram_in_units(gram, lattice)) {
  const std::size_t dim = lattice.dim;
  for (std::size_t i = 0; i < dim; ++i) trace_ += eigenvectors_[i * dim + i];

  // The upper triangle of a row-major matrix is the lower one of the same array read by columns, as LAPACK does;
  // eigenvectors then come as columns, which are our rows.
  use_one_blas_thread();
  const auto order = static_cast<lapack_int>(dim);
  if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', order, eigenvectors_.data(), order, eigenvalues_.data()) != 0) {
    throw std::runtime_error("the eigenvalues of the released Gram matrix do not converge");
  }
  for (double& eigenvalue : eigenvalues_) eigenvalue = shrunk_eigenvalue(eigenvalue, noise_radius_);
}

std::vector<double> GramSpectrum::top_eigenvectors(std::size_t count) const {
  DPREDUCE_ASSERT(count <= dim());
  std::vector<double> top(count * dim());
  for (std::size_t component = 0; component < count; ++component) {
    const auto vector = std::span(eigenvectors_).subspan((dim() - 1 - component) * dim(), dim());
    std::copy(vector.begin(), vector.end(), top.begin() + static_cast<std::ptrdiff_t>(component * dim()));
  }
  return top;
}

void GramSpectrum::scale_coordinates(std::span<double> rows, std::span<const double> factors) const {
  const auto dim = static_cast<Eigen::Index>(eigenvalues_.size());
  DPREDUCE_ASSERT(factors.size() == eigenvalues_.size() && rows.size() % eigenvalues_.size() == 0);
  Eigen::Map<RowMajor> x(rows.data(), static_cast<Eigen::Index>(rows.size()) / dim, dim);
  const Eigen::Map<const RowMajor> vectors(eigenvectors_.data(), dim, dim);
  const Eigen::Map<const Eigen::VectorXd> scales(factors.data(), dim);
  const RowMajor coordinates = (x * vectors.transpose()) * scales.asDiagonal();
  x.noalias() = coordinates * vectors;
}

void GramSpectrum::solve(std::span<double> rows, double ridge) const {
  DPREDUCE_ASSERT(ridge > 0.0);
  std::vector<double> factors = eigenvalues_;
  for (double& factor : factors) factor = 1.0 / (factor + ridge);
  scale_coordinates(rows, factors);
}

std::vector<double> GramSpectrum::whitening(double ridge) const {
  DPREDUCE_ASSERT(ridge > 0.0);
  std::vector<double> factors = eigenvalues_;
  for (double& factor : factors) factor = 1.0 / std::sqrt(factor + ridge);
  std::vector<double> matrix(dim() * dim(), 0.0);
  for (std::size_t a = 0; a < dim(); ++a) matrix[a * dim() + a] = 1.0;
  scale_coordinates(matrix, factors);
  return matrix;
}

}  // namespace dpreduce
