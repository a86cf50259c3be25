// Log loss and Brier score: means of bounded losses of probabilities.
//
//     block       elements    what a row adds
//     log_loss    1           floor(2^15 min(loss, L) / L), L = log(10 K)
//     brier       1           floor(2^15 loss / 2)
#include <cmath>

#include "worker/metrics/metric_entry.hpp"

namespace dpreduce {
namespace {

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

extern constinit const MetricEntry losses_entry{declare_losses, tell_losses};

}  // namespace dpreduce
