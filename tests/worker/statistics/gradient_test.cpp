#include <gtest/gtest.h>

#include "tests/worker/declared_squares.hpp"

namespace dpreduce {
namespace gradient_test {

TEST(Gradient, MovesByTheSameWhateverTheClassesOfARow) {
  for (const std::size_t most_labels : {1U, 3U}) {
    ReleaseTerms terms{.classes = 5, .most_labels = most_labels, .dim = 4, .rounds = 7};
    EXPECT_EQ(declared_squares("gradient", terms), (Squares{{kS4}}));
    EXPECT_EQ(registered_statistic("gradient").request(terms, 1.0).rounds, 7U);
    terms.adjacency = Adjacency::kReplaceOne;
    EXPECT_EQ(declared_squares("gradient", terms), (Squares{{4 * kS4}}));
  }
}

TEST(Gradient, RefusesImpossibleTerms) {
  const StatisticEntry& gradient = registered_statistic("gradient");
  EXPECT_THROW(gradient.request({.classes = 5, .dim = 4, .rounds = 0}, 1.0), std::logic_error);
  EXPECT_THROW(gradient.request({.classes = 1, .dim = 4}, 1.0), std::logic_error);
  EXPECT_THROW(gradient.request({.classes = 5, .dim = 0}, 1.0), std::logic_error);
  EXPECT_THROW(gradient.request({.classes = 5, .dim = 4}, 0.0), std::logic_error);
}

}  // namespace gradient_test
}  // namespace dpreduce
