// Statistic that may be released: its inputs, its declaration, and how far one row moves it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/privacy_terms.hpp"
#include "common/data/row_units.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/evaluation_terms.hpp"
#include "common/ledger/loss.hpp"
#include "common/ledger/metric.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/ledger/statistic.hpp"
#include "common/model/classifier.hpp"
#include "common/randomness/noise_key.hpp"
#include "worker/lattice_stream.hpp"

namespace dpreduce {

// A statistic is computed from rows, at a point. The point is public and the same on every rank of a sum.

/// Second head beside the trained weights: softmax of a row's cosines to released directions (K x d).
struct Prior {
  std::optional<LatticeWeights> directions{};  ///< nullopt: there is no second head
  /// Features among a row's d coordinates; the rest is an intercept, for which directions are 0.
  std::size_t features = 0;
};

/// Weights at which a gradient or a Hessian is taken.
struct GradientPoint {
  LatticeWeights weights;
  Loss loss = Loss::kSoftmax;
  Prior prior{};  ///< with kSoftmax only
  /// Z: norm that residuals are clipped to. On their lattice this length is S.
  double residual_norm = residual_norm_of(loss, prior.directions.has_value());
};

/// Ball of each class that rows are clipped to (statistics/centered_sums.cpp), in feature units.
struct ClassBalls {
  std::vector<double> centers;  ///< K x d
  std::vector<double> radii;    ///< K, above 0
};

/// Models that score the rows, and the terms of the counts of their scores. If positives alone are counted, also the
/// value of the curve, in [0, 1], for each bin of their scores. All outlive the point.
struct ModelsPoint {
  std::span<const Classifier> models;
  const EvaluationTerms& terms;
  std::span<const double> curve{};
};

/// Point of a statistic; std::monostate if the statistic is a function of the rows alone.
using PublicPoint = std::variant<std::monostate, GradientPoint, ClassBalls, ModelsPoint>;

/// Inputs that a statistic is computed from: a pass, and what is taken of it.
struct StatisticInputs : RowPass {
  PublicPoint point{};
  std::optional<RowSample> sample{};    ///< rows to count; nullopt: all rows
  std::span<const LatticeRows> kept{};  ///< all of these rows by this transform; empty: rows are read and transformed
  bool are_checked = false;             ///< a pass over all of these rows has found none that BadRows::kFail refuses
};

/// Returns the weights at which a gradient of these rows is taken. Preconditions (asserted): the point is a
/// GradientPoint; its weights have as many entries as the rows.
const GradientPoint& gradient_point(const StatisticInputs& inputs);

/// Number of rows of a sample that are gathered before they are summed.
inline constexpr std::size_t kDrawnRowsAtOnce = 1024;

/// Calls `visit` with each chunk of the rows, kept or not. With a sample, `visit` gets only the drawn rows, gathered: a
/// row that is not drawn adds exactly nothing. If the rows' units are known, units are drawn instead of rows; else, if
/// all rows are kept or checked, only drawn rows are touched. Memory of a sample: kDrawnRowsAtOnce rows of 2 d + 4
/// bytes, or as many as one unit has, if chunks are of whole units, or 4 d_in for each row of a chunk. Throws as
/// for_each_lattice_chunk.
void for_each_chunk(const StatisticInputs& inputs, const std::function<void(const LatticeRows&)>& visit);

// Statistic that may be released: its declaration, its computation on a worker, and its cost.
//
// Costs are in public numbers, and the run's cost is computed from them (fit/run_cost.hpp). The blocks of every
// statistic are summed up over ranks; the costs declared here come on top.

/// Preparation of later rows that a method may make from a release.
enum class RowChange {
  kNone,
  kCenter,      ///< centered at their mean: d words to each rank; of rows before any projection
  kComponents,  ///< projected by a matrix, sent to each rank; of rows before any projection
  kWhitening    ///< the same, by G^(-1/2); of rows that may be projected already
};

/// Lattice entries in a word of 8 bytes. Weights are sent on the lattice, 2 bytes an entry.
inline constexpr double kLatticeEntriesOfWord = 4.0;

/// Words of a statistic of which ranks receive nothing.
inline double no_words(const ReleaseRequest&) {
  return 0.0;
}

/// Public terms that declarations depend on. Declarations hold for one row. A unit moves a block at most B times as far
/// as a row; the request states B as `rows_per_unit` (fit/resolved_fit.cpp sets it, for all requests alike). Every
/// declaration has these preconditions (asserted) on the terms that it reads, and those that it states: classes >= 2; 1
/// <= most_labels <= classes; dim >= 1; rounds >= 1; every share above 0, and below 1 if it is a part of a release.
struct ReleaseTerms {
  std::size_t classes = 0;      ///< K
  std::size_t most_labels = 1;  ///< k: classes of a row
  std::size_t dim = 0;          ///< d
  Metric metric = Metric::kCosine;
  Adjacency adjacency = Adjacency::kAddRemove;
  double gram_share = 0.5;       ///< share of mu^2 for the Gram matrices of a release with class sums
  double alpha = 1.0;            ///< weight of G beside class Gram matrices
  double hessian_share = 0.5;    ///< share of mu^2 for the Hessians of a release with a gradient
  Loss loss = Loss::kSoftmax;    ///< loss of these Hessians
  std::uint64_t rounds = 1;      ///< number of rounds, at one public point after the other
  EvaluationTerms evaluation{};  ///< evaluation of a model on these rows
  bool has_units = false;        ///< rows have weights (row_units.hpp)
  bool clips_units = false;      ///< units may have several rows, and are clipped if they can be

