#include "worker/class_statistics.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "common/kernels/class_sums.hpp"
#include "worker/chunk_view.hpp"

namespace dpreduce {
namespace {

// Adds the class sums of all chunks, and the class counts where the statistic has them, and shows each chunk to `also`.
void accumulate_classes(Statistic& statistic, const StatisticInputs& inputs,
                        const std::function<void(const LatticeRows&)>& also) {
  const std::span<std::int64_t> sums = statistic.block(statistic.index_of("class_sums"));
  const std::size_t dim = inputs.transform.output_dim();
  const bool has_counts = statistic.shape().size() > 1;
  const std::span<std::int64_t> counts =
      has_counts ? statistic.block(statistic.index_of("class_counts")) : std::span<std::int64_t>{};
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    accumulate_class_sums(view_of(chunk), chunk.labels(), {sums.data(), sums.size() / dim, dim, dim},
                          inputs.plan.threads);
    also(chunk);
    if (!has_counts) return;
    for (const std::int32_t label : chunk.labels()) {
      if (label != kNoLabel) ++counts[static_cast<std::size_t>(label)];
    }
  });
}

}  // namespace

Statistic center_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> sum = statistic.block(statistic.index_of("row_sum"));
  std::int64_t& count = statistic.block(statistic.index_of("row_count")).front();
  std::vector<std::int32_t> one_class;  // class 0 for every row that counts
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    one_class.resize(chunk.rows());
    for (std::size_t row = 0; row < chunk.rows(); ++row) one_class[row] = chunk.counts(row) ? 0 : kNoLabel;
    accumulate_class_sums(view_of(chunk), one_class, {sum.data(), 1, sum.size(), sum.size()}, inputs.plan.threads);
    count += std::count(one_class.begin(), one_class.end(), 0);
  });
  return statistic;
}

Statistic class_means_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  accumulate_classes(statistic, inputs, [](const LatticeRows&) {});
  return statistic;
}

Statistic class_sizes_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> counts = statistic.block(statistic.index_of("class_counts"));
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    for (const std::int32_t label : chunk.labels()) {
      if (label != kNoLabel) ++counts[static_cast<std::size_t>(label)];
    }
  });
  return statistic;
}

Statistic fisher_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> moments = statistic.block(statistic.index_of("second_moments"));
  accumulate_classes(statistic, inputs, [&](const LatticeRows& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (chunk.classes_of(row).empty()) continue;
      const std::span<const std::int16_t> q = chunk.row(row);
      for (std::size_t a = 0; a < q.size(); ++a) moments[a] += std::int32_t{q[a]} * std::int32_t{q[a]};
    }
  });
  return statistic;
}

}  // namespace dpreduce
