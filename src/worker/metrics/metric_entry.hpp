// Metric of an evaluation with noise: its blocks of the release "evaluation", what a row adds to them, and the figures
// that are reported of them. A file of this folder has a metric, or several that share blocks.
//
// The terms of a row are a function of that row and the model alone. All blocks are one release: their joint change is
// that of one row. No block counts both rows and right rows, because these would move together.
//
// A row whose class the model does not know is an error of the model: it is wrong wherever it counts, and adds to no
// cell of its class. Its class has probability 0, and AUC and ROC are about no such class.
//
// Rows of persons with several rows count for their weights, and so do their losses (weighted_rows.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/data/row_units.hpp"
#include "common/ledger/evaluation_terms.hpp"
#include "common/ledger/released_block.hpp"
#include "worker/metrics/estimates.hpp"

namespace dpreduce {

/// Units of the largest loss, 2^15.
inline constexpr std::int64_t kLossUnits = std::int64_t{1} << 15;

/// Row as it is counted. A member is present if a metric needs it.
struct ScoredRow {
  std::int32_t label = 0;                   ///< class, from 0 to K - 1; below 0: the model does not know it
  std::int32_t predicted = 0;               ///< class of the largest score
  std::span<const double> scores{};         ///< K
  std::span<const double> probabilities{};  ///< K
  RowWeight weight = kWholeRow;
  std::int32_t group = 0;                            ///< from 0 to G - 1; below 0: no group
  std::span<const std::int32_t> labels{};            ///< classes of a label set, ascending
  std::span<const std::int32_t> predicted_labels{};  ///< predicted classes of the set, ascending
  std::int32_t predicted_by_second = 0;              ///< class predicted by the second of a pair of models
  std::span<const double> targets{};                 ///< y', m numbers, within the unit ball
  std::span<const double> errors{};                  ///< e, likewise

  bool is_right() const { return predicted == label; }
};

/// Elements of a block, to which one row adds.
class RowCells {
 public:
  RowCells(std::span<std::int64_t> elements, RowWeight weight, bool is_weighed)
      : elements_(elements), weight_(weight), is_weighed_(is_weighed) {}
  /// Counts the row in an element: adds 1, or the row's weight if rows are weighed.
  void count(std::size_t element) const;
  /// Counts likewise in one element of the pair `pair`: right rows, or wrong rows.
  void count_in_pair(std::int64_t pair, bool is_right) const;
  /// Adds the row's units, times its weight.
  void sum(std::size_t element, std::int64_t units) const;

 private:
  std::span<std::int64_t> elements_;
  RowWeight weight_;
  bool is_weighed_;
};

using AddRow = std::function<void(const ScoredRow& row, const RowCells& cells)>;

/// Block of a metric: its declaration, and the function by which a row adds to it.
struct MetricBlock {
  const char* name;
  std::size_t elements;
  double loss_weight;
  std::uint64_t squared_l2;  ///< squared change by one row added or removed
  std::uint64_t exchanged;   ///< squared change by a replaced row
  bool counts_rows;          ///< counts are in units of weights, if rows have weights
  AddRow add;
};

/// Blocks of metrics, in the order of the release.
struct MetricBlocks {
  std::vector<MetricBlock> all{};

  /// Adds a block of which a row is in one cell, by its weight: squared changes {1, 2}.
  MetricBlock& counts(const char* name, std::size_t elements, AddRow add);
  /// Adds a block to which a row adds at most 1, in units of 2^-15; an exchange moves it by `exchanged`, squared:
  /// {2^30, exchanged 2^30}.
  void sums(const char* name, std::size_t elements, double weight, std::uint64_t exchanged, AddRow add);
};

/// floor(2^15 min(loss, most) / most), also of a loss that is no number.
std::int64_t loss_units(double loss, double most);

/// Bin of p in [0, 1], among bins of equal width.
std::size_t bin_of(double p, std::size_t bins);

/// The numbers of a block, in units of rows that may be taken to be independent.
struct BlockNumbers {
  BlockNumbers(const ReleasedBlock& block, double rows_alike);
  /// r and w of each pair of right and wrong rows.
  std::vector<NoisedCounts> pairs() const;
  /// Their sums over all pairs.
  NoisedCounts sum_of_pairs() const;

  std::vector<double> values;
  double sigma;
};

/// Inputs that figures are computed from, as in private_figures.
struct MetricReleases {
  const std::vector<Release>& releases;
  const EvaluationTerms& terms;
  double level;
  double rows_alike;
  std::span<const double> scales;

  bool has(EvaluationMetric metric) const { return terms.has(metric); }
  BlockNumbers numbers(const char* block) const { return {releases.front().block(block), rows_alike}; }
};

/// Right and wrong rows of the first model, by all blocks that count them; nullopt if none does.
std::optional<NoisedCounts> totals_of(const MetricReleases& from);

/// {"value", "low", "high", "noise", ...}, with the members of `more`. If the interval excludes almost nothing of [0,
/// most], the value is null, and "note" names the reason.
nlohmann::json figure_json(const Estimate& estimate, double most = 1.0,
                           const nlohmann::json& more = nlohmann::json::object());
/// A figure for each number from 0, which is its member `of`.
nlohmann::json by_number(const std::vector<Estimate>& estimates, const char* of);

/// Metric, or several that share blocks.
struct MetricEntry {
  /// Declares the blocks that these metrics need under `terms`, each with its exact sensitivity. `terms` outlive them.
  void (&declare)(const EvaluationTerms& terms, MetricBlocks& blocks);
  /// Adds the requested figures of these metrics to `told`, each with an interval that accounts for the noise and for
  /// the sampling of test rows.
  void (&tell)(const MetricReleases& from, nlohmann::json& told);
};

/// All blocks of the release "evaluation", in its order. `terms` outlive them.
MetricBlocks blocks_of(const EvaluationTerms& terms);

/// Returns {"accuracy": {"value", "low", "high", "noise"}, ..., "recall": [{"class", ...}], ...}, at level `level`,
/// from the release "evaluation" and, if AUC is requested, "positives" after it (asserted). Up to `rows_alike` rows may
/// be those of one person: their sampling is taken to be that of one row, so that intervals are rather too wide.
/// `scales` has h of each target of a model that predicts numbers.
nlohmann::json private_figures(const std::vector<Release>& releases, const EvaluationTerms& terms, double level,
                               double rows_alike = 1.0, std::span<const double> scales = {});

}  // namespace dpreduce
