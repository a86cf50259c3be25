#include "aggregator/solvers/released_preparation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/base/error.hpp"
#include "common/ledger/column_bins.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kStepsOfNoise = 8;           // s in steps of the grid
constexpr std::size_t kReach = 6 * kStepsOfNoise;  // of K, to either side
constexpr int kLawSteps = 120;
constexpr double kLeastEvidence = 4.0;

// sum_h K((g - h) s / 8) values_h for every g of the grid.
std::vector<double> smoothed(const std::vector<double>& values, const std::vector<double>& kernel) {
  std::vector<double> sums(values.size(), 0.0);
  for (std::size_t g = 0; g < values.size(); ++g) {
    if (values[g] == 0.0) continue;
    const std::size_t first = g > kReach ? g - kReach : 0;
    const std::size_t end = std::min(g + kReach + 1, values.size());
    for (std::size_t h = first; h < end; ++h) sums[h] += values[g] * kernel[h + kReach - g];
  }
  return sums;
}

}  // namespace

std::optional<std::vector<double>> denoised(std::span<const double> noised, double noise) {
  DPREDUCE_ASSERT(noise > 0.0 && !noised.empty());
  const auto [low, high] = std::ranges::minmax(noised);
  const double step = noise / static_cast<double>(kStepsOfNoise);
  const double origin = low;
  const auto cell_of = [&](double y) { return static_cast<std::size_t>(std::llround((y - origin) / step)); };
  std::vector<double> kernel(2 * kReach + 1);
  for (std::size_t k = 0; k < kernel.size(); ++k) {
    const double t = (static_cast<double>(k) - static_cast<double>(kReach)) / static_cast<double>(kStepsOfNoise);
    kernel[k] = std::exp(-0.5 * t * t);
  }
  const std::size_t cells = cell_of(high) + 1;
  std::vector<double> held(cells, 0.0);  // share of the y in each cell
  for (const double y : noised) held[cell_of(y)] += 1.0 / static_cast<double>(noised.size());
  std::vector<double> law(cells, 1.0 / static_cast<double>(cells));
  std::vector<double> ratio(cells);
  for (int iteration = 0; iteration < kLawSteps; ++iteration) {
    const std::vector<double> density = smoothed(law, kernel);
    for (std::size_t g = 0; g < cells; ++g) ratio[g] = held[g] > 0.0 ? held[g] / density[g] : 0.0;
    const std::vector<double> growth = smoothed(ratio, kernel);
    for (std::size_t g = 0; g < cells; ++g) law[g] *= growth[g];
  }
  const std::vector<double> density = smoothed(law, kernel);
  double evidence = 0.0;
  for (std::size_t g = 0; g < cells; ++g) {
    const double deviate = (origin + step * static_cast<double>(g)) / noise;
    if (held[g] > 0.0) evidence += held[g] * (std::log(density[g]) + 0.5 * deviate * deviate);
  }
  if (evidence * static_cast<double>(noised.size()) < kLeastEvidence) return std::nullopt;
  for (std::size_t g = 0; g < cells; ++g) law[g] *= static_cast<double>(g);
  const std::vector<double> moment = smoothed(law, kernel);
  std::vector<double> means(noised.begin(), noised.end());
  for (double& y : means) y = origin + step * moment[cell_of(y)] / density[cell_of(y)];
  return means;
}

namespace {

constexpr double kRowsLongerThanUsual = 1.15;  // g
constexpr double kSmallestRadius = 0.1;        // of C
constexpr double kLargestLeft = 0.6;           // of C
constexpr std::size_t kFewestDenoised = 64;    // coordinates that show a law
constexpr double kSmallestError = 0.02;        // e / |y|^2, below which y is left alone

}  // namespace

ReleasedCenter::ReleasedCenter(const Release& release, const Lattice& lattice)
    : lattice_(lattice), weighted_(lattice.dim, 0.0), mean_(lattice.dim, 0.0), ball_center_(lattice.dim, 0.0) {
  const ReleasedBlock& rows = release.block("row_count");
  count_ = std::max({static_cast<double>(rows.values().front()), rows.sigma(), 1.0});
  add(release.block("row_sum"), lattice.scale());
}

