#include "worker/metrics/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/base/error.hpp"
#include "worker/metrics/metric_entry.hpp"

namespace dpreduce {
namespace {

// Mean excess of |d + e| over |d|, e ~ N(0, v^2).
double bias_of_absolute(double d, double v) {
  return v * std::sqrt(2.0 / std::numbers::pi) * std::exp(-0.5 * d * d / (v * v)) -
         d * std::erfc(d / (v * std::numbers::sqrt2));
}

// Largest probability of a row; a NaN counts as 0, so that such rows' gaps are of one sign.
double largest_probability(const ScoredRow& row) {
  return std::max(0.0, row.probabilities[static_cast<std::size_t>(row.predicted)]);
}

void declare_calibration(const EvaluationTerms& terms, MetricBlocks& blocks) {
  if (!terms.has(EvaluationMetric::kCalibration)) return;
  blocks.counts("calibration", 2 * kCalibrationBins, [](const ScoredRow& row, const RowCells& to) {
    to.count_in_pair(bin_of(largest_probability(row), kCalibrationBins), row.is_right());
  });
  blocks.sums("calibration_gaps", kCalibrationBins, 1.0, 2, [](const ScoredRow& row, const RowCells& to) {
    const double q = largest_probability(row);
    to.sum(bin_of(q, kCalibrationBins), row.is_right() ? loss_units(1.0 - q, 1.0) : -loss_units(q, 1.0));
  });
}

void tell_calibration(const MetricReleases& from, nlohmann::json& told) {
  if (!from.has(EvaluationMetric::kCalibration)) return;
  const BlockNumbers table = from.numbers("calibration");
  const BlockNumbers gaps = from.numbers("calibration_gaps");
  const auto bins = static_cast<double>(gaps.values.size());
  std::vector<double> bin_rows;
  std::vector<double> in_rows;
  for (const NoisedCounts& bin : table.pairs()) {
    const auto place = static_cast<double>(bin_rows.size());
    told["calibration"].push_back(
        figure_json(estimate_share(bin, from.level), 1.0, {{"from", place / bins}, {"to", (place + 1.0) / bins}}));
    in_rows.push_back(gaps.values[bin_rows.size()] / static_cast<double>(kLossUnits));
    bin_rows.push_back(bin.right + bin.wrong);
  }
  const NoisedCounts all = table.sum_of_pairs();
  told["calibration_error"] =
      figure_json(estimate_calibration_error(in_rows, gaps.sigma / static_cast<double>(kLossUnits), bin_rows,
                                             std::max(all.right + all.wrong, 2.0 * all.sigma), from.level),
                  0.5);
}

}  // namespace

Estimate estimate_calibration_error(const std::vector<double>& gaps, double sigma, const std::vector<double>& bin_rows,
                                    double rows, double level) {
  DPREDUCE_ASSERT(gaps.size() == bin_rows.size());
  std::vector<double> rows_of_bins;  // n_b
  std::vector<double> deviations;    // v_b
  double raw = 0.0;
  double low = 0.0;
  double high = 0.0;
  double variance = 0.0;
  for (std::size_t bin = 0; bin < gaps.size(); ++bin) {
    const double d = std::abs(gaps[bin]);
    const double p = (static_cast<double>(bin) + 0.5) / static_cast<double>(gaps.size());
    rows_of_bins.push_back(std::max(bin_rows[bin], 0.0));
    const double v = std::max(std::hypot(sigma, std::sqrt(rows_of_bins.back() * p * (1.0 - p))), 1e-9);
    deviations.push_back(v);
    raw += d;
    low += std::max(d - bias_of_absolute(0.0, v), 0.0);
    high += d - std::max(bias_of_absolute(d, v), 0.0);
    variance += v * v;
  }
  // Mean of sum_b |d_b| where each bin is off by e n_b.
  const auto expected = [&](double e) {
    double sum = 0.0;
    for (std::size_t bin = 0; bin < gaps.size(); ++bin) {
      sum += e * rows_of_bins[bin] + bias_of_absolute(e * rows_of_bins[bin], deviations[bin]);
    }
    return sum;
  };
  double value = 0.0;
  double most = 1.0;
  constexpr int kHalvings = 40;
  for (int step = 0; step < kHalvings; ++step) {
    const double e = 0.5 * (value + most);
    (expected(e) < raw ? value : most) = e;
  }
  const double about = std::max(rows, 1.0);
  const double reach = two_sided_quantile(level) * std::sqrt(variance) / about;
  const double lower = std::clamp(low / about - reach, 0.0, 1.0);
  const double upper = std::clamp(high / about + reach, 0.0, 1.0);
  return {std::clamp(value, lower, upper), lower, upper, sigma * std::sqrt(static_cast<double>(gaps.size())) / about,
          std::sqrt(variance) / about};
}

extern constinit const MetricEntry calibration_entry{declare_calibration, tell_calibration};

}  // namespace dpreduce
