// Release "least_squares": the Gram matrix of the release "gram" (gram.hpp) and class_sums = sum_{i : c in Y_i} q_i
// (K x d), in one pass over the rows. `gram_share` of the release's mu^2 goes to the Gram matrix.
//
// Sensitivity, squared: add-remove {S^4, S^2}. Replace-one, t = <q, q'> / S^2: within a class {2 S^4 (1 - t^2),
// 2 S^2 (1 - t)}, a curve below the tangents at t = 0 and t = -1, whose corners are {2 S^4, 3 S^2} and {0, 4 S^2}; no
// noise costs more on the curve than at the worse of the corners. Across two classes {2 S^4, 2 S^2}, below the first.
// With k classes a row the squares of the sums are k times these, the Gram matrix moves as before.
// Persons: clipped, each block by a factor of its own.
#include <span>

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/kernels/class_sums.hpp"
#include "common/plan/empty_statistic.hpp"
#include "worker/row_sensitivity.hpp"
#include "worker/statistics/gram.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace least_squares_entry {

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  DPREDUCE_ASSERT(terms.classes >= 2 && terms.dim >= 1 && share > 0.0);
  DPREDUCE_ASSERT(terms.gram_share > 0.0 && terms.gram_share < 1.0);
  DPREDUCE_ASSERT(terms.most_labels >= 1 && terms.most_labels <= terms.classes);
  const double sums_sensitivity = root_of(terms.most_labels) * double{kLatticeNorm};
  ReleaseRequest request{
      .name = "least_squares",
      .share = share,
      .blocks = {gram_block(terms.dim, weight_of_share(terms.gram_share, static_cast<double>(kSquaredNorm))),
                 {"class_sums", terms.classes * terms.dim, weight_of_share(1.0 - terms.gram_share, sums_sensitivity)}},
      .profiles = {}};
  const std::uint64_t sums = terms.most_labels * kSquaredNorm;
  if (terms.adjacency == Adjacency::kAddRemove) {
    request.profiles = {{"one row more or less", {kFourthNorm, sums}}};
  } else {
    request.profiles = {{"another row", {2 * kFourthNorm, 3 * sums}}, {"the opposite row", {0, 4 * sums}}};
    if (terms.has_units) request.profiles = {largest_of_each_block(request.profiles)};
  }
  return request;
}

Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> sums = statistic.block(statistic.index_of("class_sums"));
  const std::size_t dim = inputs.transform.output_dim();
  WeightedRows weighted(UnitSum::kClassSums, request);
  accumulate_gram(statistic, request, inputs, [&](const LatticeRows& chunk) {
    accumulate_class_sums(weighted.of(chunk, inputs.plan.threads), chunk.labels(),
                          {sums.data(), sums.size() / dim, dim, dim}, inputs.plan.threads);
  });
  return statistic;
}

}  // namespace least_squares_entry

namespace statistics {
extern constinit const StatisticEntry least_squares{
    "least_squares", TakenAt::kRows,    least_squares_entry::request_of, least_squares_entry::compute,
    cost_of_sums,    UnitForm::kClipped};
}  // namespace statistics

}  // namespace dpreduce