void ReleasedCenter::add_rest(const Release& release) {
  for (double& entry : ball_center_) entry = std::round(entry * lattice_.scale()) / lattice_.scale();
  add(release.block("rest_sum"), static_cast<double>(kLatticeNorm) / radius_);
}

// `unit` lattice units of the sum are a feature unit.
void ReleasedCenter::add(const ReleasedBlock& sum, double unit) {
  const double noise = sum.sigma() / (unit * count_);
  const double weight = noise > 0.0 ? 1.0 / (noise * noise) : 1.0;
  precision_ += weight;
  for (std::size_t a = 0; a < mean_.size(); ++a) {
    weighted_[a] += weight * (ball_center_[a] + static_cast<double>(sum.values()[a]) / (unit * count_));
    mean_[a] = weighted_[a] / precision_;
  }
  const double energy = squared_norm(mean_);
  const double error = noise > 0.0 ? static_cast<double>(mean_.size()) / precision_ : 0.0;
  const double kept = energy > 0.0 ? std::max(0.0, 1.0 - error / energy) : 0.0;
  const double longest = lattice_.clip_norm;
  std::optional<std::vector<double>> by_law;
  if (mean_.size() >= kFewestDenoised && error > kSmallestError * energy) {
    by_law = denoised(mean_, 1.0 / std::sqrt(precision_));
  }
  for (std::size_t a = 0; a < mean_.size(); ++a) mean_[a] = by_law ? (*by_law)[a] : kept * mean_[a];
  scale_to_clip_norm(mean_, Normalize::kNone, longest);
  if (noise == 0.0) {
    ball_center_ = mean_;
    radius_ = 2.0 * longest;
    return;
  }
  const double left = std::max(0.0, longest * longest - std::max(0.0, energy - error));
  if (kRowsLongerThanUsual * std::sqrt(left) > kLargestLeft * longest) {
    radius_ = longest;  // all rows, about 0
  } else {
    ball_center_ = mean_;
    radius_ = std::clamp(kRowsLongerThanUsual * std::sqrt(left + kept * error), kSmallestRadius * longest, longest);
  }
}

