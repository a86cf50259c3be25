#include "aggregator/solvers/public_refit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <cblas.h>

#include "aggregator/solvers/blas.hpp"
#include "aggregator/solvers/cleaned_ridge.hpp"
#include "aggregator/solvers/gram_spectrum.hpp"
#include "common/base/error.hpp"
#include "common/ledger/triangle.hpp"

namespace dpreduce {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

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
  RowMajor prepared;
  for (std::uint64_t first = 0; first < rows.rows(); first += stride * kRowsAtOnce) {
    const std::uint64_t count = std::min(kRowsAtOnce, rows.rows() - first);
    raw.resize(count * transform.input_dim());
    is_finite.resize(count);
    prepared.resize(static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(transform.output_dim()));
    rows.read_features(first, count, raw);
    transform(raw, std::span(prepared.data(), static_cast<std::size_t>(prepared.size())), is_finite);
    visit(static_cast<Eigen::Index>(first / stride), prepared, is_finite);
  }
}

// exp(s_c(z) - max_c s_c(z)) of the rows that for_each_block shows, m x K; rows of zeros for those that are not
// finite.
RowMajor likelihoods(const LinearScores& scores, const RowTransform& transform, ShardedArray& rows,
                     std::uint64_t stride) {
  const auto classes = static_cast<Eigen::Index>(scores.bias.size());
  const auto dim = static_cast<int>(transform.output_dim());
  const Eigen::Map<const Eigen::RowVectorXd> bias(scores.bias.data(), classes);
  RowMajor of_rows = RowMajor::Zero(static_cast<Eigen::Index>(rows_shown(rows.rows(), stride)), classes);
  for_each_block(
      rows, transform, stride, [&](Eigen::Index first, const RowMajor& block, const std::vector<char>& is_finite) {
        RowMajor s = bias.replicate(block.rows(), 1);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(block.rows()), static_cast<int>(classes),
                    dim, 1.0, block.data(), dim, scores.weights.data(), dim, 1.0, s.data(), static_cast<int>(classes));
        for (Eigen::Index row = 0; row < s.rows(); ++row) {
          if (is_finite[static_cast<std::size_t>(row)] == 0) continue;
          of_rows.row(first + row) = (s.row(row).array() - s.row(row).maxCoeff()).exp();
        }
      });
  return of_rows;
}

// p_zc from likelihoods, in their place; rows of zeros stay so. Returns N.
Eigen::VectorXd posteriors_by_mix(RowMajor& likelihood) {
  const Eigen::Index rows = likelihood.rows();
  const Eigen::Index classes = likelihood.cols();
  const auto share = [](double total) { return total > 0.0 ? 1.0 / total : 0.0; };
  Eigen::VectorXd mix = Eigen::VectorXd::Constant(classes, 1.0 / static_cast<double>(classes));
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    Eigen::VectorXd sizes = Eigen::VectorXd::Ones(classes);
    for (Eigen::Index row = 0; row < rows; ++row) {
      sizes += share(likelihood.row(row).dot(mix)) * likelihood.row(row).transpose().cwiseProduct(mix);
    }
    mix = sizes / sizes.sum();
  }
  Eigen::VectorXd sizes = Eigen::VectorXd::Zero(classes);
  for (Eigen::Index row = 0; row < rows; ++row) {
    likelihood.row(row) =
        (share(likelihood.row(row).dot(mix)) * likelihood.row(row).transpose().cwiseProduct(mix)).transpose();
    sizes += likelihood.row(row).transpose();
  }
  return sizes;
}

}  // namespace

LinearScores with_public_refit(LinearScores scores, Preprocessing preprocessing, ShardedArray& rows,
                               std::uint64_t most_posteriors) {
  preprocessing.intercept = 0.0;
  const RowTransform transform(std::move(preprocessing));
  const auto dim = static_cast<Eigen::Index>(transform.output_dim());
  const auto classes = static_cast<Eigen::Index>(scores.bias.size());
  DPREDUCE_ASSERT(scores.weights.size() == static_cast<std::size_t>(classes * dim));
  use_one_blas_thread();

  const std::uint64_t stride = stride_of(rows.rows(), scores.bias.size(), most_posteriors);
  RowMajor posterior = likelihoods(scores, transform, rows, stride);
  const Eigen::VectorXd sizes = posteriors_by_mix(posterior);
  const double whole_rows = sizes.sum();
  if (!(whole_rows >= 1.0)) return scores;

  // mu_c and, above its diagonal, D
  const auto order = static_cast<int>(dim);
  RowMajor means = RowMajor::Zero(classes, dim);
  RowMajor spread = RowMajor::Zero(dim, dim);
  for_each_block(rows, transform, stride, [&](Eigen::Index first, const RowMajor& block, const std::vector<char>&) {
    const auto count = static_cast<int>(block.rows());
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, static_cast<int>(classes), order, count, 1.0,
                posterior.row(first).data(), static_cast<int>(classes), block.data(), order, 1.0, means.data(), order);
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, order, count, 1.0, block.data(), order, 1.0, spread.data(),
                order);
  });
  for (Eigen::Index c = 0; c < classes; ++c) {
    means.row(c) /= std::max(sizes[c], std::numeric_limits<double>::min());
    cblas_dsyr(CblasRowMajor, CblasUpper, order, -sizes[c], means.row(c).data(), 1, spread.data(), order);
  }
  spread /= whole_rows;
  const double trace = spread.trace();
  if (!(trace > 0.0)) return scores;

  // E mu_c
  RowMajor directions = means;
  solve_exact_ridge({spread.data(), static_cast<std::size_t>(spread.size())}, trace / whole_rows,
                    {directions.data(), static_cast<std::size_t>(directions.size())});
  for (Eigen::Index c = 0; c < classes; ++c) {
    Eigen::Map<Eigen::RowVectorXd>(&scores.weights[static_cast<std::size_t>(c * dim)], dim) += directions.row(c);
    scores.bias[static_cast<std::size_t>(c)] -= 0.5 * means.row(c).dot(directions.row(c));
  }
  return scores;
}

std::size_t public_refit_bytes(std::size_t classes, std::size_t dim, std::uint64_t public_rows) {
  return sizeof(double) * (rows_shown(public_rows, stride_of(public_rows, classes, kMostPosteriors)) * classes +
                           dim * dim + 3 * classes * dim + kRowsAtOnce * 2 * dim);
}

namespace {

constexpr double kNoiseLeft = 0.2;  // of s; .1 and .3 are within a point

double trace_of(const std::vector<double>& matrix, std::size_t dim) {
  double trace = 0.0;
  for (std::size_t a = 0; a < dim; ++a) trace += matrix[a * dim + a];
  return trace;
}

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
