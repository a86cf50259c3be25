#include "aggregator/solvers/public_refit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <cblas.h>

#include "aggregator/solvers/blas.hpp"
#include "aggregator/solvers/cleaned_ridge.hpp"
#include "aggregator/solvers/gram_spectrum.hpp"
#include "common/base/error.hpp"
#include "common/ledger/triangle.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kRowsAtOnce = 512;
constexpr int kIterations = 20;

// One block of rows in `stride` is looked at: posteriors of more would not fit.
std::uint64_t stride_of(std::uint64_t rows, std::uint64_t classes, std::uint64_t most_posteriors) {
  return std::max<std::uint64_t>(1, (rows * classes + most_posteriors - 1) / most_posteriors);
}

// How many rows for_each_block shows.
std::uint64_t rows_shown(std::uint64_t rows, std::uint64_t stride) {
  const std::uint64_t of_stride = stride * kRowsAtOnce;
  return rows / of_stride * kRowsAtOnce + std::min(kRowsAtOnce, rows % of_stride);
}

// Shows `visit` (how many rows came before, prepared rows) the rows, one block in `stride`; rows that are not finite
// as zeros, with what is_finite says of each.
template <typename Visit>
void for_each_block(ShardedArray& rows, const RowTransform& transform, std::uint64_t stride, const Visit& visit) {
  std::vector<float> raw;
  std::vector<char> is_finite;
  std::vector<double> prepared;
  for (std::uint64_t first = 0; first < rows.rows(); first += stride * kRowsAtOnce) {
    const std::uint64_t count = std::min(kRowsAtOnce, rows.rows() - first);
    raw.resize(count * transform.input_dim());
    is_finite.resize(count);
    prepared.resize(count * transform.output_dim());
    rows.read_features(first, count, raw);
    transform(raw, prepared, is_finite);
    visit(first / stride, prepared, is_finite);
  }
}

// exp(s_c(z) - max_c s_c(z)) of the rows that for_each_block shows, m x K; rows of zeros for those that are not
// finite.
std::vector<double> likelihoods(const LinearScores& scores, const RowTransform& transform, ShardedArray& rows,
                                std::uint64_t stride) {
  const std::size_t classes = scores.bias.size();
  std::vector<double> of_rows(rows_shown(rows.rows(), stride) * classes);
  for_each_block(rows, transform, stride,
                 [&](std::uint64_t first, const std::vector<double>& block, const std::vector<char>& is_finite) {
                   const std::vector<double> products = inner_products(block, scores.weights, transform.output_dim());
                   std::vector<double> s(classes);
                   for (std::size_t row = 0; row < is_finite.size(); ++row) {
                     if (is_finite[row] == 0) continue;
                     for (std::size_t c = 0; c < classes; ++c) s[c] = scores.bias[c] + products[row * classes + c];
                     const double largest = std::ranges::max(s);
                     for (std::size_t c = 0; c < classes; ++c)
                       of_rows[(first + row) * classes + c] = std::exp(s[c] - largest);
                   }
                 });
  return of_rows;
}

// p_zc = likelihood_zc pi_c / p_z, p_z = sum_c likelihood_zc pi_c, in place of likelihoods; rows of zeros stay so.
// Returns N.
std::vector<double> posteriors_by_mix(std::vector<double>& likelihood, std::size_t classes) {
  const auto rows = static_cast<int>(likelihood.size() / classes);
  const auto columns = static_cast<int>(classes);
  const auto times = [&](CBLAS_TRANSPOSE transpose, const std::vector<double>& x, std::vector<double>& product) {
    cblas_dgemv(CblasRowMajor, transpose, rows, columns, 1.0, likelihood.data(), columns, x.data(), 1, 0.0,
                product.data(), 1);
  };
  std::vector<double> mix(classes, 1.0 / static_cast<double>(classes));
  std::vector<double> shares(likelihood.size() / classes);  // 1 / p_z, 0 of a row of zeros
  std::vector<double> sizes(classes);
  const auto find_sizes = [&] {
    times(CblasNoTrans, mix, shares);
    for (double& share : shares) share = share > 0.0 ? 1.0 / share : 0.0;
    times(CblasTrans, shares, sizes);
    for (std::size_t c = 0; c < classes; ++c) sizes[c] *= mix[c];
  };
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    find_sizes();
    const double total = std::accumulate(sizes.begin(), sizes.end(), static_cast<double>(classes));
    for (std::size_t c = 0; c < classes; ++c) mix[c] = (sizes[c] + 1.0) / total;
  }
  find_sizes();
  for (std::size_t e = 0; e < likelihood.size(); ++e) likelihood[e] *= shares[e / classes] * mix[e % classes];
  return sizes;
}

double trace_of(const std::vector<double>& matrix, std::size_t dim) {
  double trace = 0.0;
  for (std::size_t a = 0; a < dim; ++a) trace += matrix[a * dim + a];
  return trace;
}

}  // namespace