namespace {

// A count of noise alone passes the first in one of 3,000 columns. It passes the second in one of three, so that what
// only does that is believed near other counts alone: so far, in bins.
constexpr double kSurelySeenInSigmas = 5.0;
constexpr double kSeenInSigmas = 3.0;
constexpr std::size_t kNear = 3;
// A count of noise alone passes this in one of ten million columns.
constexpr double kSureInSigmas = 6.5;
// Numbers of which each bin has few are seen as a run of bins.
constexpr std::size_t kLongestRun = 8;
// So that one target in a hundred, however large, is beyond the range. A larger share clips more of skewed targets: at
// .05 R^2 is .006 less (docs/experiments/regression.md, sets that constants were chosen on).
constexpr double kShareBeyond = 0.02;
// Lengths of rows within so many bins say little: a table of which most columns are zeros and ones has 4 at most, and
// one of numbers 7 or more.
constexpr std::size_t kAlikeLengths = 5;
// Columns of one encoder differ less, up to 64 of them, and those in units of their own more. Between, either does.
constexpr double kMostAlike = 16.0;

// Marks bins that are surely more than noise: one, or a run of some of which none is.
std::vector<char> surely_seen(std::span<const double> counts, double sigma, double sigmas) {
  std::vector<char> is_seen(counts.size(), 0);
  for (std::size_t run = 1; run <= kLongestRun; run *= 2) {
    const std::vector<char> before = is_seen;
    for (std::size_t first = 0; first + run <= counts.size(); ++first) {
      const auto bins = counts.subspan(first, run);
      const auto known = std::span(before).subspan(first, run);
      if (std::ranges::any_of(known, [](char is) { return is != 0; })) continue;
      const double sum = std::accumulate(bins.begin(), bins.end(), 0.0);
      if (sum < sigmas * sigma * std::sqrt(static_cast<double>(run))) continue;
      for (std::size_t bin = first; bin < first + run; ++bin) is_seen[bin] = counts[bin] >= sigma ? 1 : 0;
    }
  }
  return is_seen;
}

// The counts of one column that are more than noise.
std::vector<double> seen(const ReleasedBlock& sizes, std::size_t column, std::size_t bins = kColumnBins,
                         double sigmas = kSurelySeenInSigmas) {
  std::vector<double> counts;
  for (const std::int64_t size : sizes.values().subspan(column * bins, bins)) {
    counts.push_back(static_cast<double>(size));
  }
  std::vector<char> is_seen = surely_seen(counts, sizes.sigma(), sigmas);
  const auto believe = [&](std::size_t bin, std::size_t first, std::size_t last) {
    const bool is_near =
        std::any_of(is_seen.begin() + static_cast<std::ptrdiff_t>(first),
                    is_seen.begin() + static_cast<std::ptrdiff_t>(last), [](char is) { return is != 0; });
    if (is_near && counts[bin] >= kSeenInSigmas * sizes.sigma()) is_seen[bin] = 1;
  };
  for (std::size_t bin = 1; bin < bins; ++bin) believe(bin, bin - std::min(bin, kNear), bin);
  for (std::size_t bin = bins - 1; bin-- > 0;) believe(bin, bin + 1, std::min(bin + 1 + kNear, bins));
  for (std::size_t bin = 0; bin < bins; ++bin) {
    if (is_seen[bin] == 0) counts[bin] = 0.0;
  }
  return counts;
}

// The bin of the median, and which part of the bin is below it; nothing where there are no counts.
std::optional<std::pair<std::size_t, double>> place_of_median(const std::vector<double>& counts) {
  const double half = 0.5 * std::accumulate(counts.begin(), counts.end(), 0.0);
  double below = 0.0;
  for (std::size_t bin = 0; half > 0.0 && bin < counts.size(); ++bin) {
    if (below + counts[bin] >= half) return std::pair{bin, (half - below) / counts[bin]};
    below += counts[bin];
  }
  return std::nullopt;
}

double between(std::pair<double, double> edges, double part) {
  return edges.first + (edges.second - edges.first) * part;
}

double median_of(const std::vector<double>& counts) {
  const auto place = place_of_median(counts);
  return place ? between(edges_of_signed_bin(place->first), place->second) : 0.0;
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

// Returns whether nearly all numbers are as far from m as 0 is, so that m is no median.
bool is_false_median(const std::vector<double>& counts, double median) {
  constexpr double kNearlyAll = 0.9;
  const double as_far = counts[distance_bin(std::abs(median))];
  return median != 0.0 && as_far > 0.0 && as_far >= kNearlyAll * std::accumulate(counts.begin(), counts.end(), 0.0);
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

ColumnWindows windows_about(std::vector<double> medians) {
  ColumnWindows windows{.medians = std::move(medians), .centers = {}, .halves = {}};
  for (const double median : windows.medians) {
    const auto [low, high] = edges_of_signed_bin(signed_bin(median));
    const double width = high > low ? high - low : 1.0;
    windows.centers.push_back(0.5 * (low + high));
    windows.halves.push_back(width);
  }
  return windows;
}

ColumnWindows narrowed(ColumnWindows windows, const ReleasedBlock& places) {
  DPREDUCE_ASSERT(places.values().size() == windows.medians.size() * kColumnBins);
  constexpr std::size_t kMostBins = 3;
  for (std::size_t column = 0; column < windows.medians.size(); ++column) {
    if (windows.medians[column] == 0.0) continue;  // most numbers are 0, or hidden
    const std::vector<double> counts = seen(places, column);
    const auto place = place_of_median(counts);
    if (!place || place->first == 0 || place->first + 1 == kColumnBins) continue;
    double& center = windows.centers[column];
    double& half = windows.halves[column];
    windows.medians[column] = center + half * between(edges_of_place(place->first), place->second);
    const auto is_empty = [](double count) { return count == 0.0; };
    const auto first = std::ranges::find_if_not(counts, is_empty);
    const auto last = std::find_if_not(counts.rbegin(), counts.rend(), is_empty).base();
    if (static_cast<std::size_t>(last - first) > kMostBins || counts.front() > 0.0 || counts.back() > 0.0) continue;
    const double edge = edges_of_place(static_cast<std::size_t>(first - counts.begin())).first;
    const double end = edges_of_place(static_cast<std::size_t>(last - counts.begin()) - 1).second;
    center += half * 0.5 * (edge + end);
    half *= 0.5 * (end - edge);
  }
  return windows;
}

std::vector<double> column_scales(const ReleasedBlock& spreads, std::span<const double> medians, Evidence evidence) {
  DPREDUCE_ASSERT(spreads.values().size() == medians.size() * kColumnBins);
  const double sigmas = evidence == Evidence::kSure ? kSureInSigmas : kSurelySeenInSigmas;
  std::vector<double> scales;
  for (std::size_t column = 0; column < medians.size(); ++column) {
    const std::vector<double> counts = seen(spreads, column, kColumnBins, sigmas);
    scales.push_back(is_false_median(counts, medians[column]) ? 0.0 : scale_of(counts));
  }
  return scales;
}

void forget_false_medians(std::vector<double>& medians, const ReleasedBlock& spreads) {
  DPREDUCE_ASSERT(spreads.values().size() == medians.size() * kColumnBins);
  for (std::size_t column = 0; column < medians.size(); ++column) {
    if (is_false_median(seen(spreads, column), medians[column])) medians[column] = 0.0;
  }
}

double usual_length(const ReleasedBlock& sizes, bool takes_alike) {
  const std::vector<double> counts = seen(sizes, 0, kLengthBins);
  const double few = kShareBeyond * std::accumulate(counts.begin(), counts.end(), 0.0);
  if (few == 0.0) return 0.0;
  std::size_t first = 0;
  for (double below = counts.front(); below <= few; below += counts[++first]) {
  }
  std::size_t last = counts.size() - 1;
  for (double above = counts.back(); above <= few; above += counts[--last]) {
  }
  return takes_alike || last > first + kAlikeLengths ? upper_edge_of_length(last) : 0.0;
}

bool are_mostly_zeros(const ReleasedBlock& zeros) {
  DPREDUCE_ASSERT(zeros.values().size() == 2);
  const auto more = static_cast<double>(zeros.values()[0] - zeros.values()[1]);
  return more > 2.0 * std::sqrt(2.0) * zeros.sigma();
}

FeatureColumns with_zeros_kept(FeatureColumns columns) {
  for (std::size_t a = 0; a < columns.scale.size(); ++a) {
    if (!has_zero_end(columns.center[a], columns.scale[a])) continue;
    columns.center[a] = 0.0;
    columns.scale[a] *= 2.0;
  }
  return columns;
}

std::vector<double> usable_scales(std::span<const double> medians, std::vector<double> scales) {
  DPREDUCE_ASSERT(medians.size() == scales.size());
  const double largest = scales.empty() ? 0.0 : *std::ranges::max_element(scales);
  const double usual = largest > 0.0 ? largest : 1.0;
  for (std::size_t column = 0; column < scales.size(); ++column) {
    const bool is_one_number = scales[column] <= upper_edge_of_distance(0) && medians[column] != 0.0;
    if (scales[column] > 0.0 && !is_one_number) continue;
    scales[column] = medians[column] != 0.0 ? std::abs(medians[column]) : usual;
  }
  return scales;
}

namespace {

bool are_all_alike(std::span<const double> medians, std::span<const double> scales) {
  double largest = 0.0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t column = 0; column < scales.size(); ++column) {
    if (scales[column] == 0.0) continue;  // hidden
    const bool is_one_number = scales[column] <= upper_edge_of_distance(0);
    largest = std::max(largest, std::abs(medians[column]) + (is_one_number ? 0.0 : scales[column]));
    if (!is_one_number) least = std::min(least, scales[column]);
  }
  return std::isinf(least) ? largest == 0.0 : largest <= kMostAlike * least;
}

}  // namespace

bool are_alike(std::span<const double> medians, std::vector<double> scales, std::span<const double> sure) {
  DPREDUCE_ASSERT(medians.size() == scales.size() && sure.size() == scales.size());
  constexpr std::size_t kFew = 8;  // of which noise alone hardly shows one
  if (are_all_alike(medians, scales)) return true;
  if (scales.size() <= kFew) return false;
  for (std::size_t column = 0; column < scales.size(); ++column) {
    if (scales[column] == 0.0 || sure[column] > 0.0) continue;
    const double scale = std::exchange(scales[column], 0.0);
    if (are_all_alike(medians, scales)) return true;
    scales[column] = scale;
  }
  return false;
}

}  // namespace dpreduce
