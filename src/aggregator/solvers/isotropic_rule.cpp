#include "aggregator/solvers/isotropic_rule.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/base/error.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/triangle.hpp"

namespace dpreduce {
namespace {

constexpr double kUsualOfClusters = 1.0;
constexpr double kLeastOfFeatures = 4.0;
constexpr double kUsualOfEmbeddings = 10.0;
constexpr double kLeaning = 0.3;      // h
constexpr double kFalseAlarm = 2.33;  // z: a normal deviate is beyond it in one of 100 draws
constexpr double kDeviationsOfSizes = 2.0;
// Largest share of a row's squared length that its class mean may take.
constexpr double kMostOfMeans = 0.9;

// s in rows.
double in_rows(double sigma) {
  return sigma / (double{kLatticeNorm} * kLatticeNorm);
}

double freedoms_of(double order) {
  return order * (order + 1.0) / 2.0 - 1.0;
}

// v of one row's share of noise, s / n~: of what m squares of noise add up to; and with it the deviation of an excess
// that is `excess` without noise.
double noise_of_squares(double order, double noise_share) {
  return noise_share * noise_share * std::sqrt(2.0 * freedoms_of(order));
}

double deviation_of(double excess, double noise, double noise_share) {
  return std::hypot(noise, 2.0 * noise_share * std::sqrt(excess));
}

double largest_excess_of_means(std::size_t dim, double noise, double noise_share) {
  const auto d = static_cast<double>(dim);
  const double of_embeddings = kUsualOfEmbeddings / d;
  return std::min((kUsualOfClusters + kLeastOfFeatures) / 2.0 / d -
                      kLeaning * noise * noise * d / (kLeastOfFeatures - kUsualOfClusters),
                  of_embeddings - kFalseAlarm * deviation_of(of_embeddings, noise, noise_share));
}

// n mu / sqrt(d K).
double signal_of(double rows, double sigma_in_rows, double share, std::size_t dim, std::size_t classes) {
  return rows / (sigma_in_rows * std::sqrt(share) * std::sqrt(static_cast<double>(dim * classes)));
}

// Share of a normal distribution below `bound`.
double share_below(double bound, double mean, double deviation) {
  return 0.5 * std::erfc((mean - bound) / (deviation * std::sqrt(2.0)));
}

}  // namespace

Isotropy isotropy_of(const ReleasedBlock& gram) {
  const auto order = triangle_order(gram.values().size());
  DPREDUCE_ASSERT(order.has_value());
  const auto k = static_cast<double>(*order);
  const double one_row = double{kLatticeNorm} * kLatticeNorm;
  const double s = in_rows(gram.sigma());
  double squares = 0.0;
  double trace = 0.0;
  std::size_t place = 0;
  for (std::uint64_t i = 0; i < *order; ++i) {
    for (std::uint64_t j = i; j < *order; ++j) {
      const double entry = static_cast<double>(gram.values()[place++]) / one_row;
      squares += (i == j ? 1.0 : 2.0) * entry * entry;
      if (i == j) trace += entry;
    }
  }
  const double freedoms = freedoms_of(k);
  const double rows = std::max({trace, s * std::sqrt(k), 1.0});
  return {.rows = rows,
          .excess = (squares - trace * trace / k - freedoms * s * s) / (rows * rows),
          .noise = noise_of_squares(k, s / rows),
          .sigma = s};
}

bool wants_means(const Isotropy& isotropy, double share, std::size_t dim, std::size_t classes) {
  return isotropy.sigma > 0.0 &&
         signal_of(isotropy.rows, isotropy.sigma, share, dim, classes) <= kLargestSignalOfMeans &&
         isotropy.excess < largest_excess_of_means(dim, isotropy.noise, isotropy.sigma / isotropy.rows);
}

MeansForecast means_forecast(double rows, const PlannedBlock& gram, double share, std::size_t dim,
                             std::size_t classes) {
  const double s = in_rows(gram.sigma);
  MeansForecast forecast{.signal = signal_of(rows, s, share, dim, classes), .even_rows = 0.0, .uneven_rows = 0.0};
  if (forecast.signal > kLargestSignalOfMeans) return forecast;
  const auto order = static_cast<double>(triangle_order(gram.elements).value());
  const double noise = noise_of_squares(order, s / rows);
  const double bound = largest_excess_of_means(dim, noise, s / rows);
  const auto share_of = [&](double of_dim) {
    const double excess = of_dim / static_cast<double>(dim);
    return share_below(bound, excess, deviation_of(excess, noise, s / rows));
  };
  forecast.even_rows = share_of(kUsualOfClusters);
  forecast.uneven_rows = share_of(kLeastOfFeatures);
  return forecast;
}

std::vector<double> scores_of_class_means(std::span<const double> gradient, double sigma, double count,
                                          const Preprocessing& rows) {
  const std::size_t stride = rows.output_dim();
  const std::size_t dim = rows.dim();
  DPREDUCE_ASSERT(rows.intercept > 0.0 && stride == dim + 1 && gradient.size() % stride == 0);
  const std::size_t classes = gradient.size() / stride;
  const auto d = static_cast<double>(dim);
  const auto k = static_cast<double>(classes);
  const double one_row = rows.clip_norm * rows.clip_norm;
  const double feature = std::sqrt(1.0 - rows.intercept);  // of a prepared row, as its coordinates are scaled
  const double constant = std::sqrt(rows.intercept) * rows.clip_norm;  // its last coordinate

  const double noise_of_sum = sigma / feature;
  const double noise_of_size = sigma / constant;
  std::vector<double> sizes(classes);
  double squared_sizes = 0.0;
  for (std::size_t c = 0; c < classes; ++c) {
    sizes[c] = count / k - gradient[c * stride + dim] / constant;
    squared_sizes += sizes[c] * sizes[c] - noise_of_size * noise_of_size;
  }
  // L^2 = sum_c |D_c|^2 / sum_c n_c^2, each less its noise, and no less than noise alone may hide.
  double squares = 0.0;
  for (std::size_t e = 0; e < gradient.size(); ++e) squares += e % stride < dim ? gradient[e] * gradient[e] : 0.0;
  const double squared_sums = std::max(squares / (feature * feature) - k * d * noise_of_sum * noise_of_sum,
                                       noise_of_sum * noise_of_sum * std::sqrt(2.0 * k * d));
  squared_sizes = std::max(squared_sizes, count * count / k);  // what equal classes have, the least there is
  const double of_means = std::clamp(squared_sums / squared_sizes, 1e-12 * one_row, kMostOfMeans * one_row);
  const double noise_of_mean = noise_of_sum / (count / k);
  const double kept = of_means / (of_means + d * noise_of_mean * noise_of_mean);
  const double about_mean = (one_row - of_means) / d;
  const double rate = std::sqrt(of_means * kept) / (about_mean + (1.0 - kept) * of_means / d);

  std::vector<double> weights(gradient.size(), 0.0);
  for (std::size_t c = 0; c < classes; ++c) {
    const double* const sum = &gradient[c * stride];
    const double length = std::sqrt(squared_norm({sum, dim}));
    for (std::size_t a = 0; a < dim && length > 0.0; ++a) weights[c * stride + a] = -rate * sum[a] / (length * feature);
    weights[c * stride + dim] = std::log(std::max(sizes[c], 1.0) + kDeviationsOfSizes * noise_of_size) / constant;
  }
  return weights;
}

}  // namespace dpreduce
