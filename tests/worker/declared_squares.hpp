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

/// The most that any of them declares of each block.
inline std::vector<std::uint64_t> largest_squares(const std::vector<SensitivityProfile>& profiles) {
  std::vector<std::uint64_t> largest(profiles.front().squared_l2.size(), 0);
  for (const SensitivityProfile& profile : profiles) {
    for (std::size_t block = 0; block < largest.size(); ++block) {
      largest[block] = std::max(largest[block], profile.squared_l2[block]);
    }
  }
  return largest;
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

/// The same of every block.
inline std::vector<long double> squared_differences(const ReleaseRequest& request, const Statistic& a,
                                                    const Statistic& b) {
  std::vector<long double> squares;
  for (std::size_t block = 0; block < a.shape().size(); ++block) {
    squares.push_back(squared_difference(request.blocks[block], a.block(block), b.block(block)));
  }
  return squares;
}

/// Shares of precisions of so many blocks: every ratio of up to three, in steps of a fiftieth; of more blocks each
/// alone, and some that are drawn.
inline std::vector<std::vector<double>> precision_shares(std::size_t blocks) {
  std::vector<std::vector<double>> all;
  if (blocks <= 3) {
    constexpr int kRatios = 50;
    for (int step = 0; step <= kRatios; ++step) {
      for (int rest = 0; rest <= kRatios - step; ++rest) {
        all.push_back({static_cast<double>(step) / kRatios, static_cast<double>(rest) / kRatios,
                       static_cast<double>(kRatios - step - rest) / kRatios});
      }
    }
    return all;
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    all.emplace_back(blocks, 0.0);
    all.back()[block] = 1.0;
  }
  std::mt19937 engine(3);
  std::exponential_distribution<double> share(1.0);
  for (int drawn = 0; drawn < 500; ++drawn) {
    all.emplace_back(blocks);
    for (double& one : all.back()) one = std::pow(share(engine), 3.0);
  }
  return all;
}

/// Whether no noise whatsoever makes the change cost more than the worst profile, up to rounding: tried for many ratios
/// of precisions. (Noise of a block is 1 / sqrt(precision); costs are linear in the precisions.)
template <typename Number>
bool is_within(const std::vector<long double>& squares, const std::vector<SensitivityProfile>& profiles,
               Number tolerance) {
  const std::vector<std::uint64_t> declared = largest_squares(profiles);
  for (const std::vector<double>& shares : precision_shares(squares.size())) {
    const auto cost = [&](const auto& change) {
      Number sum = 0;
      for (std::size_t block = 0; block < change.size(); ++block) {
        sum += static_cast<Number>(shares[block]) * static_cast<Number>(change[block]) /
               static_cast<Number>(declared[block]);
      }
      return sum;
    };
    Number worst = 0;
    for (const SensitivityProfile& profile : profiles) worst = std::max(worst, cost(profile.squared_l2));
    if (cost(squares) > worst * (1 + tolerance)) return false;
  }
  return true;
}

}  // namespace dpreduce
