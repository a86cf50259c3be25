// Counts of rows by class, and by public bins of the size of their numbers or residuals.
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "common/base/error.hpp"
#include "common/ledger/column_bins.hpp"
#include "common/ledger/statistic.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace {

// Number of rows with a number in each public bin (common/ledger/column_bins.hpp), for each of some columns.
//
// Sensitivity, squared: a row is in one bin of each of the D columns. Add-remove D, replace-one 2 D.
// Persons: weighed, as counts are.
ReleaseRequest counts_request(const ReleaseTerms& terms, double share, std::size_t columns, std::size_t bins,
                              std::uint64_t rounds = 1, const char* block = "sizes",
                              const char* change = "other bins") {
  DPREDUCE_ASSERT(columns >= 1 && share > 0.0);
  return {
      .share = share,
      .rounds = rounds,
      .blocks = {{.name = block, .elements = columns * bins, .loss_weight = 1.0, .fraction_bits = terms.count_bits()}},
      .profiles = profiles_of(terms, {columns}, {{change, {2 * columns}}})};
}

// Release "class_sizes": class_counts = #{i : y_i = c} (K), for rows of at most one class.
ReleaseRequest class_sizes_request(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.most_labels == 1 && terms.classes >= 2);
  return counts_request(terms, share, 1, terms.classes, 1, "class_counts", "another class");
}

// A pass over the rows.
Statistic class_sizes_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> counts = statistic.block(statistic.index_of("class_counts"));
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    accumulate_counts(chunk, request.blocks.front().fraction_bits, counts);
  });
  return statistic;
}

// Releases "target_sizes", "target_places", "target_spreads" and the same of features: of the numbers of each column,
// at the centers and scales that the rows have by then. Release "row_sizes": spreads of the length |p| of a row whose
// columns are scaled, before it is scaled or clipped to C. Release "row_zeros": of the rows those of whose columns with
// 0 for an end three in four or more are 0, and the others.
// Member `columns` counts them: the classes, which are targets then, or the features.
template <std::size_t ReleaseTerms::*columns, bool in_rounds = false>
ReleaseRequest of_columns(const ReleaseTerms& terms, double share) {
  return counts_request(terms, share, terms.*columns, kColumnBins, in_rounds ? terms.rounds : 1);
}

template <std::size_t bins>
ReleaseRequest of_rows(const ReleaseTerms& terms, double share) {
  return counts_request(terms, share, 1, bins);
}

// The bin of a number about the center of its column, in units of its scale.
using BinOf = std::size_t (*)(double number, double center, double scale);

constexpr BinOf kSize = [](double number, double, double) { return signed_bin(number); };
constexpr BinOf kPlace = [](double number, double center, double scale) {
  return place_bin((number - center) / scale);
};
constexpr BinOf kSpread = [](double number, double center, double) { return distance_bin(std::abs(number - center)); };

// Writes the bin in each column of a row of the chunk, whose features are these.
using BinsOf =
    std::function<void(const RowChunk&, std::size_t row, std::span<const float> features, std::span<std::size_t> bins)>;

Statistic counted(const ReleaseRequest& request, const StatisticInputs& inputs, std::size_t columns,
                  const BinsOf& bins_of) {
  Statistic statistic = empty_statistic(request);
  if (inputs.rows.is_none()) return statistic;
  const std::span<std::int64_t> sizes = statistic.block(statistic.index_of("sizes"));
  const bool is_weighed = request.blocks.front().fraction_bits > 0;
  const std::size_t width = inputs.transform.preprocessing().input_dim;
  std::vector<std::size_t> bins(columns);
  const std::size_t bins_of_column = sizes.size() / columns;
  for_each_feature_chunk(
      inputs.rows, inputs.plan.classes, inputs.plan.bad_rows,
      [&](const RowChunk& chunk, std::span<const float> features) {
        for (std::size_t row = 0; row < chunk.rows; ++row) {
          const bool counts =
              inputs.rows.targets() > 0
                  ? are_finite_targets(slots_of(chunk.labels, chunk.labels_per_row, row))
                  : has_few_classes(chunk, row, inputs.plan.labels_per_row, inputs.plan.bad_rows, inputs.rows);
          if (!counts) continue;
          bins_of(chunk, row, features.subspan(row * width, width), bins);
          const std::int64_t unit = is_weighed ? std::int64_t{inputs.rows.weight(chunk.first_row + row)} : 1;
          for (std::size_t column = 0; column < columns; ++column) {
            sizes[column * bins_of_column + bins[column]] += unit;
          }
        }
      },
      inputs.on_chunk);
  return statistic;
}

