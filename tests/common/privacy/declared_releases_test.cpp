#include "dpreduce/privacy/declared_releases.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/privacy/triangle.hpp"

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
