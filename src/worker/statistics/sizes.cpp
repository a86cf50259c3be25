// Counts of rows by class, and by public bins of the size of their numbers or residuals.
#include <cmath>
#include <span>
#include <vector>

#include "common/base/error.hpp"
#include "common/plan/column_bins.hpp"
#include "common/plan/statistic.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/feature_rows.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {

// Release "class_sizes": class_counts = #{i : y_i = c} (K), for rows of at most one class.
//
// Sensitivity, squared: add-remove 1, replace-one 2.
// Persons: weighed, as counts are.
namespace class_sizes_entry {

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.most_labels == 1 && terms.classes >= 2 && share > 0.0);
  const bool is_add_remove = terms.adjacency == Adjacency::kAddRemove;
  const SensitivityProfile profile =
      is_add_remove ? SensitivityProfile{"one row more or less", {1}} : SensitivityProfile{"another class", {2}};
  return {.name = "class_sizes",
          .share = share,
          .blocks = {{.name = "class_counts",
                      .elements = terms.classes,
                      .loss_weight = 1.0,
                      .fraction_bits = terms.count_bits()}},
          .profiles = {profile}};
}

// A pass over the rows.
Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> counts = statistic.block(statistic.index_of("class_counts"));
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    accumulate_counts(chunk, request.blocks.front().fraction_bits, counts);
  });
  return statistic;
}

}  // namespace class_sizes_entry

// Releases "target_sizes" and "feature_sizes", in two rounds: of each column, how many rows have a number in each of
// the public bins of common/plan/column_bins.hpp; in the first round of the numbers, in the second, once the columns'
// centers are known, of their distances from these.
//
// Sensitivity, squared: a row is in one bin of each of the D columns. Add-remove D, replace-one 2 D.
// Persons: weighed, as counts are.
namespace column_sizes_entry {

ReleaseRequest request_of(const char* name, const ReleaseTerms& terms, std::size_t columns, double share) {
  DPREDUCE_ASSERT(columns >= 1 && share > 0.0);
  const bool is_add_remove = terms.adjacency == Adjacency::kAddRemove;
  const SensitivityProfile profile = is_add_remove
                                         ? SensitivityProfile{"one row more or less", {std::uint64_t{columns}}}
                                         : SensitivityProfile{"other bins", {2 * std::uint64_t{columns}}};
  return {.name = name,
          .share = share,
          .rounds = 2,
          .blocks = {{.name = "sizes",
                      .elements = columns * kColumnBins,
                      .loss_weight = 1.0,
                      .fraction_bits = terms.count_bits()}},
          .profiles = {profile}};
}

ReleaseRequest of_targets(const ReleaseTerms& terms, double share) {
  return request_of("target_sizes", terms, terms.classes, share);
}

ReleaseRequest of_features(const ReleaseTerms& terms, double share) {
  return request_of("feature_sizes", terms, terms.dim, share);
}

// Counts the bins of one row's numbers.
void count_row(std::span<const double> numbers, std::span<const double> centers, std::int64_t unit,
               std::span<std::int64_t> sizes) {
  for (std::size_t column = 0; column < numbers.size(); ++column) {
    const std::size_t bin =
        centers.empty() ? signed_bin(numbers[column]) : distance_bin(std::abs(numbers[column] - centers[column]));
    sizes[column * kColumnBins + bin] += unit;
  }
}

Statistic counted(const ReleaseRequest& request, const StatisticInputs& inputs, bool of_features) {
  Statistic statistic = empty_statistic(request);
  if (inputs.rows.is_none()) return statistic;
  const std::span<std::int64_t> sizes = statistic.block(statistic.index_of("sizes"));
  const bool is_weighed = request.blocks.front().fraction_bits > 0;
  const Preprocessing& rows = inputs.transform.preprocessing();
  const std::span<const double> centers = of_features ? rows.columns.center : rows.targets.center;
  const std::size_t columns = of_features ? rows.input_dim : rows.targets.count;
  std::vector<double> numbers(columns);
  DPREDUCE_ASSERT(sizes.size() >= columns * kColumnBins);
  for_each_feature_chunk(
      inputs.rows, inputs.plan.classes, inputs.plan.bad_rows,
      [&](const RowChunk& chunk, std::span<const float> features) {
        for (std::size_t row = 0; row < chunk.rows; ++row) {
          if (inputs.rows.targets() == 0 &&
              !has_few_classes(chunk, row, inputs.plan.labels_per_row, inputs.plan.bad_rows, inputs.rows)) {
            continue;
          }
          for (std::size_t column = 0; column < columns; ++column) {
            numbers[column] = of_features ? double{features[row * columns + column]}
                                          : target_in(slots_of(chunk.labels, chunk.labels_per_row, row), column);
          }
          const std::int64_t unit = is_weighed ? std::int64_t{inputs.rows.weight(chunk.first_row + row)} : 1;
          count_row(numbers, centers, unit, sizes);
        }
      },
      inputs.on_chunk);
  return statistic;
}

Statistic targets_counted(const ReleaseRequest& request, const StatisticInputs& inputs) {
  return counted(request, inputs, false);
}

Statistic features_counted(const ReleaseRequest& request, const StatisticInputs& inputs) {
  return counted(request, inputs, true);
}

}  // namespace column_sizes_entry