LinearScores with_public_refit(LinearScores scores, Preprocessing preprocessing, ShardedArray& rows,
                               std::uint64_t most_posteriors) {
  preprocessing.intercept = 0.0;
  const RowTransform transform(std::move(preprocessing));
  const std::size_t dim = transform.output_dim();
  const std::size_t classes = scores.bias.size();
  DPREDUCE_ASSERT(scores.weights.size() == classes * dim);
  use_one_blas_thread();

  const std::uint64_t stride = stride_of(rows.rows(), classes, most_posteriors);
  std::vector<double> posterior = likelihoods(scores, transform, rows, stride);
  const std::vector<double> sizes = posteriors_by_mix(posterior, classes);
  const double whole_rows = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  if (!(whole_rows >= 1.0)) return scores;

  // mu_c and, above its diagonal, D
  const auto order = static_cast<int>(dim);
  const auto columns = static_cast<int>(classes);
  std::vector<double> means(classes * dim);
  std::vector<double> spread(dim * dim);
  for_each_block(rows, transform, stride,
                 [&](std::uint64_t first, const std::vector<double>& block, const auto& shown) {
                   const auto count = static_cast<int>(shown.size());
                   cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, columns, order, count, 1.0,
                               &posterior[first * classes], columns, block.data(), order, 1.0, means.data(), order);
                   cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, order, count, 1.0, block.data(), order, 1.0,
                               spread.data(), order);
                 });
  for (std::size_t c = 0; c < classes; ++c) {
    cblas_dscal(order, 1.0 / std::max(sizes[c], std::numeric_limits<double>::min()), &means[c * dim], 1);
    cblas_dsyr(CblasRowMajor, CblasUpper, order, -sizes[c], &means[c * dim], 1, spread.data(), order);
  }
  for (double& entry : spread) entry /= whole_rows;
  const double trace = trace_of(spread, dim);
  if (!(trace > 0.0)) return scores;

  // E mu_c
  std::vector<double> directions = means;
  solve_exact_ridge(spread, trace / whole_rows, directions);
  std::ranges::transform(scores.weights, directions, scores.weights.begin(), std::plus());
  for (std::size_t c = 0; c < classes; ++c) {
    scores.bias[c] -= 0.5 * cblas_ddot(order, &means[c * dim], 1, &directions[c * dim], 1);
  }
  return scores;
}

std::size_t public_refit_bytes(std::size_t classes, std::size_t dim, std::uint64_t public_rows) {
  return sizeof(double) * (rows_shown(public_rows, stride_of(public_rows, classes, kMostPosteriors)) * (classes + 1) +
                           dim * dim + 3 * classes * dim + kRowsAtOnce * 2 * dim);
}

namespace {

constexpr double kNoiseLeft = 0.2;  // of s; .1 and .3 are within a point

// T, d x d, of which the upper triangle is used.
std::vector<double> target_of(const ReleasedBlock& of_public, double trace, const Lattice& lattice) {
  const std::size_t dim = lattice.dim;
  const auto d = static_cast<double>(dim);
  std::vector<double> target = gram_in_units(of_public, lattice);
  const double one_row = lattice.clip_norm * lattice.clip_norm;
  const double public_trace = std::max(trace_of(target, dim), one_row);
  double squares = 0.0;
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t b = a; b < dim; ++b) {
      double& entry = target[a * dim + b];
      entry /= public_trace;
      squares += (a == b ? 1.0 : 2.0) * entry * entry;
    }
  }
  const double unknown = std::max(1.0 - squares, 0.0) * one_row / public_trace;
  const double uneven = squares - 1.0 / d;
  const double identity = uneven > unknown ? unknown / uneven : 1.0;
  for (double& entry : target) entry *= trace * (1.0 - identity);
  for (std::size_t a = 0; a < dim; ++a) target[a * dim + a] += trace * identity / d;
  return target;
}

}  // namespace

ReleasedBlock gram_about_public(const ReleasedBlock& gram, const ReleasedBlock& of_public, const Lattice& lattice) {
  if (gram.sigma() == 0.0) return gram;
  const std::size_t dim = lattice.dim;
  const double unit = lattice.scale() * lattice.scale();
  const double sigma = gram.sigma() / unit;
  std::vector<double> difference = gram_in_units(gram, lattice);
  const double trace = std::max(trace_of(difference, dim), sigma * std::sqrt(static_cast<double>(dim)));
  const std::vector<double> target = target_of(of_public, trace, lattice);
  for (std::size_t e = 0; e < difference.size(); ++e) difference[e] -= target[e];
  const GramSpectrum spectrum(std::move(difference), sigma);
  std::vector<double> identity(dim * dim, 0.0);
  for (std::size_t a = 0; a < dim; ++a) identity[a * dim + a] = 1.0;
  const std::vector<double> cleaned = spectrum.rows_of(spectrum.coordinates(identity), spectrum.signed_eigenvalues());
  std::vector<std::int64_t> values(triangle_elements(dim));
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t b = a; b < dim; ++b) {
      values[triangle_row(a, dim) + b - a] = std::llround((target[a * dim + b] + cleaned[a * dim + b]) * unit);
    }
  }
  return {gram.name(), std::move(values), kNoiseLeft * gram.sigma()};
}

}  // namespace dpreduce
