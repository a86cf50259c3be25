#include "common/plan/declared_releases.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "common/plan/triangle.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kClasses = 10;
constexpr std::size_t kDim = 30;

PlannedRelease planned(double alpha, Adjacency adjacency) {
  return make_noise_plan(0.5, adjacency, {class_least_squares_release(kClasses, kDim, alpha, 0.6, adjacency, 1.0)})
      .releases[0];
}

TEST(ClassLeastSquaresRelease, SplitsTheBudgetSoThatNoOtherSplitHasLessNoise) {
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    for (const double alpha : {0.01, 0.3, 1.0, 20.0}) {
      const PlannedRelease release = planned(alpha, adjacency);
      const double class_sigma = release.block("class_grams").sigma;
      const double sigma = release.block("gram").sigma;
      EXPECT_NEAR(class_sigma * class_sigma / (sigma * sigma), alpha, 1e-12 * alpha);
    }
  }
}

// Var(A_j + alpha G) = (1 + alpha)^2 Var of one Gram matrix with all of the Gram matrices' budget.
TEST(ClassLeastSquaresRelease, CostsNoMoreNoiseThanOneGramMatrix) {
  const double one = make_noise_plan(0.5, Adjacency::kAddRemove,
                                     {least_squares_release(kClasses, kDim, 0.6, Adjacency::kAddRemove, 1.0)})
                         .releases[0]
                         .block("gram")
                         .sigma;
  for (const double alpha : {0.01, 0.3, 1.0, 20.0}) {
    const PlannedRelease release = planned(alpha, Adjacency::kAddRemove);
    const double sum = std::hypot(release.block("class_grams").sigma, alpha * release.block("gram").sigma);
    EXPECT_NEAR(sum / ((1.0 + alpha) * one), 1.0, 1e-12);
  }
}

std::vector<std::vector<std::uint64_t>> squares_of(const ReleaseRequest& request) {
  std::vector<std::vector<std::uint64_t>> squares;
  for (const SensitivityProfile& profile : request.profiles) squares.push_back(profile.squared_l2);
  return squares;
}

using Squares = std::vector<std::vector<std::uint64_t>>;
constexpr std::uint64_t kS2 = std::uint64_t{32767} * 32767;
constexpr std::uint64_t kS4 = kS2 * kS2;

TEST(RowsOfSeveralClasses, MultiplySquaredSensitivitiesByTheirNumber) {
  const auto add = Adjacency::kAddRemove;
  const auto replace = Adjacency::kReplaceOne;
  EXPECT_EQ(squares_of(class_means_release(10, 4, Metric::kEuclidean, add, 1.0, 3)), (Squares{{3 * kS2, 3}}));
  EXPECT_EQ(squares_of(class_means_release(10, 4, Metric::kEuclidean, replace, 1.0, 3)),
            (Squares{{12 * kS2, 0}, {6 * kS2, 6}}));
  EXPECT_EQ(squares_of(least_squares_release(10, 4, 0.5, add, 1.0, 3)), (Squares{{kS4, 3 * kS2}}));
  EXPECT_EQ(squares_of(least_squares_release(10, 4, 0.5, replace, 1.0, 3)),
            (Squares{{2 * kS4, 9 * kS2}, {0, 12 * kS2}}));
  EXPECT_EQ(squares_of(class_least_squares_release(10, 4, 1.0, 0.5, add, 1.0, 3)), (Squares{{3 * kS4, kS4, 3 * kS2}}));
  EXPECT_EQ(squares_of(class_least_squares_release(10, 4, 1.0, 0.5, replace, 1.0, 3)),
            (Squares{{6 * kS4, 2 * kS4, 9 * kS2}, {0, 0, 12 * kS2}}));
  EXPECT_EQ(squares_of(class_least_squares_release(20, 4, 1.0, 0.5, add, 1.0, 16))[0][0], 16 * kS4);
  EXPECT_EQ(squares_of(class_least_squares_release(20, 4, 1.0, 0.5, replace, 1.0, 8))[0][0], 16 * kS4);
  EXPECT_THROW(class_least_squares_release(20, 4, 1.0, 0.5, add, 1.0, 17), UsageError);
  EXPECT_THROW(class_least_squares_release(20, 4, 1.0, 0.5, replace, 1.0, 9), UsageError);
  EXPECT_THROW(class_means_release(3, 4, Metric::kCosine, add, 1.0, 4), std::logic_error);
  EXPECT_THROW(class_means_release(3, 4, Metric::kCosine, add, 1.0, 0), std::logic_error);
}

