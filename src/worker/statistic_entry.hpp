// A statistic that may be released: what it is computed from, what is declared of it, how far one row moves it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/privacy_terms.hpp"
#include "common/data/row_units.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/lattice/lattice_weights.hpp"
#include "common/ledger/evaluation_terms.hpp"
#include "common/ledger/loss.hpp"
#include "common/ledger/metric.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/ledger/statistic.hpp"
#include "common/model/classifier.hpp"
#include "common/randomness/noise_key.hpp"
#include "worker/lattice_stream.hpp"

namespace dpreduce {

// A statistic is computed from rows, and from what it is taken at, which is public and the same on every rank of a
// sum.

/// A second head beside the weights that are trained: softmax of a row's cosines to released directions (K x d).
struct Prior {
  const LatticeWeights& directions;
  std::size_t features;  ///< of a row's d coordinates; what follows is an intercept, for which directions are 0
};

/// Weights at which a gradient or a Hessian is taken.
struct GradientPoint {
  const LatticeWeights& weights;
  Loss loss = Loss::kSoftmax;
  const Prior* prior = nullptr;  ///< with kSoftmax only
  /// Z: what residuals are clipped to, and the length that their lattice has as S.
  double residual_norm = residual_norm_of(loss, prior != nullptr);
};

/// The ball of each class that rows are clipped to (statistics/centered_sums.cpp), in feature units.
struct ClassBalls {
  std::vector<double> centers;  ///< K x d
  std::vector<double> radii;    ///< K, above 0
};

/// Models that rows are scored by, and the terms of what is counted of their scores. If positives alone are counted,
/// also the curve, in [0, 1], of each bin of their scores. All outlive the point.
struct ModelsPoint {
  std::span<const Classifier> models;
  const EvaluationTerms& terms;
  std::span<const double> curve{};
};

/// Point of a statistic; std::monostate if that is of the rows alone.
using PublicPoint = std::variant<std::monostate, GradientPoint, ClassBalls, ModelsPoint>;

struct StatisticInputs {
  WorkerRows& rows;
  const RowTransform& transform;
  const StreamPlan& plan;
  const OnChunk& on_chunk;
  PublicPoint point{};
  std::optional<RowSample> sample{};    ///< the rows to count; none: all of them
  std::span<const LatticeRows> kept{};  ///< all of these rows by this transform; none: they are read and transformed
  bool are_checked = false;             ///< a pass over all of these rows has found none that BadRows::kFail refuses
};

/// Weights that a gradient of these rows is taken at. Preconditions (asserted): the point is one; its weights are for
/// rows of that many entries.
const GradientPoint& gradient_point(const StatisticInputs& inputs);

/// Rows of a sample that are gathered before they are summed.
inline constexpr std::size_t kDrawnRowsAtOnce = 1024;

/// Calls `visit` with each chunk of the rows, kept or not. Of a sample with its rows alone, gathered: a row that is not
/// drawn adds exactly nothing. Where the rows' units are known, units are drawn, and not rows; else, where all rows
/// are kept or checked, drawn rows alone are touched. Memory of a sample: kDrawnRowsAtOnce rows of 2 d + 4 bytes, or as
/// many as one unit has, where chunks are of whole units, or 4 d_in for each row of a chunk. Throws as
/// for_each_lattice_chunk.
void for_each_chunk(const StatisticInputs& inputs, const std::function<void(const LatticeRows&)>& visit);

// A statistic that may be released: what is declared of it, how a worker computes it, what it costs.
//
// Costs are in public numbers: the run's cost is made of them (fit/run_cost.hpp). The blocks of every statistic are
// summed up over ranks; the costs declared here come on top.

/// Preparation of later rows that a method may make from a release.
enum class RowChange {
  kNone,
  kCenter,      ///< their mean, d words to each rank; of rows before any projection
  kComponents,  ///< the matrix that rows are projected by, to each rank; of rows before any projection
  kWhitening    ///< the same, by G^(-1/2); of rows that may be projected already
};

/// Weights are sent on the lattice: an entry takes 2 bytes, a word has 8.
inline constexpr double kLatticeEntriesOfWord = 4.0;

struct StatisticCost {
  double words_down = 0.0;  ///< of 8 bytes, to each rank, a round: its point, or what every rank gets of it
  RowChange row_change = RowChange::kNone;
};

/// The cost of a statistic of which ranks get nothing: none on top.
inline StatisticCost cost_of_sums(const ReleaseRequest&) {
  return {};
}

inline double elements_of(const BlockRequest& block) {
  return static_cast<double>(block.elements);
}

/// Terms that declarations depend on; all public. Declarations are of one row. A unit moves a block at most B times as
/// far as a row; `rows_per_unit` of the request says so (fit/resolved_fit.cpp sets it, for all requests alike). Every
/// declaration has these preconditions (asserted) on what it reads, and those that it states: classes >= 2; 1 <=
/// most_labels <= classes; dim >= 1; rounds >= 1; every share above 0, and below 1 where it is a part of a release.
struct ReleaseTerms {
  std::size_t classes = 0;      ///< K
  std::size_t most_labels = 1;  ///< k: classes of a row
  std::size_t dim = 0;          ///< d
  Metric metric = Metric::kCosine;
  Adjacency adjacency = Adjacency::kAddRemove;
  double gram_share = 0.5;       ///< of mu^2, for the Gram matrices of a release with class sums
  double alpha = 1.0;            ///< weight of G beside class Gram matrices
  double hessian_share = 0.5;    ///< of mu^2, for the Hessians of a release with a gradient
  Loss loss = Loss::kSoftmax;    ///< whose Hessians these are
  std::uint64_t rounds = 1;      ///< of what is released at one public point after the other
  EvaluationTerms evaluation{};  ///< of a model on these rows
  bool has_units = false;        ///< rows have weights (row_units.hpp)
  bool clips_units = false;      ///< units may have several rows, and are clipped where they can be

