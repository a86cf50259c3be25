#include "aggregator/solvers/gram_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>

#include <cblas.h>
#include <lapacke.h>

#include "aggregator/solvers/blas.hpp"
#include "common/base/error.hpp"
#include "common/plan/triangle.hpp"

namespace dpreduce {

namespace {

// values <- the sequence that never falls and is closest to them (pool adjacent violators).
void make_isotonic(std::span<double> values) {
  struct Pool {
    double sum;
    std::size_t size;
    double mean() const { return sum / static_cast<double>(size); }
  };
  std::vector<Pool> pools;
  for (const double value : values) {
    pools.push_back({value, 1});
    while (pools.size() > 1 && pools.end()[-2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back() = {pools.back().sum + last.sum, pools.back().size + last.size};
    }
  }
  std::size_t next = 0;
  for (const Pool& pool : pools) {
    std::fill_n(&values[next], pool.size, pool.mean());
    next += pool.size;
  }
}

// g of ascending l; variance is s^2. Of eigenvalues nearer than LAPACK tells them apart none pushes the other.
std::vector<double> cleaned(std::span<const double> eigenvalues, double variance) {
  const double tie = std::numeric_limits<double>::epsilon() * std::max(-eigenvalues.front(), eigenvalues.back());
  std::vector<double> values(eigenvalues.begin(), eigenvalues.end());
  for (double& value : values) {
    double repulsion = 0.0;
    for (const double other : eigenvalues) {
      const double distance = value - other;
      repulsion += std::abs(distance) <= tie ? 0.0 : 1.0 / distance;
    }
    value -= variance * repulsion;
  }
  make_isotonic(values);
  for (double& value : values) value = std::max(value, 0.0);
  return values;
}

void require_convergence(lapack_int info) {
  if (info == LAPACK_WORK_MEMORY_ERROR) throw std::bad_alloc();
  if (info != 0) throw std::runtime_error("the eigenvalues of the released Gram matrix do not converge");
}

// The upper triangle of a row-major matrix is the lower one of the same array read by columns, as LAPACK does;
// eigenvectors then come as columns, which are our rows.
std::vector<double> eigenvalues_of(std::vector<double> matrix, std::size_t dim) {
  use_one_blas_thread();
  std::vector<double> eigenvalues(dim);
  const auto order = static_cast<lapack_int>(dim);
  require_convergence(LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', order, matrix.data(), order, eigenvalues.data()));
  return eigenvalues;
}

// rows <- rows of Q ('N') or Q^T ('T') times each of them.
void multiply(const Reflections& reflections, char transposed, std::span<double> rows) {
  const std::size_t dim = reflections.factors.size() + 1;
  const auto order = static_cast<lapack_int>(dim);
  const std::size_t count = rows.size() / dim;
  DPREDUCE_ASSERT(rows.size() % dim == 0);
  use_one_blas_thread();
  // Room for blocks of LAPACK's largest size. It asks for less, and takes reflections one by one where rows are few.
  constexpr std::size_t kBlock = 64;
  std::vector<double> work(kBlock * (count + kBlock + 1));
  // Without LAPACKE's search for NaN, which reads all reflections again for a few rows.
  const lapack_int info = LAPACKE_dormtr_work(
      LAPACK_COL_MAJOR, 'L', 'L', transposed, order, static_cast<lapack_int>(count), reflections.vectors.data(), order,
      reflections.factors.data(), rows.data(), order, work.data(), static_cast<lapack_int>(work.size()));
  DPREDUCE_ASSERT(info == 0);  // else an argument is wrong
}

// rows <- rows Z ('N') or rows Z^T ('T'), d entries each.
std::vector<double> product(std::span<const double> rows, std::span<const double> square, CBLAS_TRANSPOSE transposed,
                            std::size_t dim) {
  const auto order = static_cast<int>(dim);
  std::vector<double> result(rows.size());
  use_one_blas_thread();
  cblas_dgemm(CblasRowMajor, CblasNoTrans, transposed, static_cast<int>(rows.size() / dim), order, order, 1.0,
              rows.data(), order, square.data(), order, 0.0, result.data(), order);
  return result;
}

}  // namespace

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

double noise_radius_of(const ReleasedBlock& gram, const Lattice& lattice) {
  return gram.sigma() / (lattice.scale() * lattice.scale()) * std::sqrt(static_cast<double>(lattice.dim) / 2.0);
}

std::vector<double> released_eigenvalues(const ReleasedBlock& gram, const Lattice& lattice) {
  if (gram.known_eigenvalues().empty()) {
    gram.known_eigenvalues() = eigenvalues_of(gram_in_units(gram, lattice), lattice.dim);
  }
  return gram.known_eigenvalues();
}

void Reflections::apply(std::span<double> rows) const {
  multiply(*this, 'N', rows);
  for (double& entry : rows) entry += 0.0;
}

void Reflections::apply_inverse(std::span<double> rows) const {
  multiply(*this, 'T', rows);
}

void Reflections::broadcast(Communicator& ranks, std::size_t dim) {
  vectors.resize(dim * dim);
  factors.resize(dim - 1);
  ranks.broadcast(vectors);
  ranks.broadcast(factors);
}

GramSpectrum::GramSpectrum(const ReleasedBlock& gram, const Lattice& lattice)
    : GramSpectrum(gram_in_units(gram, lattice), gram.sigma() / (lattice.scale() * lattice.scale()),
                   &gram.known_eigenvalues()) {}

GramSpectrum::GramSpectrum(std::vector<double> matrix, double sigma, std::vector<double>* found) {
  const auto dim = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(matrix.size()))));
  DPREDUCE_ASSERT(dim > 0 && matrix.size() == dim * dim);
  noise_radius_ = sigma * std::sqrt(static_cast<double>(dim) / 2.0);
  for (std::size_t i = 0; i < dim; ++i) trace_ += matrix[i * dim + i];