// All pairs of sets of classes: no exchange costs more than the worst profile, at any price of a count.
TEST(RowsOfSeveralClasses, ExchangesOfSetsAreWithinTheirProfilesAndReachThem) {
  for (const std::size_t classes : {2U, 3U, 5U}) {
    for (std::size_t most = 1; most <= classes; ++most) {
      const Squares profiles =
          squares_of(class_means_release(classes, 4, Metric::kEuclidean, Adjacency::kReplaceOne, 1.0, most));
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

// Var(A_j + alpha G) = (sqrt(k) + alpha)^2 Var of one Gram matrix with all of the Gram matrices' budget.
TEST(RowsOfSeveralClasses, SplitTheBudgetOfGramMatricesByTheirSensitivities) {
  const auto plan = [](const ReleaseRequest& request) {
    return make_noise_plan(0.5, Adjacency::kAddRemove, {request}).releases[0];
  };
  const double one =
      plan(least_squares_release(kClasses, kDim, 0.6, Adjacency::kAddRemove, 1.0, 4)).block("gram").sigma;
  for (const double alpha : {0.3, 1.0, 20.0}) {
    const PlannedRelease release =
        plan(class_least_squares_release(kClasses, kDim, alpha, 0.6, Adjacency::kAddRemove, 1.0, 4));
    const double sum = std::hypot(release.block("class_grams").sigma, alpha * release.block("gram").sigma);
    EXPECT_NEAR(sum / ((2.0 + alpha) * one), 1.0, 1e-12);
  }
}

TEST(ClassLeastSquaresRelease, ListsEachFamilyOnce) {
  const PlannedRelease release = planned(1.0, Adjacency::kAddRemove);
  ASSERT_EQ(release.blocks.size(), 3U);
  EXPECT_EQ(release.block("class_grams").elements, kClasses * triangle_elements(kDim));
  EXPECT_EQ(release.block("class_grams").triangles, kClasses);
  EXPECT_EQ(release.block("gram").elements, triangle_elements(kDim));
  EXPECT_EQ(release.block("class_sums").elements, kClasses * kDim);
}

TEST(ClassLeastSquaresRelease, WithoutAlphaReleasesNoGramOfAllRows) {
  const PlannedRelease release = planned(0.0, Adjacency::kReplaceOne);
  ASSERT_EQ(release.blocks.size(), 2U);
  EXPECT_EQ(release.blocks[0].name, "class_grams");
  EXPECT_EQ(release.blocks[1].name, "class_sums");
}

TEST(ClassLeastSquaresRelease, RefusesImpossibleTerms) {
  const auto release = [](double alpha, double gram_share) {
    return class_least_squares_release(kClasses, kDim, alpha, gram_share, Adjacency::kAddRemove, 1.0);
  };
  EXPECT_THROW(release(-0.1, 0.5), std::logic_error);
  EXPECT_THROW(release(std::nan(""), 0.5), std::logic_error);
  EXPECT_THROW(release(1.0, 0.0), std::logic_error);
  EXPECT_THROW(release(1.0, 1.0), std::logic_error);
}

TEST(NoisePlan, AFamilyMustBeTrianglesOfOneOrder) {
  const auto plan = [](std::uint64_t elements, std::uint64_t triangles) {
    return make_noise_plan(1.0, Adjacency::kAddRemove, "grams",
                           {{"grams", elements, 1.0, BlockNoise::kSymmetric, triangles}}, {{"one row", {1}}});
  };
  EXPECT_NO_THROW(plan(18, 3));
  EXPECT_THROW(plan(18, 2), UsageError);
  EXPECT_THROW(plan(19, 3), UsageError);
  EXPECT_THROW(plan(18, 0), UsageError);
}

}  // namespace
}  // namespace dpreduce
