// Squared sensitivities that a statistic declares, in units that tests can read.
#pragma once

#include "common/ledger/triangle.hpp"
#include "tests/testing.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce {

inline constexpr std::uint64_t kS2 = kSquaredNorm;
inline constexpr std::uint64_t kS4 = kFourthNorm;

/// One row a profile, one column a block.
using Squares = std::vector<std::vector<std::uint64_t>>;

inline Squares declared_squares(std::string_view statistic, const ReleaseTerms& terms) {
  Squares squares;
  for (const SensitivityProfile& profile : registered_statistic(statistic).request(terms, 1.0).profiles) {
    squares.push_back(profile.squared_l2);
  }
  return squares;
}

/// Squared distance of two values of a block in the norm of its noise, exact: elements beside the diagonal of a
/// symmetric block have half the variance and count twice.
inline long double squared_difference(const BlockRequest& block, std::span<const std::int64_t> a,
                                      std::span<const std::int64_t> b) {
  std::vector<long double> counts(a.size(), 1.0L);
  if (block.noise == BlockNoise::kSymmetric) {
    const std::uint64_t triangle = a.size() / block.triangles;
    const std::uint64_t order = triangle_order(triangle).value();
    counts.assign(a.size(), 2.0L);
    for (std::uint64_t first = 0; first < a.size(); first += triangle) {
      for (std::uint64_t i = 0; i < order; ++i) counts[first + triangle_row(i, order)] = 1.0L;
    }
  }
  long double sum = 0.0L;
  for (std::size_t e = 0; e < a.size(); ++e) {
    const auto difference = static_cast<long double>(a[e] - b[e]);
    sum += counts[e] * difference * difference;
  }
  return sum;
}

/// Weights of three classes, so steep that residuals reach every length.
inline std::vector<double> steep_weights(std::size_t dim) {
  std::mt19937 engine(11);
  std::normal_distribution<double> normal(0.0, 4.0);
  std::vector<double> weights(3 * dim);
  for (double& entry : weights) entry = normal(engine);
  return weights;
}

}  // namespace dpreduce
