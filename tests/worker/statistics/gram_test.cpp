#include <gtest/gtest.h>

#include "tests/worker/declared_squares.hpp"

namespace dpreduce {
namespace gram_test {

TEST(Gram, MovesByTheFourthPowerOfARowUnderEitherName) {
  for (const char* name : {"gram", "pca"}) {
    EXPECT_EQ(declared_squares(name, {.dim = 4}), (Squares{{kS4}}));
    EXPECT_EQ(declared_squares(name, {.dim = 4, .adjacency = Adjacency::kReplaceOne}), (Squares{{2 * kS4}}));
    EXPECT_EQ(registered_statistic(name).request({.dim = 4}, 1.0).blocks.front().elements, 10U);
    EXPECT_EQ(registered_statistic(name).request({.dim = 4}, 1.0).blocks.front().noise, BlockNoise::kSymmetric);
  }
}

TEST(Gram, RefusesImpossibleTerms) {
  EXPECT_THROW(registered_statistic("gram").request({.dim = 0}, 1.0), std::logic_error);
  EXPECT_THROW(registered_statistic("gram").request({.dim = 4}, 0.0), std::logic_error);
}

}  // namespace gram_test
}  // namespace dpreduce