  use_one_blas_thread();
  const auto order = static_cast<lapack_int>(dim);
  eigenvalues_.resize(dim);
  eigenvectors_.resize(dim * dim);
  std::vector<double> beside_diagonal(dim);
  reflections_ = {std::move(matrix), std::vector<double>(dim - 1)};
  require_convergence(LAPACKE_dsytrd(LAPACK_COL_MAJOR, 'L', order, reflections_.vectors.data(), order,
                                     eigenvalues_.data(), beside_diagonal.data(), reflections_.factors.data()));
  require_convergence(LAPACKE_dstedc(LAPACK_COL_MAJOR, 'I', order, eigenvalues_.data(), beside_diagonal.data(),
                                     eigenvectors_.data(), order));
  if (found != nullptr) *found = eigenvalues_;
  eigenvalues_ = cleaned(eigenvalues_, 2.0 * noise_radius_ * noise_radius_ / static_cast<double>(dim));
}

GramSpectrum GramSpectrum::broadcast(Communicator& ranks, std::optional<GramSpectrum> own, std::size_t dim) {
  GramSpectrum spectrum = own ? std::move(*own) : GramSpectrum();
  spectrum.eigenvalues_.resize(dim);
  spectrum.eigenvectors_.resize(dim * dim);
  ranks.broadcast(std::span(&spectrum.noise_radius_, 1));
  ranks.broadcast(std::span(&spectrum.trace_, 1));
  spectrum.reflections_.broadcast(ranks, dim);
  ranks.broadcast(spectrum.eigenvectors_);
  ranks.broadcast(spectrum.eigenvalues_);
  return spectrum;
}

std::vector<double> GramSpectrum::top_eigenvectors(std::size_t count) const {
  DPREDUCE_ASSERT(count <= dim());
  std::vector<double> top(count * dim());
  for (std::size_t component = 0; component < count; ++component) {
    const auto vector = std::span(eigenvectors_).subspan((dim() - 1 - component) * dim(), dim());
    std::copy(vector.begin(), vector.end(), top.begin() + static_cast<std::ptrdiff_t>(component * dim()));
  }
  reflections_.apply(top);
  return top;
}

std::vector<double> GramSpectrum::coordinates(std::span<const double> rows) const {
  DPREDUCE_ASSERT(rows.size() % dim() == 0);
  std::vector<double> turned(rows.begin(), rows.end());
  reflections_.apply_inverse(turned);
  return product(turned, eigenvectors_, CblasTrans, dim());
}

std::vector<double> GramSpectrum::rows_of(std::vector<double> coordinates, std::span<const double> factors) const {
  DPREDUCE_ASSERT(factors.size() == dim() && coordinates.size() % dim() == 0);
  for (std::size_t e = 0; e < coordinates.size(); ++e) coordinates[e] *= factors[e % dim()];
  std::vector<double> rows = product(coordinates, eigenvectors_, CblasNoTrans, dim());
  reflections_.apply(rows);
  return rows;
}

std::vector<double> GramSpectrum::inverse_factors(double ridge, std::size_t components) const {
  DPREDUCE_ASSERT(ridge > 0.0 && components <= dim());
  std::vector<double> factors = eigenvalues_;
  for (double& factor : factors) factor = 1.0 / (factor + ridge);
  if (components > 0) std::fill_n(factors.begin(), dim() - components, 0.0);
  return factors;
}

void GramSpectrum::solve(std::span<double> rows, double ridge) const {
  std::ranges::copy(rows_of(coordinates(rows), inverse_factors(ridge)), rows.begin());
}

std::vector<double> GramSpectrum::take_whitening(double ridge) {
  DPREDUCE_ASSERT(ridge > 0.0);
  std::vector<double> matrix = std::exchange(eigenvectors_, {});
  for (std::size_t j = 0; j < dim(); ++j) {
    const double factor = 1.0 / std::sqrt(eigenvalues_[j] + ridge);
    for (std::size_t a = 0; a < dim(); ++a) matrix[j * dim() + a] *= factor;
  }
  return matrix;
}

}  // namespace dpreduce
