// Releases "evaluation" and "positives": metrics of a model on test rows, as counts of right and wrong answers and sums
// of bounded losses. Reported metrics are computed from them in evaluate/private_figures.hpp.
//
//     block              elements    what a row of class y, whose largest score is of class p, adds
//     totals             2           1 to right, or to wrong                          (accuracy; rows of losses)
//     pairs              4           of two models: 1 to both, second only, first only or none right; for totals
//     by_group           2 G         of rows in groups: 1 to right or wrong of the group
//     by_class           2 K         1 to right or wrong of class y                     (recall)
//     by_prediction      2 K         1 to right or wrong of class p                     (precision)
//     confusion          K^2         1 to (y, p); with G groups of classes G^2, 1 to the groups of y and p
//     top_k              2           1 to right where y is among the k largest scores, else to wrong
//     calibration        2 B         1 to right or wrong of the bin of the largest probability; B = 15
//     calibration_gaps   B           floor(2^15 (1 - q)), or of a wrong row -floor(2^15 q), to that bin; q is the
//                                    probability
//     scores (ROC)       2 B         1 to positive or negative of the bin of its score (score_bin)
//     negatives (AUC)    B           of negatives alone: 1 to the bin of its score; if block scores is absent
//     log_loss, brier    1           floor(2^15 min(loss, L) / L); L = log(10 K), 2
//
// Blocks of label sets: a row has at most k classes Y, and at most m predicted classes P, the ones with the largest
// scores, from the threshold on:
//
//     sets               2           |Y n P| and the number of other classes of Y u P: micro F1 = 2 r / (2 r + w)
//     sets_by_class      2 K         each class of Y u P: 1 to right where it is in both, else to wrong
//
// A row moves them, squared, by (k + m)^2 and min(k + m, K); an exchanged row by min(k, m)^2 + (k + m)^2, and by twice
// as many cells.
//
// Blocks of numbers: c and h are the model's centers and scales, y' and e = (y - f) / h are clipped to length 1 as
// vectors, U = 2^15:
//
//     rows               1           1
//     targets, cubes     m each      U y'_t, U y'_t^3, toward zero
//     squares, fourths   m each      floor(U y'_t^2), floor(U y'_t^4)
//     errors             m           floor(U e_t^2)
//     error_fourths      m           floor(U e_t^4)
//
// A row moves them, squared, by 1 and U^2 each; an exchanged row by 4 U^2 if numbers have a sign, else by 2 U^2. Third
// and fourth powers show how much squares vary from row to row.
//
// A second release, "positives", is taken at the curve F given by the negatives' counts: F_b is the share of negatives
// with scores below those of bin b, plus half of those in it. Only positives count: a row of bin b adds 2^15 F_b to the
// first sum and 2^15 (1 - F_b) to the second, and the AUC is the share of the first. The sensitivity, squared, is 2^30;
// under replace-one 2^31, between two positives.
//
// A row whose class the model does not know is an error of the model: it is wrong wherever it counts, and adds to no
// cell of by_class and confusion. Its class has probability 0, and AUC and ROC are about no such class. A row of a
// group that is not listed counts in no group; a set of more than k classes counts nowhere.
//
// The terms of a row are a function of that row and the model alone.
//
// Rows of persons with several rows count for their weights, and so do their losses (weighted_rows.hpp).
//
// Sensitivity, squared: a row moves one cell of each count by 1, and a loss by 2^15 at most: {1, ..., 2^30}.
// Replace-one {2, ..., 2^30}: two cells, and a loss between two values in [0, 2^15]. Calibration gaps are losses of two
// bins, so 2^31 there; within one bin the probabilities are so near that they change by 2^15 (1 + 1 / B) + 1 at most.
// All blocks are one release: their joint change is that of one row. No block counts both rows and right rows, because
// these would move together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "common/data/row_units.hpp"
#include "common/ledger/evaluation_terms.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/ledger/statistic.hpp"
#include "worker/statistic_entry.hpp"

namespace dpreduce {

inline constexpr std::size_t kCalibrationBins = 15;
/// Largest Brier score of a row.
inline constexpr double kLargestBrier = 2.0;
/// Units of the largest loss, 2^15.
inline constexpr std::int64_t kLossUnits = std::int64_t{1} << 15;

/// Largest log loss that counts: log(10 K).
double largest_log_loss(std::size_t classes);

/// Release "evaluation" of terms.evaluation. `loss_weight`s divide the budget so that the mean width of figures is
/// about least if every figure counts the same. Precondition (asserted): there is a metric.
ReleaseRequest evaluation_request(const ReleaseTerms& terms, double share);

/// Release "positives" of terms.evaluation.
ReleaseRequest positives_request(const ReleaseTerms& terms, double share);

/// Bin, of 0 .. bins - 1, of a probability p with log-odds z. The bins are equally wide in asinh(z), for z from -8 to
/// 8, so that they are narrow in the middle and separate small probabilities of rare classes.
std::size_t score_bin(double probability, std::size_t bins);
/// Smallest probability whose score is in that bin.
double lower_edge_of_bin(std::size_t bin, std::size_t bins);

/// Curve F from noised counts: the share of negatives below each bin, plus half of those in it; one half if there are
/// no negatives.
std::vector<double> curve_of_negatives(std::span<const double> negatives);

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

/// Blocks of evaluation_request, or of positives_request at a curve, computed row by row.
class MetricCounts {
 public:
  /// Refers to `terms`, which outlive the object. Throws AggregationAborted if the curve is not within [0, 1]: silos
  /// need not trust their coordinator.
  MetricCounts(const EvaluationTerms& terms, const ReleaseRequest& request, std::span<const double> curve = {});
  /// Adds a row. Preconditions (asserted): classes below K, and as many probabilities, targets and errors as are
  /// needed.
  void add(const ScoredRow& row);
  Statistic take() && { return std::move(statistic_); }

 private:
  const EvaluationTerms& terms_;
  std::vector<MetricBlock> blocks_;
  Statistic statistic_;
};

}  // namespace dpreduce
