#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "common/plan/noise_plan.hpp"
#include "tests/worker/declared_squares.hpp"

namespace dpreduce {
namespace class_variances_test {

TEST(Fisher, DeclaresSumsMomentsAndCountsOfOneRow) {
  EXPECT_EQ(declared_squares("fisher", {.classes = 3, .dim = 4}), (Squares{{kS2, kS4, 1}}));
  EXPECT_EQ(declared_squares("fisher", {.classes = 3, .dim = 4, .adjacency = Adjacency::kReplaceOne}),
            (Squares{{3 * kS2, 2 * kS4, 0}, {4 * kS2, 0, 0}, {2 * kS2, 2 * kS4, 2}}));
}

// Shares of mu^2 in the ratio 1 : 2 / K : 2 / sqrt(d).
TEST(Fisher, SplitsItsBudgetAsSaid) {
  const NoisePlan plan = make_noise_plan(1.0, Adjacency::kAddRemove,
                                         {registered_statistic("fisher").request({.classes = 4, .dim = 16}, 1.0)});
  for (const char* block : {"class_sums", "second_moments", "class_counts"}) {
    const double mu = plan.releases[0].block(block).mu;
    EXPECT_NEAR(mu * mu, std::string(block) == "class_sums" ? 0.5 : 0.25, 1e-9) << block;
  }
}

TEST(Fisher, IsForRowsOfOneClass) {
  EXPECT_THROW(registered_statistic("fisher").request({.classes = 3, .most_labels = 2, .dim = 4}, 1.0),
               std::logic_error);
}

}  // namespace class_variances_test
}  // namespace dpreduce
