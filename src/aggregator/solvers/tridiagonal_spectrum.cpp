#include "aggregator/solvers/tridiagonal_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include <cblas.h>
#include <lapacke.h>

#include "aggregator/solvers/blas.hpp"
#include "common/base/error.hpp"

// Root number `index`, from 1 on, of 1 + rho sum_i z_i^2 / (d_i - l): l, and each d_i - l; of two or fewer the
// eigenvector in their place.
extern "C" void dlaed4_(const lapack_int* count, const lapack_int* index, const double* d, const double* z,
                        double* differences, const double* rho, double* root, lapack_int* info);

namespace dpreduce {
namespace {

// products <- rows A ('N') or rows A^T ('T'), `size` entries of rows that are `length` long.
void multiply(std::span<const double> rows, CBLAS_TRANSPOSE transposed, const double* square, std::size_t first,
              std::size_t size, std::size_t length, std::span<double> products) {
  if (rows.empty() || size == 0) return;
  const auto order = static_cast<int>(size);
  const auto stride = static_cast<int>(length);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, transposed, static_cast<int>(rows.size() / length), order, order, 1.0,
              &rows[first], stride, square, order, 0.0, &products[first], stride);
}

// The power of two by which no entry is larger than 2.
double unit_of(std::span<const double> diagonal, std::span<const double> beside) {
  double largest = 0.0;
  for (const double entry : diagonal) largest = std::max(largest, std::abs(entry));
  for (const double entry : beside) largest = std::max(largest, std::abs(entry));
  return largest == 0.0 ? 1.0 : std::ldexp(1.0, std::ilogb(largest));
}

}  // namespace

TridiagonalSpectrum::TridiagonalSpectrum(Communicator& ranks, std::vector<double> diagonal,
                                         std::vector<double> beside_diagonal)
    : head_(diagonal.size() / 2) {
  const std::size_t size = diagonal.size();
  DPREDUCE_ASSERT(size > 0 && beside_diagonal.size() == size - 1);
  const double unit = unit_of(diagonal, beside_diagonal);
  for (double& entry : diagonal) entry /= unit;
  for (double& entry : beside_diagonal) entry /= unit;
  const double corner = head_ > 0 ? beside_diagonal[head_ - 1] : 0.0;
  if (head_ > 0) {
    diagonal[head_ - 1] -= std::abs(corner);
    diagonal[head_] -= std::abs(corner);
  }

  const std::size_t tail = size - head_;
  halves_.resize(head_ * head_ + tail * tail + size);
  const std::span<double> poles = std::span(halves_).last(size);  // there until all ranks have them
  const auto solve_half = [&](int owner, std::size_t first, std::size_t length, double* vectors) {
    if (ranks.rank() != owner % ranks.owners() || length == 0) return;
    const auto order = static_cast<lapack_int>(length);
    require_lapack(
        LAPACKE_dstedc(LAPACK_COL_MAJOR, 'I', order, &diagonal[first], beside_diagonal.data() + first, vectors, order));
    std::copy_n(&diagonal[first], length, &poles[first]);
  };
  ranks.together([&] {
    use_one_blas_thread();
    solve_half(0, 0, head_, halves_.data());
    solve_half(1, head_, tail, &halves_[head_ * head_]);
    for (double& entry : halves_) entry += 0.0;  // no sign of zero, as where it is summed
  });
  if (ranks.owners() > 1) ranks.sum_everywhere(halves_);  // exact: one summand is not 0
  ranks.together([&] {
    merge({poles.begin(), poles.end()}, 2.0 * std::abs(corner), corner < 0.0 ? -1.0 : 1.0);
    halves_.resize(halves_.size() - size);
  });
  for (double& eigenvalue : eigenvalues_) eigenvalue *= unit;
}

