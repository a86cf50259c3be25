#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/worker/declared_squares.hpp"

namespace dpreduce {
namespace least_squares_test {

TEST(LeastSquares, SumsOfSeveralClassesMultiplyByTheirNumberAndTheGramMatrixDoesNot) {
  ReleaseTerms terms{.classes = 10, .most_labels = 3, .dim = 4};
  EXPECT_EQ(declared_squares("least_squares", terms), (Squares{{kS4, 3 * kS2}}));
  terms.adjacency = Adjacency::kReplaceOne;
  EXPECT_EQ(declared_squares("least_squares", terms), (Squares{{2 * kS4, 9 * kS2}, {0, 12 * kS2}}));
}

// {2 S^4 (1 - t^2), 2 S^2 (1 - t)}: two rows of full length and one class, at every angle and price of the sums.
TEST(LeastSquares, NoExchangeCostsMoreThanTheWorseCorner) {
  const Squares corners =
      declared_squares("least_squares", {.classes = 10, .dim = 4, .adjacency = Adjacency::kReplaceOne});
  for (const double price : {0.0, 0.1, 0.5, 1.0, 3.0, 100.0}) {
    double declared = 0.0;
    for (const auto& corner : corners) {
      declared =
          std::max(declared, static_cast<double>(corner[0] / kS4) + price * static_cast<double>(corner[1] / kS2));
    }
    for (double t = -1.0; t <= 1.0; t += 0.01) {
      const double cost = 2.0 * (1.0 - t * t) + price * 2.0 * (1.0 - t);
      EXPECT_LE(cost, declared + 1e-12) << t << " " << price;
    }
  }
}

TEST(LeastSquares, RefusesImpossibleTerms) {
  const StatisticEntry& least_squares = registered_statistic("least_squares");
  EXPECT_THROW(least_squares.request({.classes = 3, .dim = 4, .gram_share = 0.0}, 1.0), std::logic_error);
  EXPECT_THROW(least_squares.request({.classes = 3, .dim = 4, .gram_share = 1.0}, 1.0), std::logic_error);
  EXPECT_THROW(least_squares.request({.classes = 3, .most_labels = 4, .dim = 4}, 1.0), std::logic_error);
}

}  // namespace least_squares_test
}  // namespace dpreduce
