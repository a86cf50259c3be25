#include "drawn_releases.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>

#include <cblas.h>
#include <lapacke.h>

#include "aggregator/solvers/ridge_path.hpp"
#include "aggregator/solvers/weight_intervals.hpp"

namespace dpreduce {
namespace {

constexpr double kResidual = 0.3;
constexpr double kCorrelation = 0.7;
constexpr double kSquaresShare = 0.01;
constexpr double kSlope = 6.0;                  // of labels
constexpr std::size_t kRowsOfPopulation = 100;  // for each row of a release
constexpr double kNormal95 = 1.959963984540054;

std::vector<double> drawn_rows(std::size_t count, std::size_t dim, NormalStream& normals) {
  std::vector<double> rows(count * dim);
  for (std::size_t row = 0; row < count; ++row) {
    double before = normals.next();
    double squares = 0.0;
    for (std::size_t a = 0; a < dim; ++a) {
      rows[row * dim + a] = before;
      squares += before * before;
      before = kCorrelation * before + std::sqrt(1.0 - kCorrelation * kCorrelation) * normals.next();
    }
    for (std::size_t a = 0; a < dim; ++a) rows[row * dim + a] /= std::sqrt(squares);
  }
  return rows;
}

std::vector<double> times(const std::vector<double>& matrix, const std::vector<double>& vector) {
  const auto order = static_cast<int>(vector.size());
  std::vector<double> product(vector.size());
  cblas_dgemv(CblasRowMajor, CblasNoTrans, order, order, 1.0, matrix.data(), order, vector.data(), 1, 0.0,
              product.data(), 1);
  return product;
}

// H^-1 b
std::vector<double> solved(std::vector<double> matrix, std::vector<double> b) {
  const std::size_t dim = b.size();
  const auto order = static_cast<int>(dim);
  for (std::size_t a = 0; a < dim; ++a) matrix[a * dim + a] += kRidge;
  LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', order, 1, matrix.data(), order, b.data(), order);
  return b;
}

ReleasedBlock block_of(const char* name, std::span<const double> values, double unit, double sigma) {
  std::vector<std::int64_t> integers;
  for (const double value : values) integers.push_back(std::llround(value * unit));
  return {name, std::move(integers), sigma * unit};
}

// The block with noise of its own law in it.
ReleasedBlock noised(const ReleasedBlock& exact, std::size_t triangle, NormalStream normals) {
  const ReleasedBlock block = with_noise(exact, 1.0, triangle, std::move(normals));
  return {block.name(), {block.values().begin(), block.values().end()}, exact.sigma()};
}

// Sums over rows before noise, what their weights are meant to be, and rows whose scores are asked for.
struct Sums {
  std::size_t count;
  std::span<const double> gram;
  std::vector<double> b;
  double targets;                  // y^T y
  std::vector<double> population;  // weights
  std::span<const double> predicted;
};

Coverage released(const Sums& sums, double mu, std::uint64_t seed, NormalStream& normals) {
  const std::size_t dim = sums.b.size();
  const Lattice lattice{1.0, dim};
  const double scale = lattice.scale();
  const double left = std::sqrt((1.0 - kSquaresShare) / 2.0) * mu;
  std::vector<double> triangle;
  for (std::size_t a = 0; a < dim; ++a) {
    triangle.insert(triangle.end(), &sums.gram[a * dim + a], sums.gram.data() + (a + 1) * dim);
  }
  const Release release({noised(block_of("gram", triangle, scale * scale, 1.0 / left), dim, {seed, 1}),
                         noised(block_of("class_sums", sums.b, scale, 1.0 / left), 0, {seed, 2})});
  IntervalTerms terms{.ridge = kRidge,
                      .rows = std::vector<double>(dim * dim, 0.0),
                      .squared_targets = {sums.targets + normals.next() / (std::sqrt(kSquaresShare) * mu)},
                      .count = static_cast<double>(sums.count),
                      .most_kappa = kMostTried};
  for (std::size_t a = 0; a < dim; ++a) terms.rows[a * dim + a] = 1.0;
  terms.rows.insert(terms.rows.end(), sums.predicted.begin(), sums.predicted.end());
  const LinearIntervals intervals = linear_intervals(release, lattice, terms);
  Coverage coverage{.kappa = intervals.kappa};
  if (intervals.kind == IntervalKind::kNone) return coverage;

  const std::vector<double> on_rows = solved({sums.gram.begin(), sums.gram.end()}, sums.b);
  std::vector<double> widths;
  for (std::size_t e = 0; e < intervals.estimates.size(); ++e) {
    const std::span<const double> row = std::span(terms.rows).subspan(e * dim, dim);
    const double truth = std::inner_product(row.begin(), row.end(), on_rows.begin(), 0.0);
    const double beyond = std::inner_product(row.begin(), row.end(), sums.population.begin(), 0.0);
    const bool holds = std::abs(intervals.estimates[e] - truth) <= kNormal95 * intervals.deviations[e];
    if (e >= dim) {
      coverage.predictions += holds ? 1.0 / kPredicted : 0.0;
      continue;
    }
    coverage.weights += holds ? 1.0 / static_cast<double>(dim) : 0.0;
    const bool holds_beyond =
        std::abs(intervals.estimates[e] - beyond) <= kNormal95 * intervals.population_deviations[e];
    coverage.population += holds_beyond ? 1.0 / static_cast<double>(dim) : 0.0;
    coverage.held.push_back(holds_beyond);
    widths.push_back(2.0 * kNormal95 * intervals.deviations[e]);
  }
  std::ranges::nth_element(widths, widths.begin() + static_cast<std::ptrdiff_t>(dim / 2));
  coverage.width = widths[dim / 2];
  return coverage;
}

// A tenth of the squared norm is a constant, the last coordinate.
std::vector<double> with_intercept(std::vector<double> rows, std::size_t dim) {
  constexpr double kShare = 0.1;
  for (std::size_t e = 0; e < rows.size(); ++e) {
    rows[e] = (e + 1) % dim == 0 ? std::sqrt(kShare) : std::sqrt(1.0 - kShare) * rows[e];
  }
  return rows;
}

// Adds x x^T of `rows` rows to `gram`, and to `sums` y x, or p x where labels are not drawn. Returns sum y^2.
double add_rows(const LabeledPopulation& all, std::size_t rows, bool draws_labels, NormalStream& normals,
                std::vector<double>& gram, std::vector<double>& sums) {
  const std::size_t dim = all.dim;
  const auto order = static_cast<int>(dim);
  double targets = 0.0;
  for (std::size_t left = rows; left > 0;) {
    const std::size_t some = std::min<std::size_t>(left, 1000);
    const std::vector<double> x = with_intercept(drawn_rows(some, dim, normals), dim);
    std::vector<double> y(some);
    for (std::size_t row = 0; row < some; ++row) {
      const double score = std::inner_product(all.direction.begin(), all.direction.end(), &x[row * dim], 0.0);
      const double p = 1.0 / (1.0 + std::exp(-all.offset - kSlope * score));
      const double drawn = 0.5 * std::erfc(normals.next() / std::numbers::sqrt2);
      y[row] = draws_labels ? (drawn < p ? 1.0 : 0.0) : p;
      targets += y[row] * y[row];
    }
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, order, order, static_cast<int>(some), 1.0, x.data(), order,
                x.data(), order, 1.0, gram.data(), order);
    cblas_dgemv(CblasRowMajor, CblasTrans, static_cast<int>(some), order, 1.0, x.data(), order, y.data(), 1, 1.0,
                sums.data(), 1);
    left -= some;
  }
  return targets;
}

}  // namespace