// All ranks do, with operations alone that have the same bits on each processor.
void TridiagonalSpectrum::merge(std::vector<double> poles, double rho, double sign) {
  const std::size_t size = poles.size(), tail = size - head_;
  std::vector<double> z(size);  // of norm 1: rho counts twice
  for (std::size_t j = 0; j < head_; ++j) z[j] = std::sqrt(0.5) * halves_[j * head_ + head_ - 1];
  for (std::size_t j = 0; j < tail; ++j) z[head_ + j] = sign * std::sqrt(0.5) * halves_[head_ * head_ + j * tail];
  turn_equal(poles, z, rho);
  const std::vector<double> roots = find_roots(poles, z, rho);
  for (std::size_t j = 0; j < roots.size(); ++j) sources_.push_back({true, j});
  const auto value = [&](const Source& source) { return source.is_root ? roots[source.index] : poles[source.index]; };
  std::ranges::stable_sort(sources_, {}, value);
  for (const Source& source : sources_) eigenvalues_.push_back(value(source));
}

// Finds G, and which of its rows S combines.
void TridiagonalSpectrum::turn_equal(std::vector<double>& poles, std::vector<double>& z, double rho) {
  std::vector<std::size_t> ascending(poles.size());
  std::iota(ascending.begin(), ascending.end(), 0);
  std::ranges::stable_sort(ascending, {}, [&](std::size_t i) { return poles[i]; });
  double largest = 0.0;
  for (const double entry : poles) largest = std::max(largest, std::abs(entry));
  for (const double entry : z) largest = std::max(largest, std::abs(entry));
  const double tolerance = 4.0 * std::numeric_limits<double>::epsilon() * largest;
  std::optional<std::size_t> last;
  for (const std::size_t i : ascending) {
    if (rho * std::abs(z[i]) <= tolerance) {
      sources_.push_back({false, i});
      continue;
    }
    if (last) {
      const std::size_t p = *last;
      const double both = std::sqrt(z[i] * z[i] + z[p] * z[p]);
      const double c = z[i] / both, s = -z[p] / both;
      if (std::abs((poles[i] - poles[p]) * c * s) <= tolerance) {
        turns_.push_back({p, i, c, s});
        z[i] = both;
        const double lower = poles[p] * c * c + poles[i] * s * s;
        poles[i] = poles[p] * s * s + poles[i] * c * c;
        poles[p] = lower;
        sources_.push_back({false, p});
      } else {
        kept_.push_back(p);
      }
    }
    last = i;
  }
  if (last) kept_.push_back(*last);
}

// Finds S, and the l_j of its rows.
std::vector<double> TridiagonalSpectrum::find_roots(std::span<const double> poles, std::span<const double> z,
                                                    double rho) {
  const std::size_t count = kept_.size();
  const auto order = static_cast<lapack_int>(count);
  std::vector<double> d(count), kept_z(count), roots(count), squares(count, -1.0);
  for (std::size_t k = 0; k < count; ++k) {
    d[k] = poles[kept_[k]];
    kept_z[k] = z[kept_[k]];
  }
  secular_.resize(count * count);
  for (std::size_t j = 0; j < count; ++j) {
    const auto index = static_cast<lapack_int>(j + 1);
    lapack_int info = 0;
    double* differences = &secular_[j * count];
    dlaed4_(&order, &index, d.data(), kept_z.data(), differences, &rho, &roots[j], &info);
    require_lapack(info);
    for (std::size_t i = 0; i < count; ++i) squares[i] *= differences[i] / (i == j ? 1.0 : d[i] - d[j]);
  }
  for (std::size_t i = 0; i < count; ++i) kept_z[i] = std::copysign(std::sqrt(squares[i]), kept_z[i]);
  for (std::size_t j = 0; count > 2 && j < count; ++j) {
    const std::span<double> row(&secular_[j * count], count);
    double squared_norm = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      row[i] = kept_z[i] / row[i];
      squared_norm += row[i] * row[i];
    }
    const double factor = 1.0 / std::sqrt(squared_norm);
    for (double& entry : row) entry *= factor;
  }
  return roots;
}

