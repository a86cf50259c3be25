// A statistic that may be released: what is declared of it, how a worker computes it, what it costs.
//
// What it costs is told in public numbers: the run's cost is made of it (forecast/run_cost.hpp). The blocks of every
// statistic are summed up over ranks; what is said here comes on top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/privacy_terms.hpp"
#include "common/data/row_weights.hpp"
#include "common/plan/evaluation_terms.hpp"
#include "common/plan/loss.hpp"
#include "common/plan/metric.hpp"
#include "common/plan/noise_plan.hpp"
#include "common/plan/statistic.hpp"
#include "worker/statistic_inputs.hpp"

namespace dpreduce {

/// What a method may make of a release that later rows are prepared with.
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

/// What declarations depend on; all public. Declarations are of one row; of a unit, which moves a block B times as far
/// as a row at most, `rows_per_unit` of the request says so (fit/resolved_fit.cpp sets it, for all requests alike).
/// Every declaration has these preconditions (asserted) on what it reads, and
/// those that it states: classes >= 2; 1 <= most_labels <= classes; dim >= 1; rounds >= 1; every share above 0, and
/// below 1 where it is a part of a release.
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
  bool has_units = false;        ///< rows have weights (row_weights.hpp)
  bool clips_units = false;      ///< units may have several rows, and are clipped where they can be

  /// The fraction bits of blocks that count rows: counts of weighed rows are in units of weights.
  unsigned count_bits() const { return has_units ? kWeightBits : 0; }
};

/// What a statistic is taken at. Of weights and balls it is released round by round, at one point after the other.
enum class TakenAt {
  kRows,     ///< std::monostate
  kWeights,  ///< GradientPoint
  kBalls,    ///< ClassBalls
  kModels    ///< ModelsPoint
};

/// How a unit of several rows is held to what B rows may move a statistic.
enum class UnitForm {
  kClipped,  ///< its sums are clipped (clipped_units.hpp)
  kWeighed   ///< each of its rows weighs less (weighted_rows.hpp)
};

/// Members are references, so that an entry without one of them does not compile.
struct StatisticEntry {
  /// The name of the release.
  std::string_view name;
  TakenAt taken_at;
  /// The declaration: every block with its exact sensitivity. `share` of the run's mu^2, before it is scaled to all
  /// releases. Precondition (asserted): share > 0.
  ReleaseRequest (&declare)(const ReleaseTerms& terms, double share);
  /// The blocks of `request` from a worker's rows. Precondition: inputs.point is what it is taken at, asserted where
  /// that is a point. Throws as for_each_lattice_chunk.
  Statistic (&compute)(const ReleaseRequest& request, const StatisticInputs& inputs);
  /// What a round of `request` costs.
  StatisticCost (&cost)(const ReleaseRequest& request);
  UnitForm unit_form;

  /// Request that `declare` makes for rows of terms.dim features. A release that counts rows beside its sums weighs
  /// units as a whole: a unit's counts all point the same way, so that B / m is the largest factor that holds both
  /// together.
  ReleaseRequest request(const ReleaseTerms& terms, double share) const;
  bool is_round() const { return taken_at == TakenAt::kWeights || taken_at == TakenAt::kBalls; }
};

}  // namespace dpreduce