Rows rows_of(std::size_t count, std::size_t dim) {
  NormalStream normals(count, dim);
  Rows rows{count, dim, std::vector<double>(dim * dim, 0.0), {}, {}, {}};
  const auto order = static_cast<int>(dim);
  for (std::size_t left = count; left > 0;) {
    const std::size_t some = std::min<std::size_t>(left, 1000);
    const std::vector<double> x = drawn_rows(some, dim, normals);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, order, order, static_cast<int>(some), 1.0, x.data(), order,
                x.data(), order, 1.0, rows.gram.data(), order);
    left -= some;
  }
  rows.factor = rows.gram;
  LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', order, rows.factor.data(), order);
  for (std::size_t a = 0; a < dim; ++a) rows.beta.push_back(normals.next());
  rows.predicted = drawn_rows(kPredicted, dim, normals);
  return rows;
}

Coverage coverage_of(const Rows& rows, double mu, std::uint64_t seed) {
  NormalStream normals(seed + 1, rows.count * 1000 + rows.dim);
  const std::size_t dim = rows.dim;
  std::vector<double> z(dim);
  double squared = 0.0;
  for (double& entry : z) {
    entry = kResidual * normals.next();
    squared += entry * entry;
  }
  std::vector<double> lower = rows.factor;
  for (std::size_t a = 0; a < dim; ++a) std::fill_n(&lower[a * dim + a + 1], dim - a - 1, 0.0);
  const std::vector<double> explained = times(rows.gram, rows.beta);
  const std::vector<double> of_noise = times(lower, z);
  std::vector<double> b = explained;
  double targets = squared;
  for (std::size_t a = 0; a < dim; ++a) {
    b[a] += of_noise[a];
    targets += rows.beta[a] * (explained[a] + 2.0 * of_noise[a]);
  }
  const double freedom = static_cast<double>(rows.count - dim);
  targets += kResidual * kResidual * (freedom + std::sqrt(2.0 * freedom) * normals.next());
  return released({rows.count, rows.gram, std::move(b), targets, solved(rows.gram, explained), rows.predicted}, mu,
                  seed, normals);
}

LabeledPopulation labeled_population(std::size_t count, std::size_t dim, double offset) {
  NormalStream normals(count, dim);
  LabeledPopulation all{count, dim, offset, {}};
  for (std::size_t a = 0; a < dim; ++a) all.direction.push_back(normals.next());
  const double length = cblas_dnrm2(static_cast<int>(dim), all.direction.data(), 1);
  for (double& entry : all.direction) entry /= length;
  all.predicted = with_intercept(drawn_rows(kPredicted, dim, normals), dim);
  std::vector<double> gram(dim * dim, 0.0);
  std::vector<double> sums(dim, 0.0);
  add_rows(all, kRowsOfPopulation * count, false, normals, gram, sums);
  for (double& entry : gram) entry /= kRowsOfPopulation;
  for (double& entry : sums) entry /= kRowsOfPopulation;
  all.weights = solved(std::move(gram), std::move(sums));
  return all;
}

Coverage coverage_of(const LabeledPopulation& all, double mu, std::uint64_t seed) {
  NormalStream normals(seed + 1, all.count * 1000 + all.dim);
  std::vector<double> gram(all.dim * all.dim, 0.0);
  std::vector<double> b(all.dim, 0.0);
  const double targets = add_rows(all, all.count, true, normals, gram, b);
  return released({all.count, gram, std::move(b), targets, all.weights, all.predicted}, mu, seed, normals);
}

}  // namespace dpreduce
