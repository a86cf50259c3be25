#include <gtest/gtest.h>

#include "common/plan/noise_plan.hpp"
#include "tests/worker/declared_squares.hpp"

namespace dpreduce {
namespace adaptive_gradient_test {

TEST(AdaptiveGradient, CountsEveryRowOnOneSide) {
  ReleaseTerms terms{.classes = 5, .dim = 4};
  EXPECT_EQ(declared_squares("adaptive_gradient", terms), (Squares{{kS4, 1}}));
  terms.adjacency = Adjacency::kReplaceOne;
  EXPECT_EQ(declared_squares("adaptive_gradient", terms), (Squares{{4 * kS4, 2}}));
}

TEST(AdaptiveGradient, SpendsTwoPerCentOnTheCounts) {
  const ReleaseRequest request = registered_statistic("adaptive_gradient").request({.classes = 5, .dim = 4}, 1.0);
  const NoisePlan plan = make_noise_plan(1.0, Adjacency::kAddRemove, {request});
  const double mu = plan.releases[0].block("sides").mu;
  EXPECT_NEAR(mu * mu, 0.02, 1e-9);
}

}  // namespace adaptive_gradient_test
}  // namespace dpreduce