// Counts of targets, or of features. Centers and scales may be empty if the bins need none.
template <BinOf bin_of, bool of_targets>
Statistic columns_counted(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const Preprocessing& rows = inputs.transform.preprocessing();
  const std::vector<double>& center = of_targets ? rows.targets.center : rows.columns.center;
  const std::vector<double>& scale = of_targets ? rows.targets.scale : rows.columns.scale;
  return counted(
      request, inputs, of_targets ? rows.targets.count : rows.input_dim,
      [&](const RowChunk& chunk, std::size_t row, std::span<const float> features, std::span<std::size_t> bins) {
        for (std::size_t column = 0; column < bins.size(); ++column) {
          const double number = of_targets ? target_in(slots_of(chunk.labels, chunk.labels_per_row, row), column)
                                           : double{features[column]};
          bins[column] = bin_of(number, center.empty() ? 0.0 : center[column], scale.empty() ? 1.0 : scale[column]);
        }
      });
}

Statistic rows_counted(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const FeatureColumns& columns = inputs.transform.preprocessing().columns;
  return counted(request, inputs, 1,
                 [&](const RowChunk&, std::size_t, std::span<const float> features, std::span<std::size_t> bins) {
                   double squares = 0.0;
                   for (std::size_t a = 0; a < features.size(); ++a) {
                     const double p = columns.scaled(a, double{features[a]});
                     squares += p * p;
                   }
                   bins.front() = length_bin(std::sqrt(squares));
                 });
}

Statistic zeros_counted(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const FeatureColumns& columns = inputs.transform.preprocessing().columns;
  return counted(request, inputs, 1,
                 [&](const RowChunk&, std::size_t, std::span<const float> features, std::span<std::size_t> bins) {
                   std::size_t ends = 0;
                   std::size_t zeros = 0;
                   for (std::size_t a = 0; a < columns.scale.size(); ++a) {
                     if (!has_zero_end(columns.center[a], columns.scale[a])) continue;
                     ++ends;
                     zeros += columns.scaled(a, double{features[a]}) * columns.center[a] == -columns.scale[a] ? 1 : 0;
                   }
                   const auto of_ends = static_cast<double>(std::max<std::size_t>(ends, 1));
                   bins.front() = static_cast<double>(zeros) / of_ends < 0.75 ? 1 : 0;
                 });
}

// Release "residual_sizes": at a public point, sizes_b = the rows whose residual has a length |r| in bin b, before it
// is clipped. So later rounds clip at what residuals have.
Statistic residual_sizes_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
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

double words_of_scores(const ReleaseRequest& request) {
  return static_cast<double>(request.dim) / kLatticeEntriesOfWord;  // of each of few scores
}

constexpr auto kTargets = &ReleaseTerms::classes;
constexpr auto kFeatures = &ReleaseTerms::dim;

constexpr StatisticEntry kSizeStatistics[] = {
    {"class_sizes", TakenAt::kRows, UnitForm::kWeighed, class_sizes_request, class_sizes_statistic},
    {"target_sizes", TakenAt::kRows, UnitForm::kWeighed, of_columns<kTargets>, columns_counted<kSize, true>},
    {"target_places", TakenAt::kRows, UnitForm::kWeighed, of_columns<kTargets, true>, columns_counted<kPlace, true>},
    {"target_spreads", TakenAt::kRows, UnitForm::kWeighed, of_columns<kTargets>, columns_counted<kSpread, true>},
    {"feature_sizes", TakenAt::kRows, UnitForm::kWeighed, of_columns<kFeatures>, columns_counted<kSize, false>},
    {"feature_places", TakenAt::kRows, UnitForm::kWeighed, of_columns<kFeatures, true>, columns_counted<kPlace, false>},
    {"feature_spreads", TakenAt::kRows, UnitForm::kWeighed, of_columns<kFeatures>, columns_counted<kSpread, false>},
    {"row_sizes", TakenAt::kRows, UnitForm::kWeighed, of_rows<kLengthBins>, rows_counted},
    {"row_zeros", TakenAt::kRows, UnitForm::kWeighed, of_rows<2>, zeros_counted},
    {"residual_sizes", TakenAt::kWeights, UnitForm::kWeighed, of_rows<kResidualBins>, residual_sizes_statistic,
     words_of_scores}};

}  // namespace

extern constinit const std::span<const StatisticEntry> size_statistics{kSizeStatistics};

}  // namespace dpreduce
