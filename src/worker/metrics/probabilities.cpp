#include "worker/metrics/probabilities.hpp"

#include <algorithm>
#include <cmath>

#include "worker/metrics/metric_entry.hpp"

namespace dpreduce {
namespace {

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

constexpr double kLargestBrier = 2.0;

// Largest log loss that counts.
double largest_log_loss(std::size_t classes) {
  return std::log(10.0 * static_cast<double>(classes));
}

double brier_of(const ScoredRow& row) {
  double sum = row.label >= 0 ? 0.0 : 1.0;
  for (std::size_t c = 0; c < row.probabilities.size(); ++c) {
    sum += std::pow(row.probabilities[c] - (static_cast<std::int64_t>(c) == row.label ? 1.0 : 0.0), 2);
  }
  return sum;
}

void declare_losses(const EvaluationTerms& terms, MetricBlocks& blocks) {
  if (terms.has(EvaluationMetric::kLogLoss)) {
    const double most = largest_log_loss(terms.classes);
    blocks.sums("log_loss", 1, 1.0, 1, [most](const ScoredRow& row, const RowCells& to) {
      const double p = row.label < 0 ? 0.0 : row.probabilities[static_cast<std::size_t>(row.label)];
      to.sum(0, loss_units(-std::log(p), most));
    });
  }
  if (terms.has(EvaluationMetric::kBrier)) {
    blocks.sums("brier", 1, 1.0, 1,
                [](const ScoredRow& row, const RowCells& to) { to.sum(0, loss_units(brier_of(row), kLargestBrier)); });
  }
}

void tell_losses(const MetricReleases& from, nlohmann::json& told) {
  const auto tell = [&](const char* name, double most, const nlohmann::json& more) {
    const BlockNumbers block = from.numbers(name);
    const NoisedCounts rows = totals_of(from).value();
    const double unit = static_cast<double>(kLossUnits) / most;
    told[name] = figure_json(estimate_mean(block.values.front() / unit, block.sigma / unit, rows.right + rows.wrong,
                                           std::sqrt(2.0) * rows.sigma, most, from.level),
                             most, more);
  };
  const double most = largest_log_loss(from.terms.classes);
  if (from.has(EvaluationMetric::kLogLoss)) tell("log_loss", most, {{"largest", most}});
  if (from.has(EvaluationMetric::kBrier)) tell("brier", kLargestBrier, nlohmann::json::object());
}

}  // namespace

extern constinit const MetricEntry calibration_entry{declare_calibration, tell_calibration};
extern constinit const MetricEntry losses_entry{declare_losses, tell_losses};

}  // namespace dpreduce
