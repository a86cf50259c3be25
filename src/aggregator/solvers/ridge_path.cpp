#include "aggregator/solvers/ridge_path.hpp"

#include <algorithm>
#include <cmath>

#include <cblas.h>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "aggregator/solvers/least_squares.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// The smaller, the less noise W has beside that of the release, and the more the second part has.
constexpr double kFission = 0.5;

// A release by its eigenvectors: eigenvalues, and class sums along them.
struct SplitRelease {
  SplitRelease(const Release& release, const Lattice& lattice, std::size_t most_components)
      : spectrum(release.block("gram"), lattice),
        sums(spectrum.coordinates(in_units(release.block("class_sums"), lattice.scale()))),
        components(most_components) {}

  std::vector<double> factors(double ridge) const { return spectrum.inverse_factors(ridge, components); }

  GramSpectrum spectrum;
  std::vector<double> sums;  // C = B V^T, K x d
  std::size_t components;    // that W may have a part of; 0: all
};

// sum_c C_cj D_cj for each j.
std::vector<double> products_of_columns(std::span<const double> one, std::span<const double> other, std::size_t dim) {
  std::vector<double> products(dim, 0.0);
  for (std::size_t e = 0; e < one.size(); ++e) products[e % dim] += one[e] * other[e];
  return products;
}

// Adds tr(W G W^T) - 2 tr(W B^T) for each ridge, W of `train` and the rest of `held_out`. Along the eigenvectors of
// `train`, W = C diag(f) and G is M, so that the trace is sum_jk f_j f_k (C^T C o M)_jk: d^2 for each ridge.
void add_losses(const SplitRelease& train, const Release& held_out, const Lattice& lattice,
                std::span<const double> ridges, std::vector<double>& losses) {
  const std::size_t dim = lattice.dim;
  const auto order = static_cast<int>(dim);
  const auto classes = static_cast<int>(train.sums.size() / dim);
  std::vector<double> matrix =
      train.spectrum.coordinates(symmetric(gram_in_units(held_out.block("gram"), lattice), dim));
  std::vector<double> transposed(dim * dim);
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t b = 0; b < dim; ++b) transposed[b * dim + a] = matrix[a * dim + b];
  }
  matrix = train.spectrum.coordinates(transposed);
  std::vector<double> squares(dim * dim);  // C^T C
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, order, order, classes, 1.0, train.sums.data(), order,
              train.sums.data(), order, 0.0, squares.data(), order);
  for (std::size_t e = 0; e < matrix.size(); ++e) matrix[e] *= squares[e];
  const std::vector<double> cross = products_of_columns(
      train.sums, train.spectrum.coordinates(in_units(held_out.block("class_sums"), lattice.scale())), dim);
  std::vector<double> product(dim);
  for (std::size_t m = 0; m < ridges.size(); ++m) {
    const std::vector<double> factors = train.factors(ridges[m]);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, order, order, 1.0, matrix.data(), order, factors.data(), 1, 0.0,
                product.data(), 1);
    for (std::size_t j = 0; j < dim; ++j) losses[m] += factors[j] * (product[j] - 2.0 * cross[j]);
  }
}

}  // namespace

std::vector<RidgePoint> ridge_path(const Release& release, const Lattice& lattice, std::span<const double> ridges,
                                   const RowTotals& rows, std::uint64_t seed, std::size_t components) {
  const ReleasedBlock& gram = release.block("gram");
  const ReleasedBlock& sums = release.block("class_sums");
  DPREDUCE_ASSERT(gram.sigma() > 0.0 && sums.sigma() > 0.0 && rows.count >= 1.0 && components <= lattice.dim);
  std::vector<double> losses(ridges.size(), 0.0);
  const auto with_factor = [&](double factor) {
    return Release({with_noise(gram, factor, lattice.dim, {seed, 0}), with_noise(sums, factor, 0, {seed, 1})});
  };
  for (const double sign : {1.0, -1.0}) {
    const SplitRelease train(with_factor(sign * kFission), lattice, components);
    add_losses(train, with_factor(-sign / kFission), lattice, ridges, losses);
  }

  const SplitRelease whole(release, lattice, components);
  const std::vector<double> squares = products_of_columns(whole.sums, whole.sums, lattice.dim);
  const double classes = static_cast<double>(whole.sums.size() / lattice.dim);
  const double scale = lattice.scale();
  const double gram_variance = std::pow(gram.sigma() / (scale * scale), 2) / 2.0;
  const double sums_variance = classes * std::pow(sums.sigma() / scale, 2);
  std::vector<RidgePoint> path;
  for (std::size_t m = 0; m < ridges.size(); ++m) {
    const std::vector<double> factors = whole.factors(ridges[m]);
    double squared_norm_of_weights = 0.0;
    double degrees = 0.0;
    double spread = 0.0;
    double own = 0.0;
    for (std::size_t j = 0; j < factors.size(); ++j) {
      const double g = whole.spectrum.eigenvalues()[j];
      const double squared = factors[j] * factors[j];
      squared_norm_of_weights += squares[j] * squared;
      degrees += g * factors[j];
      spread += g * squared;
      own += squares[j] * squared * g * squared;
    }
    const double noise = (sums_variance + gram_variance * squared_norm_of_weights) * spread + gram_variance * own;
    const double scores = rows.count * classes;
    const double loss = std::max(0.0, (losses[m] / 2.0 + rows.squared_targets) / scores);
    path.push_back({ridges[m], std::sqrt(noise / scores), loss * (1.0 + 2.0 * degrees / rows.count)});
  }
  return path;
}

}  // namespace dpreduce
