#include "worker/statistics/class_means.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/kernels/class_sums.hpp"
#include "common/plan/empty_statistic.hpp"
#include "common/plan/metric.hpp"
#include "worker/row_sensitivity.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {

ReleaseRequest class_means_release(const ReleaseTerms& terms, double share) {
  const std::size_t most_labels = terms.most_labels;
  DPREDUCE_ASSERT(terms.classes >= 2 && terms.dim >= 1 && share > 0.0);
  DPREDUCE_ASSERT(most_labels >= 1 && most_labels <= terms.classes);
  const double class_count = static_cast<double>(terms.classes);
  ReleaseRequest request{
      .name = "class_means",
      .share = share,
      .blocks = {{"class_sums", terms.classes * terms.dim, class_count * static_cast<double>(terms.dim)}},
      .profiles = {}};
  const bool has_counts = terms.metric == Metric::kEuclidean;
  if (has_counts) {
    request.blocks.push_back({.name = "class_counts",
                              .elements = terms.classes,
                              .loss_weight = class_count * static_cast<double>(kSquaredNorm),
                              .fraction_bits = terms.count_bits()});
  }
  if (terms.adjacency == Adjacency::kAddRemove) {
    request.profiles = {{"one row more or less", {most_labels * kSquaredNorm}}};
    if (has_counts) request.profiles[0].squared_l2.push_back(most_labels);
    return request;
  }
  for (const LabelExchange& exchange : label_exchanges(terms.classes, most_labels)) {
    request.profiles.push_back({exchange.change, {(4 * exchange.common + exchange.others) * kSquaredNorm}});
    if (has_counts) request.profiles.back().squared_l2.push_back(exchange.others);
  }
  return request;
}

void accumulate_classes(Statistic& statistic, const ReleaseRequest& request, const StatisticInputs& inputs,
                        const std::function<void(const LatticeRows&)>& also) {
  const std::span<std::int64_t> sums = statistic.block(statistic.index_of("class_sums"));
  const std::size_t dim = inputs.transform.output_dim();
  const bool has_counts = statistic.shape().size() > 1;
  const std::span<std::int64_t> counts =
      has_counts ? statistic.block(statistic.index_of("class_counts")) : std::span<std::int64_t>{};
  const unsigned count_bits = has_counts ? statistic.shape()[statistic.index_of("class_counts")].fraction_bits : 0;
  WeightedRows weighted(UnitSum::kClassSums, request);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    accumulate_class_sums(weighted.of(chunk, inputs.plan.threads), chunk.labels(),
                          {sums.data(), sums.size() / dim, dim, dim}, inputs.plan.threads);
    also(chunk);
    if (has_counts) accumulate_counts(chunk, count_bits, counts);
  });
}

Statistic class_means_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  accumulate_classes(statistic, request, inputs, [](const LatticeRows&) {});
  return statistic;
}

namespace statistics {
extern constinit const StatisticEntry class_means{"class_means",         TakenAt::kRows, class_means_release,
                                                  class_means_statistic, cost_of_sums,   UnitForm::kClipped};
}  // namespace statistics

}  // namespace dpreduce