// Release "residual_sizes": at a public point, sizes_b = the rows whose residual has a length |r| in bin b
// (common/plan/column_bins.hpp), before it is clipped. So later rounds clip at what residuals have.
//
// Sensitivity, squared: add-remove 1, replace-one 2: a row is in one bin.
// Persons: weighed, as counts are.
namespace residual_sizes_entry {

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(share > 0.0);
  const bool is_add_remove = terms.adjacency == Adjacency::kAddRemove;
  const SensitivityProfile profile =
      is_add_remove ? SensitivityProfile{"one row more or less", {1}} : SensitivityProfile{"another bin", {2}};
  return {
      .name = "residual_sizes",
      .share = share,
      .blocks = {{.name = "sizes", .elements = kResidualBins, .loss_weight = 1.0, .fraction_bits = terms.count_bits()}},
      .profiles = {profile}};
}

Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> sizes = statistic.block(statistic.index_of("sizes"));
  const unsigned count_bits = request.blocks.front().fraction_bits;
  ChunkResiduals residuals(gradient_point(inputs), inputs.plan.threads, std::nullopt,
                           &inputs.transform.preprocessing().targets);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    residuals.assign(chunk);
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (chunk.counts(row)) sizes[residual_bin(residuals.residual_norm(row))] += count_of_row(chunk, row, count_bits);
    }
  });
  return statistic;
}

StatisticCost cost_of(const ReleaseRequest& request) {
  return {.words_down = static_cast<double>(request.dim) / kLatticeEntriesOfWord};  // of each of few scores
}

}  // namespace residual_sizes_entry

namespace statistics {
extern constinit const StatisticEntry class_sizes{
    "class_sizes", TakenAt::kRows,    class_sizes_entry::request_of, class_sizes_entry::compute,
    cost_of_sums,  UnitForm::kWeighed};
extern constinit const StatisticEntry target_sizes{
    "target_sizes", TakenAt::kRows,    column_sizes_entry::of_targets, column_sizes_entry::targets_counted,
    cost_of_sums,   UnitForm::kWeighed};
extern constinit const StatisticEntry feature_sizes{
    "feature_sizes", TakenAt::kRows,    column_sizes_entry::of_features, column_sizes_entry::features_counted,
    cost_of_sums,    UnitForm::kWeighed};
extern constinit const StatisticEntry residual_sizes{"residual_sizes",
                                                     TakenAt::kWeights,
                                                     residual_sizes_entry::request_of,
                                                     residual_sizes_entry::compute,
                                                     residual_sizes_entry::cost_of,
                                                     UnitForm::kWeighed};
}  // namespace statistics

}  // namespace dpreduce