// products <- rows B, or rows B^T.
void TridiagonalSpectrum::multiply_by_halves(std::span<const double> rows, bool is_transposed,
                                             std::span<double> products) const {
  DPREDUCE_ASSERT(rows.size() % size() == 0);
  use_one_blas_thread();
  const CBLAS_TRANSPOSE transposed = is_transposed ? CblasTrans : CblasNoTrans;
  multiply(rows, transposed, halves_.data(), 0, head_, size(), products);
  multiply(rows, transposed, &halves_[head_ * head_], head_, size() - head_, size(), products);
}

// finished <- rows G B; what is in `rows` is not to be used again.
void TridiagonalSpectrum::finish_rows(std::span<double> rows, std::span<double> finished) const {
  for (std::size_t row = 0; row < rows.size(); row += size()) {
    for (auto turn = turns_.rbegin(); turn != turns_.rend(); ++turn) {
      double& first = rows[row + turn->first];
      double& second = rows[row + turn->second];
      const double before = first;
      first = turn->c * before - turn->s * second;
      second = turn->s * before + turn->c * second;
    }
  }
  multiply_by_halves(rows, false, finished);
}

void TridiagonalSpectrum::make_eigenvectors(std::size_t first, std::span<const double> factors,
                                            std::span<double> vectors) const {
  DPREDUCE_ASSERT(first + factors.size() <= size() && vectors.size() == factors.size() * size());
  std::vector<double> rows(factors.size() * size());
  for (std::size_t r = 0; r < factors.size(); ++r) {
    const Source& source = sources_[first + r];
    double* row = &rows[r * size()];
    if (!source.is_root) row[source.index] = factors[r];
    for (std::size_t k = 0; source.is_root && k < kept_.size(); ++k) {
      row[kept_[k]] = factors[r] * secular_[source.index * kept_.size() + k];
    }
  }
  finish_rows(rows, vectors);
}

std::vector<double> TridiagonalSpectrum::rows_of(std::span<const double> coordinates) const {
  DPREDUCE_ASSERT(coordinates.size() % size() == 0);
  use_one_blas_thread();
  const std::size_t count = coordinates.size() / size(), kept = kept_.size();
  std::vector<double> rows(coordinates.size()), finished(rows.size()), of_roots(count * kept), combined(count * kept);
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t e = 0; e < size(); ++e) {
      const auto [is_root, index] = sources_[e];
      (is_root ? of_roots[r * kept + index] : rows[r * size() + index]) = coordinates[r * size() + e];
    }
  }
  multiply(of_roots, CblasNoTrans, secular_.data(), 0, kept, kept, combined);
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t k = 0; k < kept; ++k) rows[r * size() + kept_[k]] = combined[r * kept + k];
  }
  finish_rows(rows, finished);
  return finished;
}

std::vector<double> TridiagonalSpectrum::coordinates(std::span<const double> rows) const {
  std::vector<double> turned(rows.size());
  multiply_by_halves(rows, true, turned);
  const std::size_t count = rows.size() / size(), kept = kept_.size();
  std::vector<double> of_kept(count * kept), combined(count * kept), coordinates(rows.size());
  for (std::size_t r = 0; r < count; ++r) {
    double* row = &turned[r * size()];
    for (const Turn& turn : turns_) {
      const double before = row[turn.first];
      row[turn.first] = turn.c * before + turn.s * row[turn.second];
      row[turn.second] = turn.c * row[turn.second] - turn.s * before;
    }
    for (std::size_t k = 0; k < kept; ++k) of_kept[r * kept + k] = row[kept_[k]];
  }
  multiply(of_kept, CblasTrans, secular_.data(), 0, kept, kept, combined);
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t e = 0; e < size(); ++e) {
      const auto [is_root, index] = sources_[e];
      coordinates[r * size() + e] = is_root ? combined[r * kept + index] : turned[r * size() + index];
    }
  }
  return coordinates;
}

}  // namespace dpreduce
