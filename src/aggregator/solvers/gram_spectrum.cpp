#include "aggregator/solvers/gram_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <lapacke.h>

#include "aggregator/solvers/blas.hpp"
#include "common/base/error.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/ledger/triangle.hpp"

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

// g of ascending l, before what is negative becomes 0; variance is s^2. Of eigenvalues nearer than LAPACK resolves them
// apart none pushes the other.
std::vector<double> cleaned(std::span<const double> eigenvalues, double variance) {
  const double tie = std::numeric_limits<double>::epsilon() * std::max(-eigenvalues.front(), eigenvalues.back());
  std::vector<double> values(eigenvalues.begin(), eigenvalues.end());
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    for (double& value : values) {
      std::array<double, 8> repulsion{};  // by every eighth other: the same bits at each width
      const auto add = [&](std::size_t lane, double other) {
        const double distance = value - other;
        repulsion[lane] += 1.0 / (std::abs(distance) <= tie ? std::numeric_limits<double>::infinity() : distance);
      };
      std::size_t next = 0;
      for (; next + repulsion.size() <= eigenvalues.size(); next += repulsion.size()) {
        for (std::size_t lane = 0; lane < repulsion.size(); ++lane) add(lane, eigenvalues[next + lane]);
      }
      for (; next < eigenvalues.size(); ++next) add(0, eigenvalues[next]);
      value -= variance * std::accumulate(repulsion.begin(), repulsion.end(), 0.0);
    }
  });
  make_isotonic(values);
  return values;
}

double sigma_in_units(const ReleasedBlock& gram, const Lattice& lattice) {
  return gram.sigma() / (lattice.scale() * lattice.scale());
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

std::vector<double> symmetric(std::vector<double> upper, std::size_t dim) {
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t b = 0; b < a; ++b) upper[a * dim + b] = upper[b * dim + a];
  }
  return upper;
}

double noise_radius_of(const ReleasedBlock& gram, const Lattice& lattice) {
  return sigma_in_units(gram, lattice) * std::sqrt(static_cast<double>(lattice.dim) / 2.0);
}

// The upper triangle of a row-major matrix is the lower one of the same array read by columns, as LAPACK does;
// eigenvectors then come as columns, which are our rows.
std::vector<double> released_eigenvalues(const ReleasedBlock& gram, const Lattice& lattice) {
  if (!gram.known_eigenvalues().empty()) return gram.known_eigenvalues();
  use_one_blas_thread();
  std::vector<double> matrix = gram_in_units(gram, lattice);
  std::vector<double> eigenvalues(lattice.dim);
  const auto order = static_cast<lapack_int>(lattice.dim);
  require_lapack(LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', order, matrix.data(), order, eigenvalues.data()));
  return gram.known_eigenvalues() = eigenvalues;
}

GramSpectrum::GramSpectrum(std::vector<double> matrix, double sigma) {
  const auto dim = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(matrix.size()))));
  DPREDUCE_ASSERT(dim > 0 && matrix.size() == dim * dim);
  use_one_blas_thread();
  const auto order = static_cast<lapack_int>(dim);
  std::vector<double> beside_diagonal(dim - 1);
  released_.resize(dim);
  tridiagonal_.resize(dim * dim);
  reflections_ = std::move(matrix);
  factors_.resize(dim - 1);
  require_lapack(LAPACKE_dsytrd(LAPACK_COL_MAJOR, 'L', order, reflections_.data(), order, released_.data(),
                                beside_diagonal.data(), factors_.data()));
  trace_and_radius_ = {std::accumulate(released_.begin(), released_.end(), 0.0),
                       sigma * std::sqrt(static_cast<double>(dim) / 2.0)};
  require_lapack(LAPACKE_dstedc(LAPACK_COL_MAJOR, 'I', order, released_.data(), beside_diagonal.data(),
                                tridiagonal_.data(), order));
  find_eigenvalues();
}

GramSpectrum::GramSpectrum(const ReleasedBlock& gram, const Lattice& lattice)
    : GramSpectrum(gram_in_units(gram, lattice), sigma_in_units(gram, lattice)) {
  gram.known_eigenvalues() = released_;
}

