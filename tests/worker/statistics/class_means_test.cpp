#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include "tests/worker/declared_squares.hpp"

namespace dpreduce {
namespace class_means_test {

ReleaseTerms terms_of(std::size_t classes, std::size_t most_labels, Adjacency adjacency) {
  return {
      .classes = classes, .most_labels = most_labels, .dim = 4, .metric = Metric::kEuclidean, .adjacency = adjacency};
}

TEST(ClassMeans, OfRowsOfOneClassAreWhatTheyWereCalibratedFor) {
  EXPECT_EQ(declared_squares("class_means", terms_of(10, 1, Adjacency::kAddRemove)), (Squares{{kS2, 1}}));
  EXPECT_EQ(declared_squares("class_means", terms_of(10, 1, Adjacency::kReplaceOne)),
            (Squares{{4 * kS2, 0}, {2 * kS2, 2}}));
}

TEST(ClassMeans, OfRowsOfSeveralClassesMultiplyByTheirNumber) {
  EXPECT_EQ(declared_squares("class_means", terms_of(10, 3, Adjacency::kAddRemove)), (Squares{{3 * kS2, 3}}));
  EXPECT_EQ(declared_squares("class_means", terms_of(10, 3, Adjacency::kReplaceOne)),
            (Squares{{12 * kS2, 0}, {6 * kS2, 6}}));
}

TEST(ClassMeans, OfDirectionsHaveNoCountsAndNeitherHaveFeatureSums) {
  ReleaseTerms terms = terms_of(10, 3, Adjacency::kReplaceOne);
  EXPECT_EQ(declared_squares("feature_sums", terms), (Squares{{12 * kS2}, {6 * kS2}}));
  terms.metric = Metric::kCosine;
  EXPECT_EQ(declared_squares("class_means", terms), (Squares{{12 * kS2}, {6 * kS2}}));
}

// All pairs of sets of classes: no exchange costs more than the worst profile, at any price of a count.
TEST(ClassMeans, ExchangesOfSetsAreWithinTheirProfilesAndReachThem) {
  for (const std::size_t classes : {2U, 3U, 5U}) {
    for (std::size_t most = 1; most <= classes; ++most) {
      const Squares profiles = declared_squares("class_means", terms_of(classes, most, Adjacency::kReplaceOne));
      for (const double price : {0.0, 0.3, 1.0, 1.9, 2.1, 5.0, 1e6}) {
        double declared = 0.0;
        for (const auto& profile : profiles) {
          declared =
              std::max(declared, static_cast<double>(profile[0] / kS2) + price * static_cast<double>(profile[1]));
        }
        double reached = 0.0;
        for (unsigned one = 0; one < 1U << classes; ++one) {
          for (unsigned other = 0; other < 1U << classes; ++other) {
            if (std::popcount(one) > static_cast<int>(most) || std::popcount(other) > static_cast<int>(most)) continue;
            const double moved = std::popcount(one ^ other);
            reached = std::max(reached, 4.0 * std::popcount(one & other) + moved + price * moved);
          }
        }
        EXPECT_DOUBLE_EQ(reached, declared) << classes << " " << most << " " << price;
      }
    }
  }
}

TEST(ClassMeans, RefuseImpossibleTerms) {
  const StatisticEntry& means = registered_statistic("class_means");
  EXPECT_THROW(means.request(terms_of(3, 4, Adjacency::kAddRemove), 1.0), std::logic_error);
  EXPECT_THROW(means.request(terms_of(3, 0, Adjacency::kAddRemove), 1.0), std::logic_error);
  EXPECT_THROW(means.request(terms_of(1, 1, Adjacency::kAddRemove), 1.0), std::logic_error);
  EXPECT_THROW(means.request(terms_of(3, 1, Adjacency::kAddRemove), 0.0), std::logic_error);
}

}  // namespace class_means_test
}  // namespace dpreduce
