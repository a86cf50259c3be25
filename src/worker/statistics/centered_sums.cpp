// Sums of rows for means: of all rows, and about a public center, clipped to a public ball.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/error.hpp"
#include "common/kernels/class_sums.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/metric.hpp"
#include "common/ledger/statistic.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/statistics/registered_statistics.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace {

// Release "center": row_sum = sum_i q_i (d) and row_count = n (1), over rows that count, for the mean of all rows.
//
// Sensitivity, squared: add-remove {S^2, 1}. Replace-one {4 S^2, 0}; so that the released count keeps n a secret there
// too, the change of one row more is protected as well, {S^2, 1}, which costs nothing. Loss weights: an error e of the
// count moves the mean by |mean| e / n, and |mean| <= S.
// Persons: weighed, sum and count alike, so that the mean is one of rows.
ReleaseRequest center_request(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.dim >= 1 && share > 0.0);
  std::vector<SensitivityProfile> profiles{{"one row more or less", {kSquaredNorm, 1}}};
  if (terms.adjacency == Adjacency::kReplaceOne) profiles.push_back({"another row", {4 * kSquaredNorm, 0}});
  return {.share = share,
          .blocks = {{"row_sum", terms.dim, static_cast<double>(terms.dim)},
                     {.name = "row_count",
                      .elements = 1,
                      .loss_weight = static_cast<double>(kSquaredNorm),
                      .fraction_bits = terms.count_bits()}},
          .profiles = std::move(profiles)};
}

// n d additions.
Statistic center_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> sum = statistic.block(statistic.index_of("row_sum"));
  std::int64_t& count = statistic.block(statistic.index_of("row_count")).front();
  const unsigned count_bits = request.blocks.back().fraction_bits;
  std::vector<std::int32_t> one_class;  // class 0 for every row that counts
  WeightedRows weighted(WeightPower::kWhole);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    one_class.resize(chunk.rows());
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      one_class[row] = chunk.counts(row) ? 0 : kNoLabel;
      if (chunk.counts(row)) count += count_of_row(chunk, row, count_bits);
    }
    accumulate_class_sums(weighted.of(chunk, inputs.plan.threads), one_class, {sum.data(), 1, sum.size(), sum.size()},
                          inputs.plan.threads);
  });
  return statistic;
}

// The mean, or the centers, that each rank gets.
double words_of_centers(const ReleaseRequest& request) {
  return static_cast<double>(request.blocks.front().elements);
}

// Release "centred_sums", `rounds` times, at public balls, for rows of at most one class: sums of rows about a public
// center of their class, clipped to a public ball, which a mean is refined with.
//
//     centred_sums_c = sum_{i : y_i = c} round_to_zero(f_i v_i),   v_i = q_i - z_c,   f_i = S / max(|v_i|, T_c)
//     class_counts_c = #{i : y_i = c}
//
// Legend: q a lattice row, z_c the center of class c on the same lattice, T_c its ball's radius in lattice units, S =
// 32767. Rows of the ball are scaled by S / T_c, so that every ball has the lattice's norm, and with it one noise: in
// feature units noise shrinks with the ball. Rounding to zero never makes a row longer, and |f_i v_i| <= S is checked
// in integers all the same; a row that fails counts without a sum.
//
// Sensitivity, squared, whatever the centers and radii: that of the release "class_means" with counts and one class a
// row, since a row adds to its own class a vector of norm at most S, and 1.
// Persons: weighed, sums and counts alike, so that means are of both.
// Source: [biswas2020], CoinPress, the clipped step of Algorithm 3.
// Centers of noise alone may lie anywhere.
constexpr double kFarthest = 1 << 20;
// For the roundings of f and of its product.
constexpr double kBelowOne = 1.0 - 0x1p-50;

// Centers and radii in lattice units. Entries of centers are held to 2^20, so that differences from rows stay within 32
// bits and their squares within 64.
struct LatticeBalls {
  std::vector<std::int32_t> centers;
  std::vector<double> radii;

  LatticeBalls(const ClassBalls& balls, const Lattice& lattice) {
    // Far below any clip norm, and above where a row at the center would be multiplied by infinity.
    const auto is_radius = [](double radius) { return radius >= 1e-100 && std::isfinite(radius); };
    if (!std::ranges::all_of(balls.centers, [](double entry) { return std::isfinite(entry); }) ||
        !std::ranges::all_of(balls.radii, is_radius)) {
      throw AggregationAborted("the coordinator's balls are out of range");  // silos need not trust it
    }
    for (const double entry : balls.centers) {
      centers.push_back(
          static_cast<std::int32_t>(std::round(std::clamp(entry * lattice.scale(), -kFarthest, kFarthest))));
    }
    for (const double radius : balls.radii) radii.push_back(radius * lattice.scale());
  }
};

