#include <gtest/gtest.h>

#include "tests/worker/declared_squares.hpp"

namespace dpreduce {
namespace center_test {

TEST(Center, ProtectsTheNumberOfRowsUnderBothAdjacencies) {
  EXPECT_EQ(declared_squares("center", {.dim = 4}), (Squares{{kS2, 1}}));
  EXPECT_EQ(declared_squares("center", {.dim = 4, .adjacency = Adjacency::kReplaceOne}),
            (Squares{{kS2, 1}, {4 * kS2, 0}}));
}

TEST(Center, RefusesImpossibleTerms) {
  const StatisticEntry& center = registered_statistic("center");
  EXPECT_THROW(center.request({.dim = 0}, 1.0), std::logic_error);
  EXPECT_THROW(center.request({.dim = 4}, 0.0), std::logic_error);
}

}  // namespace center_test
}  // namespace dpreduce
