// R^2 and RMSE of predicted numbers. With the model's centers c and scales h, y' = (y - c) / h and e = (y - f) / h are
// clipped to length 1 as vectors of m targets; U = 2^15.
//
//     block               elements    what a row adds
//     rows                1           1
//     targets, cubes      m each      U y'_t, U y'_t^3, toward zero
//     squares, fourths    m each      floor(U y'_t^2), floor(U y'_t^4)
//     errors              m           floor(U e_t^2)
//     error_fourths       m           floor(U e_t^4)
//
// A row moves them, squared, by 1 and U^2 each; an exchanged row by 4 U^2 if numbers have a sign, else by 2 U^2. Third
// and fourth powers show how much squares vary from row to row.
#include <algorithm>
#include <string>

#include "common/base/error.hpp"
#include "worker/metrics/metric_entry.hpp"

namespace dpreduce {
namespace {

// Sums that tell how much targets and errors vary have small weights: where predictions are good, errors matter more.
void declare_numbers(const EvaluationTerms& terms, MetricBlocks& blocks) {
  if (!terms.has_targets) return;
  constexpr double kOfSpread = 0.1;
  constexpr double kOfVariation = 0.02;
  blocks.all.push_back({"rows", 1, kOfSpread, 1, 1, true, [](const ScoredRow&, const RowCells& to) { to.count(0); }});
  const auto powers = [&](const char* name, double weight, std::uint64_t exchanged,
                          std::span<const double> ScoredRow::*numbers, double (*power)(double)) {
    blocks.sums(name, terms.classes, weight, exchanged, [=](const ScoredRow& row, const RowCells& to) {
      for (std::size_t t = 0; t < (row.*numbers).size(); ++t) {
        to.sum(t, static_cast<std::int64_t>(power((row.*numbers)[t]) * kLossUnits));
      }
    });
  };
  powers("targets", kOfSpread, 4, &ScoredRow::targets, [](double y) { return y; });
  powers("squares", kOfSpread, 2, &ScoredRow::targets, [](double y) { return y * y; });
  powers("cubes", kOfVariation, 4, &ScoredRow::targets, [](double y) { return y * y * y; });
  powers("fourths", kOfVariation, 2, &ScoredRow::targets, [](double y) { return y * y * y * y; });
  powers("errors", 1.0, 2, &ScoredRow::errors, [](double e) { return e * e; });
  powers("error_fourths", kOfVariation, 2, &ScoredRow::errors, [](double e) { return (e * e) * (e * e); });
}

void tell_numbers(const MetricReleases& from, nlohmann::json& told) {
  if (!from.terms.has_targets) return;
  DPREDUCE_ASSERT(from.scales.size() == from.terms.classes);
  std::vector<BlockNumbers> blocks;
  std::vector<double> sigmas;
  for (const char* const name : {"rows", "targets", "squares", "cubes", "fourths", "errors", "error_fourths"}) {
    blocks.push_back(from.numbers(name));
    sigmas.push_back(blocks.back().sigma / (sigmas.empty() ? 1.0 : static_cast<double>(kLossUnits)));
  }
  std::vector<NumberFigures> by_target;
  for (std::size_t t = 0; t < from.scales.size(); ++t) {
    std::vector<double> sums{blocks.front().values.front()};
    for (std::size_t block = 1; block < blocks.size(); ++block) {
      sums.push_back(blocks[block].values[t] / static_cast<double>(kLossUnits));
    }
    by_target.push_back(estimate_numbers(sums, sigmas, from.scales[t], from.level));
  }
  const NumberFigures all = over_targets(by_target);
  const auto tell = [&](const std::string& name, Estimate NumberFigures::*figure, double most) {
    told[name] = figure_json(all.*figure, most);
    std::vector<Estimate> each;
    for (const NumberFigures& of_one : by_target) each.push_back(of_one.*figure);
    if (each.size() > 1) told[name + "_by_target"] = by_number(each, "target");
  };
  if (from.has(EvaluationMetric::kR2)) tell("r2", &NumberFigures::r2, 1.0);
  if (from.has(EvaluationMetric::kRmse)) tell("rmse", &NumberFigures::rmse, std::ranges::max(from.scales));
}

}  // namespace

extern constinit const MetricEntry numbers_entry{declare_numbers, tell_numbers};

}  // namespace dpreduce
