#include "aggregator/solvers/column_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/base/error.hpp"
#include "common/plan/column_bins.hpp"

namespace dpreduce {
namespace {

// A count of noise alone passes the first in one of 14,000 columns. It passes the second in one of three, so that what
// only does that is believed near other counts alone: so far, in bins.
constexpr double kSurelySeenInSigmas = 5.0;
constexpr double kSeenInSigmas = 3.0;
constexpr std::size_t kNear = 3;
// So that one target in a hundred, however large, is beyond the range. A larger share clips more of skewed targets: at
// .05 R^2 is .006 less (docs/experiments/regression.md, sets that constants were chosen on).
constexpr double kShareBeyond = 0.02;
// Columns of one encoder differ less, up to 64 of them, and those in units of their own more. Between, either does.
constexpr double kMostAlike = 16.0;

// The counts of one column that are more than noise.
std::vector<double> seen(const ReleasedBlock& sizes, std::size_t column) {
  std::vector<double> counts;
  for (const std::int64_t size : sizes.values().subspan(column * kColumnBins, kColumnBins)) {
    counts.push_back(std::max(static_cast<double>(size), 0.0));
  }
  std::vector<char> is_seen(kColumnBins);
  for (std::size_t bin = 0; bin < kColumnBins; ++bin) is_seen[bin] = counts[bin] >= kSurelySeenInSigmas * sizes.sigma();
  const auto believe = [&](std::size_t bin, std::size_t first, std::size_t last) {
    const bool is_near =
        std::any_of(is_seen.begin() + static_cast<std::ptrdiff_t>(first),
                    is_seen.begin() + static_cast<std::ptrdiff_t>(last), [](char is) { return is != 0; });
    if (is_near && counts[bin] >= kSeenInSigmas * sizes.sigma()) is_seen[bin] = 1;
  };
  for (std::size_t bin = 1; bin < kColumnBins; ++bin) believe(bin, bin - std::min(bin, kNear), bin);
  for (std::size_t bin = kColumnBins - 1; bin-- > 0;) believe(bin, bin + 1, std::min(bin + 1 + kNear, kColumnBins));
  for (std::size_t bin = 0; bin < kColumnBins; ++bin) {
    if (is_seen[bin] == 0) counts[bin] = 0.0;
  }
  return counts;
}

double median_of(const std::vector<double>& counts) {
  const double half = 0.5 * std::accumulate(counts.begin(), counts.end(), 0.0);
  double below = 0.0;
  for (std::size_t bin = 0; half > 0.0 && bin < counts.size(); ++bin) {
    if (below + counts[bin] < half) {
      below += counts[bin];
      continue;
    }
    const auto [low, high] = edges_of_signed_bin(bin);
    return low + (high - low) * (half - below) / counts[bin];
  }
  return 0.0;
}

double scale_of(const std::vector<double>& counts) {
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (all == 0.0) return 0.0;
  double above = all;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    above -= counts[bin];
    if (above <= kShareBeyond * all) return upper_edge_of_distance(bin);
  }
  return upper_edge_of_distance(kColumnBins - 1);
}

}  // namespace

std::vector<double> column_medians(const ReleasedBlock& sizes) {
  DPREDUCE_ASSERT(sizes.values().size() % kColumnBins == 0);
  std::vector<double> medians;
  for (std::size_t column = 0; column * kColumnBins < sizes.values().size(); ++column) {
    medians.push_back(median_of(seen(sizes, column)));
  }
  return medians;
}

std::vector<double> column_scales(const ReleasedBlock& sizes, std::span<const double> medians) {
  DPREDUCE_ASSERT(sizes.values().size() == medians.size() * kColumnBins);
  std::vector<double> scales;
  for (std::size_t column = 0; column < medians.size(); ++column) {
    scales.push_back(scale_of(seen(sizes, column)));
  }
  return scales;
}

std::vector<double> usable_scales(std::span<const double> medians, std::vector<double> scales) {
  DPREDUCE_ASSERT(medians.size() == scales.size());
  const double largest = scales.empty() ? 0.0 : *std::ranges::max_element(scales);
  const double usual = largest > 0.0 ? largest : 1.0;
  for (std::size_t column = 0; column < scales.size(); ++column) {
    if (scales[column] > 0.0) continue;
    scales[column] = medians[column] != 0.0 ? std::abs(medians[column]) : usual;
  }
  return scales;
}

bool are_alike(std::span<const double> medians, std::span<const double> scales) {
  DPREDUCE_ASSERT(medians.size() == scales.size());
  const auto hidden = static_cast<std::size_t>(std::ranges::count(scales, 0.0));
  if (2 * hidden > scales.size()) return true;
  double largest = 0.0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t column = 0; column < scales.size(); ++column) {
    if (scales[column] <= upper_edge_of_distance(0)) continue;
    largest = std::max(largest, std::abs(medians[column]) + scales[column]);
    least = std::min(least, scales[column]);
  }
  return largest <= kMostAlike * least;
}

}  // namespace dpreduce
