// Release "center_rest" at a public ball: what the mean of all rows is refined with once "center" is known.
//
//     rest_sum = sum_i round_to_zero(f_i v_i),   v_i = q_i - z,   f_i = S / max(|v_i|, T)
//
// Legend: q a lattice row that counts, z a public center on the same lattice, T the ball's radius in lattice units, S =
// 32767. The ball has the lattice's norm: in feature units noise is smaller than that of "center" by T / S.
//
// Sensitivity, squared, whatever center and radius: add-remove S^2, replace-one 4 S^2, since a row adds a vector of
// norm at most S, which is checked in integers (centered_sums.hpp).
// Persons: weighed, as in "center", whose count divides this sum.
#include <span>
#include <variant>
#include <vector>

#include "common/base/error.hpp"
#include "common/plan/empty_statistic.hpp"
#include "worker/row_sensitivity.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/statistics/centered_sums.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace center_rest_entry {

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.dim >= 1 && share > 0.0);
  const bool is_add_remove = terms.adjacency == Adjacency::kAddRemove;
  return {.name = "center_rest",
          .share = share,
          .blocks = {{"rest_sum", terms.dim, static_cast<double>(terms.dim)}},
          .profiles = {{is_add_remove ? "one row more or less" : "another row",
                        {is_add_remove ? kSquaredNorm : 4 * kSquaredNorm}}}};
}

// Preconditions (asserted): one ball of d entries.
Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const Lattice lattice{inputs.transform.preprocessing().clip_norm, inputs.transform.output_dim()};
  const auto* const at = std::get_if<ClassBalls>(&inputs.point);
  DPREDUCE_ASSERT(at != nullptr && at->radii.size() == 1 && at->centers.size() == lattice.dim);
  const LatticeBalls ball(*at, lattice);
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> sum = statistic.block(statistic.index_of("rest_sum"));
  std::vector<std::int16_t> q(lattice.dim);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (!chunk.counts(row)) continue;
      center_row(chunk.row(row), ball.centers, ball.radii.front(), q);
      weigh_row(q, chunk.weight(row), WeightPower::kWhole, q);
      for (std::size_t a = 0; a < q.size(); ++a) sum[a] += q[a];
    }
  });
  return statistic;
}

// Each rank has the ball's center already, and gets its radius and the mean.
StatisticCost cost_of(const ReleaseRequest& request) {
  return {.words_down = elements_of(request.blocks.front()) + 1.0, .row_change = RowChange::kCenter};
}

}  // namespace center_rest_entry

namespace statistics {
extern constinit const StatisticEntry center_rest{"center_rest",
                                                  TakenAt::kBalls,
                                                  center_rest_entry::request_of,
                                                  center_rest_entry::compute,
                                                  center_rest_entry::cost_of,
                                                  UnitForm::kWeighed};
}  // namespace statistics

}  // namespace dpreduce