  /// Fraction bits of blocks that count rows: counts of weighed rows are in units of weights.
  unsigned count_bits() const { return has_units ? kWeightBits : 0; }
};

/// Kind of point that a statistic is taken at. At weights and balls it is released round by round, at one point after
/// the other.
enum class TakenAt {
  kRows,     ///< std::monostate
  kWeights,  ///< GradientPoint
  kBalls,    ///< ClassBalls
  kModels    ///< ModelsPoint
};

/// Method that holds a unit of several rows to the most that B rows may move a statistic.
enum class UnitForm {
  kClipped,  ///< its sums are clipped (clipped_units.hpp)
  kWeighed   ///< each of its rows weighs less (weighted_rows.hpp)
};

/// Members are references, so that an entry without one of them does not compile.
struct StatisticEntry {
  /// Name of the release.
  std::string_view name;
  TakenAt taken_at;
  /// Declares every block with its exact sensitivity. `share` of the run's mu^2, before it is scaled to all releases.
  /// Precondition (asserted): share > 0.
  ReleaseRequest (&declare)(const ReleaseTerms& terms, double share);
  /// Computes the blocks of `request` from a worker's rows. Precondition: inputs.point is what it is taken at, asserted
  /// where that is a point. Throws as for_each_lattice_chunk.
  Statistic (&compute)(const ReleaseRequest& request, const StatisticInputs& inputs);
  /// Cost of a round of `request`.
  StatisticCost (&cost)(const ReleaseRequest& request);
  UnitForm unit_form;

  /// Request that `declare` makes for rows of terms.dim features. A release that counts rows beside its sums weighs
  /// units as a whole: a unit's counts all point the same way, so that B / m is the largest factor that holds both
  /// together.
  ReleaseRequest request(const ReleaseTerms& terms, double share) const;
  bool is_round() const { return taken_at == TakenAt::kWeights || taken_at == TakenAt::kBalls; }
};

// Bounds on how far one row moves a sum of rows: what the declarations of statistics share.
//
// Legend: a lattice row q has ||q||_2 <= S (kLatticeNorm) and a set Y of at most k of the K classes (most_labels; 1
// where every row has one class); d features (an intercept is one of them).
//
// Rows of several classes. One row more or less moves the sums, counts and Gram matrices of the classes in Y, each by
// what a row of one class moves: k times the square. Replacing a row by another with m classes in common moves these m
// by |q - q'|^2. It moves t others by |q|^2 or |q'|^2, with t <= 2 (k - m) and t <= K - m. At t = 2 (k - m) squares are
// linear in m, so the worst case is m = k, k times "the same class", or m = 0, k times "another class".

/// S^2.
inline constexpr std::uint64_t kSquaredNorm = std::uint64_t{kLatticeNorm} * std::uint64_t{kLatticeNorm};
/// S^4. 16 of these fit into 64 bits.
inline constexpr std::uint64_t kFourthNorm = kSquaredNorm * kSquaredNorm;

/// sqrt(k): the sensitivity of what a row adds to each of its classes, over that of a row of one class.
inline double root_of(std::size_t most_labels) {
  return std::sqrt(static_cast<double>(most_labels));
}

/// A loss weight W_b that gives a block of a release the `share` of its mu^2: with one profile a block gets
/// D_b sqrt(W_b) / sum, D_b its `sensitivity`, where all blocks get their weights in this way.
inline double weight_of_share(double share, double sensitivity) {
  const double root = share / sensitivity;
  return root * root;
}

/// A row exchanged for another one.
struct LabelExchange {
  std::string change;    ///< as SensitivityProfile has it
  std::uint64_t common;  ///< m: classes that both rows have
  std::uint64_t others;  ///< t: classes that one of them has
};

/// The exchanges that no other exchange of rows of at most `most_labels` classes passes, at any price of a count: the
/// corners of the polygon of (m, t). m = k, t = 0; m = 0, t = min(2 k, K); and, where k < K < 2 k, the corner between
/// these, m = 2 k - K, t = 2 (K - k). Preconditions: classes >= 2; 1 <= most_labels <= classes.
std::vector<LabelExchange> label_exchanges(std::uint64_t classes, std::uint64_t most_labels);

/// The largest square of every block, as one change. Of units exchanged, where blocks hold a weighed row in different
/// powers (weighted_rows.hpp): these are rounded apart, so that no block's change says anything of another's.
SensitivityProfile largest_of_each_block(const std::vector<SensitivityProfile>& profiles);

}  // namespace dpreduce