// x <- Q x ('N') or Q^T x ('T') for each of some rows, of d entries. Its bits may depend on which rows are passed
// together, but no zero of Q x has a sign. Cost: 2 d^2 flops a row.
void GramSpectrum::reflect(char transposed, std::span<double> rows) const {
  const auto order = static_cast<lapack_int>(dim());
  const std::size_t count = rows.size() / dim();
  DPREDUCE_ASSERT(rows.size() % dim() == 0);
  use_one_blas_thread();
  // Room for blocks of LAPACK's largest size. It asks for less, and takes reflections one by one where rows are few.
  constexpr std::size_t kBlock = 64;
  std::vector<double> work(kBlock * (count + kBlock + 1));
  // Without LAPACKE's search for NaN, which reads all reflections again for a few rows.
  const lapack_int info = LAPACKE_dormtr_work(
      LAPACK_COL_MAJOR, 'L', 'L', transposed, order, static_cast<lapack_int>(count), reflections_.data(), order,
      factors_.data(), rows.data(), order, work.data(), static_cast<lapack_int>(work.size()));
  DPREDUCE_ASSERT(info == 0);  // else an argument is wrong
  if (transposed == 'T') return;
  for (double& entry : rows) entry += 0.0;
}

std::optional<GramSpectrum> GramSpectrum::of_owners(Communicator& ranks, const ReleasedBlock* gram,
                                                    const Lattice& lattice) {
  std::optional<GramSpectrum> spectrum;
  ranks.together([&] {
    if (gram != nullptr) spectrum.emplace(*gram, lattice);
  });
  if (ranks.owners() == 1) return spectrum;
  GramSpectrum& shared = spectrum ? *spectrum : spectrum.emplace(GramSpectrum());
  const std::size_t dim = lattice.dim;
  shared.released_.resize(dim);
  shared.tridiagonal_.resize(dim * dim);
  shared.factors_.resize(dim - 1);
  shared.reflections_.resize(dim * dim);
  ranks.broadcast(shared.trace_and_radius_);
  for (auto* values : {&shared.released_, &shared.factors_, &shared.reflections_, &shared.tridiagonal_}) {
    ranks.broadcast(*values);
  }
  if (gram == nullptr) shared.find_eigenvalues();
  return spectrum;
}

void GramSpectrum::find_eigenvalues() {
  eigenvalues_ = signed_eigenvalues();
  for (double& value : eigenvalues_) value = std::max(value, 0.0);
}

std::vector<double> GramSpectrum::signed_eigenvalues() const {
  return cleaned(released_, 2.0 * noise_radius() * noise_radius() / static_cast<double>(dim()));
}

std::vector<double> GramSpectrum::top_eigenvectors(std::size_t count) const {
  DPREDUCE_ASSERT(count <= dim());
  std::vector<double> ascending(count * dim()), top(count * dim());
  make_eigenvectors(dim() - count, std::vector<double>(count, 1.0), ascending);
  for (std::size_t component = 0; component < count; ++component) {
    std::copy_n(&ascending[(count - 1 - component) * dim()], dim(), &top[component * dim()]);
  }
  return top;
}

void GramSpectrum::make_eigenvectors(std::size_t first, std::span<const double> factors,
                                     std::span<double> vectors) const {
  DPREDUCE_ASSERT(first + factors.size() <= dim() && vectors.size() == factors.size() * dim());
  for (std::size_t e = 0; e < vectors.size(); ++e) vectors[e] = factors[e / dim()] * tridiagonal_[first * dim() + e];
  reflect('N', vectors);
}

std::vector<double> GramSpectrum::coordinates(std::span<const double> rows) const {
  DPREDUCE_ASSERT(rows.size() % dim() == 0);
  std::vector<double> turned(rows.begin(), rows.end());
  reflect('T', turned);
  return inner_products(turned, tridiagonal_, dim());
}

std::vector<double> GramSpectrum::rows_of(std::vector<double> coordinates, std::span<const double> factors) const {
  DPREDUCE_ASSERT(factors.size() == dim() && coordinates.size() % dim() == 0);
  for (std::size_t e = 0; e < coordinates.size(); ++e) coordinates[e] *= factors[e % dim()];
  std::vector<double> rows = rows_times(coordinates, tridiagonal_, dim());
  reflect('N', rows);
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

std::vector<double> GramSpectrum::whitening_factors(double ridge) const {
  DPREDUCE_ASSERT(ridge > 0.0);
  std::vector<double> factors = eigenvalues_;
  for (double& factor : factors) factor = 1.0 / std::sqrt(factor + ridge);
  return factors;
}

}  // namespace dpreduce
