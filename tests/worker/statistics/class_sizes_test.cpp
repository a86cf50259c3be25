#include <gtest/gtest.h>

#include "tests/worker/declared_squares.hpp"

namespace dpreduce {
namespace class_sizes_test {

TEST(ClassSizes, MoveByOneRowOrByTwo) {
  EXPECT_EQ(declared_squares("class_sizes", {.classes = 3}), (Squares{{1}}));
  EXPECT_EQ(declared_squares("class_sizes", {.classes = 3, .adjacency = Adjacency::kReplaceOne}), (Squares{{2}}));
}

TEST(ClassSizes, AreForRowsOfOneClass) {
  const StatisticEntry& sizes = registered_statistic("class_sizes");
  EXPECT_THROW(sizes.request({.classes = 3, .most_labels = 2}, 1.0), std::logic_error);
  EXPECT_THROW(sizes.request({.classes = 1}, 1.0), std::logic_error);
}

}  // namespace class_sizes_test
}  // namespace dpreduce
