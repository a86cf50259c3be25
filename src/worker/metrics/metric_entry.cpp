#include "worker/metrics/metric_entry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "worker/weighted_rows.hpp"

// One line for each entry, in the order of the release's blocks: METRIC(x) is x_entry, in x.cpp.
#define DPREDUCE_METRICS(METRIC) \
  METRIC(right_rows)             \
  METRIC(class_shares)           \
  METRIC(confusion)              \
  METRIC(top_k)                  \
  METRIC(calibration)            \
  METRIC(score_curve)            \
  METRIC(losses)                 \
  METRIC(label_sets)             \
  METRIC(numbers)

namespace dpreduce {

#define DPREDUCE_DECLARE(metric) extern const MetricEntry metric##_entry;
DPREDUCE_METRICS(DPREDUCE_DECLARE)
#undef DPREDUCE_DECLARE

namespace {

#define DPREDUCE_ENTRY(metric) &metric##_entry,
constexpr std::array kMetrics{DPREDUCE_METRICS(DPREDUCE_ENTRY)};
#undef DPREDUCE_ENTRY

constexpr auto kSquaredUnits = static_cast<std::uint64_t>(kLossUnits) * kLossUnits;

}  // namespace

void RowCells::count(std::size_t element) const {
  elements_[element] += is_weighed_ ? std::int64_t{weight_} : 1;
}

void RowCells::count_in_pair(std::int64_t pair, bool is_right) const {
  count(static_cast<std::size_t>(2 * pair + (is_right ? 0 : 1)));
}

void RowCells::sum(std::size_t element, std::int64_t units) const {
  const std::int64_t counted = weighed(std::abs(units), weight_);
  elements_[element] += units < 0 ? -counted : counted;
}

MetricBlock& MetricBlocks::counts(const char* name, std::size_t elements, AddRow add) {
  all.push_back({name, elements, static_cast<double>(elements) / 2.0, 1, 2, true, std::move(add)});
  return all.back();
}

void MetricBlocks::sums(const char* name, std::size_t elements, double weight, std::uint64_t exchanged, AddRow add) {
  const double loss_weight = weight * static_cast<double>(elements) / static_cast<double>(kSquaredUnits);
  all.push_back({name, elements, loss_weight, kSquaredUnits, exchanged * kSquaredUnits, false, std::move(add)});
}

std::int64_t loss_units(double loss, double most) {
  const double part = loss < most ? std::max(loss, 0.0) / most : 1.0;
  return static_cast<std::int64_t>(std::floor(static_cast<double>(kLossUnits) * part));
}

std::size_t bin_of(double p, std::size_t bins) {
  if (!(p > 0.0)) return 0;
  return std::min(static_cast<std::size_t>(p * static_cast<double>(bins)), bins - 1);
}

BlockNumbers::BlockNumbers(const ReleasedBlock& block, double rows_alike) : sigma(block.sigma() / rows_alike) {
  for (const std::int64_t value : block.values()) values.push_back(static_cast<double>(value) / rows_alike);
}

std::vector<NoisedCounts> BlockNumbers::pairs() const {
  std::vector<NoisedCounts> pairs;
  for (std::size_t e = 0; e + 1 < values.size(); e += 2) pairs.push_back({values[e], values[e + 1], sigma});
  return pairs;
}

NoisedCounts BlockNumbers::sum_of_pairs() const {
  NoisedCounts sum{0.0, 0.0, sigma * std::sqrt(static_cast<double>(values.size() / 2))};
  for (const NoisedCounts& pair : pairs()) {
    sum.right += pair.right;
    sum.wrong += pair.wrong;
  }
  return sum;
}

nlohmann::json figure_json(const Estimate& estimate, double most, const nlohmann::json& more) {
  nlohmann::json json{
      {"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}, {"noise", estimate.noise}};
  json.update(more);
  if (!estimate.is_uninformative(most)) return json;
  json["value"] = nullptr;
  json["note"] = "too little data for this budget: the interval excludes almost nothing";
  return json;
}

nlohmann::json by_number(const std::vector<Estimate>& estimates, const char* of) {
  nlohmann::json json = nlohmann::json::array();
  for (const Estimate& estimate : estimates) json.push_back(figure_json(estimate, 1.0, {{of, json.size()}}));
  return json;
}

MetricBlocks blocks_of(const EvaluationTerms& terms) {
  MetricBlocks blocks;
  for (const MetricEntry* const metric : kMetrics) metric->declare(terms, blocks);
  return blocks;
}

nlohmann::json private_figures(const std::vector<Release>& releases, const EvaluationTerms& terms, double level,
                               double rows_alike, std::span<const double> scales) {
  const MetricReleases from{releases, terms, level, rows_alike, scales};
  nlohmann::json told = nlohmann::json::object();
  for (const MetricEntry* const metric : kMetrics) metric->tell(from, told);
  return told;
}

}  // namespace dpreduce