// q = round_to_zero(f v), v = row - center, f = S / max(|v|, radius): the row about its center on the ball's own
// lattice. ||q||^2 <= S^2, checked in integers; a row that failed would become zeros. Cost: 4 d multiply-adds.
// Preconditions: equal sizes.
void center_row(std::span<const std::int16_t> row, std::span<const std::int32_t> center, double radius,
                std::span<std::int16_t> q) {
  std::int64_t squared = 0;
  for (std::size_t a = 0; a < row.size(); ++a) {
    const std::int64_t difference = std::int64_t{row[a]} - center[a];
    squared += difference * difference;
  }
  const double factor =
      static_cast<double>(kLatticeNorm) / std::max(std::sqrt(static_cast<double>(squared)), radius) * kBelowOne;
  std::uint64_t kept = 0;
  for (std::size_t a = 0; a < row.size(); ++a) {
    q[a] = static_cast<std::int16_t>(factor * static_cast<double>(std::int64_t{row[a]} - center[a]));
    kept += static_cast<std::uint64_t>(std::int32_t{q[a]} * std::int32_t{q[a]});
  }
  if (kept > kSquaredNorm) std::fill(q.begin(), q.end(), std::int16_t{0});
}

ReleaseRequest centered_sums_request(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.most_labels == 1 && terms.rounds >= 1);
  ReleaseTerms of_means = terms;
  of_means.metric = Metric::kEuclidean;
  ReleaseRequest request = registered_statistic("class_means").declare(of_means, share);
  request.rounds = terms.rounds;
  request.blocks.front().name = "centred_sums";
  return request;
}

// The public balls. Precondition (asserted): so many, of d entries.
const ClassBalls& balls_of(const StatisticInputs& inputs, std::size_t count) {
  const auto* const at = std::get_if<ClassBalls>(&inputs.point);
  DPREDUCE_ASSERT(at != nullptr && at->radii.size() == count && at->centers.size() == count * inputs.lattice().dim);
  return *at;
}

// Sums of rows about the centers of public balls, in the first block: `by_class` about that of their class, with the
// numbers of rows in the block class_counts, else of all rows about one center. Preconditions (asserted): as many balls
// of d entries; by class one class a row.
template <bool by_class>
Statistic sums_in_balls(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const Lattice lattice = inputs.lattice();
  const std::size_t dim = lattice.dim;
  const std::size_t count = by_class ? inputs.plan.classes : 1;
  DPREDUCE_ASSERT(!by_class || inputs.plan.labels_per_row == 1);
  const LatticeBalls balls(balls_of(inputs, count), lattice);
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> sums = statistic.block(0);
  std::span<std::int64_t> counts;
  if (by_class) counts = statistic.block(statistic.index_of("class_counts"));
  const unsigned count_bits = request.blocks.back().fraction_bits;
  std::vector<std::int16_t> q(dim);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const std::span<const std::int32_t> classes = chunk.classes_of(row);
      if (by_class ? classes.empty() : !chunk.counts(row)) continue;
      const std::size_t ball = by_class ? static_cast<std::size_t>(classes.front()) : 0;
      center_row(chunk.row(row), std::span(balls.centers).subspan(ball * dim, dim), balls.radii[ball], q);
      weigh_row(q, chunk.weight(row), WeightPower::kWhole, q);
      for (std::size_t a = 0; a < dim; ++a) sums[ball * dim + a] += q[a];
      if (by_class) counts[ball] += count_of_row(chunk, row, count_bits);
    }
  });
  return statistic;
}

// Release "center_rest" at a public ball: what the mean of all rows is refined with once "center" is known.
//
//     rest_sum = sum_i round_to_zero(f_i v_i),   v_i = q_i - z,   f_i = S / max(|v_i|, T)
//
// Legend: q a lattice row that counts, z a public center on the same lattice, T the ball's radius in lattice units, S =
// 32767. The ball has the lattice's norm: in feature units noise is smaller than that of "center" by T / S.
//
// Sensitivity, squared, whatever center and radius: add-remove S^2, replace-one 4 S^2, since a row adds a vector of
// norm at most S, which is checked in integers.
// Persons: weighed, as in "center", whose count divides this sum.
ReleaseRequest center_rest_request(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.dim >= 1 && share > 0.0);
  return {.share = share,
          .blocks = {{"rest_sum", terms.dim, static_cast<double>(terms.dim)}},
          .profiles = profiles_of(terms, {kSquaredNorm}, {{"another row", {4 * kSquaredNorm}}})};
}

// Each rank has the ball's center already, and gets its radius and the mean.
double words_of_rest(const ReleaseRequest& request) {
  return words_of_centers(request) + 1.0;
}

constexpr StatisticEntry kCenterStatistics[] = {
    {"center", TakenAt::kRows, UnitForm::kWeighed, center_request, center_statistic, words_of_centers,
     RowChange::kCenter},
    {"centred_sums", TakenAt::kBalls, UnitForm::kWeighed, centered_sums_request, sums_in_balls<true>, words_of_centers},
    {"center_rest", TakenAt::kBalls, UnitForm::kWeighed, center_rest_request, sums_in_balls<false>, words_of_rest,
     RowChange::kCenter}};

}  // namespace

extern constinit const std::span<const StatisticEntry> center_statistics{kCenterStatistics};

}  // namespace dpreduce
