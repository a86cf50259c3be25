// Confusion matrix of classes, or of groups of classes.
//
//     block        elements    what a row of class y, whose largest score is of class p, adds
//     confusion    K^2         1 to (y, p); with G groups of classes G^2, 1 to the groups of y and p
#include <algorithm>
#include <cmath>
#include <utility>

#include "worker/metrics/metric_entry.hpp"

namespace dpreduce {
namespace {

void declare_confusion(const EvaluationTerms& terms, MetricBlocks& blocks) {
  if (!terms.has(EvaluationMetric::kConfusion)) return;
  const std::size_t groups = terms.confusion_groups();
  blocks.counts("confusion", groups * groups, [&terms, groups](const ScoredRow& row, const RowCells& to) {
    const auto group_of = [&](std::int32_t c) { return terms.confusion_group(static_cast<std::size_t>(c)); };
    if (row.label >= 0) to.count(group_of(row.label) * groups + group_of(row.predicted));
  });
}

// Noised counts, and between which numbers of rows one expects among as many rows: noise, and sampling as of Poisson's.
void tell_confusion(const MetricReleases& from, nlohmann::json& told) {
  if (!from.has(EvaluationMetric::kConfusion)) return;
  const ReleasedBlock& block = from.releases.front().block("confusion");
  nlohmann::json json{{"noise", block.sigma()}};
  if (!from.terms.class_groups.empty()) json["class_groups"] = from.terms.class_groups;
  const std::size_t columns = from.terms.confusion_groups();
  const double z = two_sided_quantile(from.level);
  for (const auto& [name, side] : {std::pair{"counts", 0.0}, std::pair{"low", -z}, std::pair{"high", z}}) {
    nlohmann::json rows = nlohmann::json::array();
    for (std::size_t e = 0; e < block.values().size(); ++e) {
      if (e % columns == 0) rows.push_back(nlohmann::json::array());
      const auto count = static_cast<double>(block.values()[e]);
      const double reach = side * std::hypot(block.sigma(), std::sqrt(std::max(count, 0.0) + 1.0));
      rows.back().push_back(side == 0.0 ? count : std::max(count + reach, 0.0));
    }
    json[name] = std::move(rows);
  }
  told["confusion"] = std::move(json);
}

}  // namespace

extern constinit const MetricEntry confusion_entry{declare_confusion, tell_confusion};

}  // namespace dpreduce