  /// Fraction bits of blocks that count rows: counts of weighed rows are in units of weights.
  unsigned count_bits() const { return has_units ? kWeightBits : 0; }
};

/// Kind of point that a statistic is taken at. A statistic at weights or balls is released round by round, at one point
/// after the other.
enum class TakenAt {
  kRows,     ///< std::monostate
  kWeights,  ///< GradientPoint
  kBalls,    ///< ClassBalls
  kModels    ///< ModelsPoint
};

/// Way to limit a unit of several rows, so that it moves a statistic at most as far as B rows may.
enum class UnitForm {
  kClipped,  ///< its sums are clipped (weighted_rows.hpp)
  kWeighed   ///< each of its rows weighs less (weighted_rows.hpp)
};

/// Statistic that may be released. Members are references, so that an entry without one of them does not compile.
struct StatisticEntry {
  /// Name of the release.
  std::string_view name;
  TakenAt taken_at;
  UnitForm unit_form;
  /// Declares every block with its exact sensitivity. `share` is the share of the run's mu^2, before it is scaled to
  /// all releases. Precondition (asserted): share > 0.
  ReleaseRequest (&declare)(const ReleaseTerms& terms, double share);
  /// Computes the blocks of `request` from a worker's rows. Precondition: inputs.point is of the kind `taken_at`,
  /// asserted unless that is std::monostate. Throws as for_each_lattice_chunk.
  Statistic (&compute)(const ReleaseRequest& request, const StatisticInputs& inputs);
  /// 8-byte words to each rank, a round of `request`: its point, or the part that every rank gets.
  double (&words_down)(const ReleaseRequest& request) = no_words;
  RowChange row_change = RowChange::kNone;

  /// Request that `declare` makes for rows of terms.dim features, named as this entry. A release that counts rows
  /// beside its sums weighs units as a whole. A unit's counts all point in the same direction, so that B / m is the
  /// largest factor that bounds both together.
  ReleaseRequest request(const ReleaseTerms& terms, double share) const;
  bool is_round() const { return taken_at == TakenAt::kWeights || taken_at == TakenAt::kBalls; }
};

// Bounds on how far one row moves a sum of rows: the shared part of the declarations of statistics.
//
// Legend: a lattice row q has ||q||_2 <= S (kLatticeNorm) and a set Y of at most k of the K classes (most_labels; 1
// where every row has one class); d features (an intercept is one of them).
//
// Rows of several classes. One row more or less moves the sums, counts and Gram matrices of the classes in Y, each by
// what a row of one class moves: k times the square. Replacing a row by another with m classes in common moves these m
// by |q - q'|^2. It moves t others by |q|^2 or |q'|^2, with t <= 2 (k - m) and t <= K - m. At t = 2 (k - m) squares are
// linear in m, so the worst case is m = k, k times "the same class", or m = 0, k times "another class".

/// Squared norm bound S^2.
inline constexpr std::uint64_t kSquaredNorm = std::uint64_t{kLatticeNorm} * std::uint64_t{kLatticeNorm};
/// Fourth power of the norm bound, S^4. 16 of these fit into 64 bits.
inline constexpr std::uint64_t kFourthNorm = kSquaredNorm * kSquaredNorm;

/// sqrt(k): sensitivity of a sum to which a row adds for each of its classes, relative to a row of one class.
inline double root_of(std::size_t most_labels) {
  return std::sqrt(static_cast<double>(most_labels));
}

/// Loss weight W_b that gives a block of a release the `share` of its mu^2. With one profile a block gets D_b sqrt(W_b)
/// / sum, D_b its `sensitivity`, if all blocks get their weights in this way.
inline double weight_of_share(double share, double sensitivity) {
  const double root = share / sensitivity;
  return root * root;
}

/// Returns the profiles of a statistic whose blocks a row added or removed moves by `one_row`, squared, and an exchange
/// of a row by one of `exchanges`. If blocks hold a weighed row in different powers (weighted_rows.hpp), an exchange of
/// units has one profile, the largest square of every block: powers are rounded apart, so that no block's change
/// determines another's.
std::vector<SensitivityProfile> profiles_of(const ReleaseTerms& terms, std::vector<std::uint64_t> one_row,
                                            std::vector<SensitivityProfile> exchanges, bool holds_powers = false);

}  // namespace dpreduce
