#include <cmath>

#include <gtest/gtest.h>

#include "common/plan/noise_plan.hpp"
#include "tests/worker/declared_squares.hpp"
#include "worker/hessian_rows.hpp"

namespace dpreduce {
namespace hessians_test {

TEST(Newton, DeclaresTheBoundOfItsLoss) {
  for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid}) {
    const std::uint64_t bound = hessian_bound(loss, 5);
    ReleaseTerms terms{.classes = 5, .dim = 4, .loss = loss};
    EXPECT_EQ(declared_squares("newton", terms), (Squares{{kS4, bound}}));
    terms.adjacency = Adjacency::kReplaceOne;
    EXPECT_EQ(declared_squares("newton", terms), (Squares{{4 * kS4, 2 * bound}}));
  }
}

TEST(Newton, SplitsItsBudgetAsSaid) {
  const ReleaseRequest request = registered_statistic("newton").request(
      {.classes = 10, .dim = 20, .hessian_share = 0.3, .loss = Loss::kSigmoid, .rounds = 4}, 1.0);
  const NoisePlan plan = make_noise_plan(2.0, Adjacency::kAddRemove, {request});
  EXPECT_NEAR(std::pow(plan.releases[0].block("hessians").mu, 2), 0.3, 1e-9);  // of 4 a run, 1 a round
  EXPECT_NEAR(std::pow(plan.releases[0].block("gradient").mu, 2), 0.7, 1e-9);
}

TEST(Newton, RefusesImpossibleTerms) {
  const StatisticEntry& newton = registered_statistic("newton");
  EXPECT_THROW(newton.request({.classes = 5, .dim = 4, .loss = Loss::kSquare}, 1.0), std::logic_error);
  EXPECT_THROW(newton.request({.classes = 5, .dim = 4, .hessian_share = 1.0}, 1.0), std::logic_error);
  EXPECT_THROW(newton.request({.classes = 5, .dim = 4, .hessian_share = 0.0}, 1.0), std::logic_error);
  EXPECT_THROW(newton.request({.classes = 5, .dim = 4, .rounds = 0}, 1.0), std::logic_error);
}

}  // namespace hessians_test
}  // namespace dpreduce
