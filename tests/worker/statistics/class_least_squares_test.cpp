#include "common/base/error.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/ledger/triangle.hpp"
#include "tests/testing.hpp"
#include "tests/worker/declared_squares.hpp"

namespace dpreduce::class_least_squares_test {

constexpr std::size_t kClasses = 10;
constexpr std::size_t kDim = 30;

ReleaseTerms terms_of(double alpha, std::size_t most_labels = 1, Adjacency adjacency = Adjacency::kAddRemove) {
  return {.classes = kClasses,
          .most_labels = most_labels,
          .dim = kDim,
          .adjacency = adjacency,
          .gram_share = 0.6,
          .alpha = alpha};
}

PlannedRelease planned(std::string_view statistic, const ReleaseTerms& terms) {
  return make_noise_plan(0.5, terms.adjacency, {registered_statistic(statistic).request(terms, 1.0)}).releases[0];
}

TEST(ClassLeastSquares, SplitsTheBudgetSoThatNoOtherSplitHasLessNoise) {
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    for (const double alpha : {0.01, 0.3, 1.0, 20.0}) {
      const PlannedRelease release = planned("class_least_squares", terms_of(alpha, 1, adjacency));
      const double class_sigma = release.block("class_grams").sigma;
      const double sigma = release.block("gram").sigma;
      EXPECT_NEAR(class_sigma * class_sigma / (sigma * sigma), alpha, 1e-12 * alpha);
    }
  }
}

// Var(A_j + alpha G) = (sqrt(k) + alpha)^2 Var of one Gram matrix with all of the Gram matrices' budget.
TEST(ClassLeastSquares, CostsNoMoreNoiseThanOneGramMatrix) {
  for (const std::size_t most_labels : {1U, 4U}) {
    const double one = planned("least_squares", terms_of(1.0, most_labels)).block("gram").sigma;
    for (const double alpha : {0.01, 0.3, 1.0, 20.0}) {
      const PlannedRelease release = planned("class_least_squares", terms_of(alpha, most_labels));
      const double sum = std::hypot(release.block("class_grams").sigma, alpha * release.block("gram").sigma);
      EXPECT_NEAR(sum / ((std::sqrt(most_labels) + alpha) * one), 1.0, 1e-12);
    }
  }
}

TEST(ClassLeastSquares, TakesAsManyLabelsAsSquaresFitInto64Bits) {
  const auto squares = [](std::size_t most_labels, Adjacency adjacency) {
    ReleaseTerms terms = terms_of(1.0, most_labels, adjacency);
    terms.classes = 20;
    return declared_squares("class_least_squares", terms);
  };
  EXPECT_EQ(squares(16, Adjacency::kAddRemove)[0][0], 16 * kS4);
  EXPECT_EQ(squares(8, Adjacency::kReplaceOne)[0][0], 16 * kS4);
  EXPECT_THROW(squares(17, Adjacency::kAddRemove), UsageError);
  EXPECT_THROW(squares(9, Adjacency::kReplaceOne), UsageError);
}

TEST(ClassLeastSquares, ListsEachFamilyOnceAndWithoutAlphaNoGramOfAllRows) {
  const PlannedRelease release = planned("class_least_squares", terms_of(1.0));
  ASSERT_EQ(release.blocks.size(), 3U);
  EXPECT_EQ(release.block("class_grams").elements, kClasses * triangle_elements(kDim));
  EXPECT_EQ(release.block("class_grams").triangles, kClasses);
  EXPECT_EQ(release.block("gram").elements, triangle_elements(kDim));
  EXPECT_EQ(release.block("class_sums").elements, kClasses * kDim);
  const PlannedRelease without = planned("class_least_squares", terms_of(0.0, 1, Adjacency::kReplaceOne));
  ASSERT_EQ(without.blocks.size(), 2U);
  EXPECT_EQ(without.blocks[0].name, "class_grams");
  EXPECT_EQ(without.blocks[1].name, "class_sums");
}

TEST(ClassLeastSquares, RefusesImpossibleTerms) {
  const auto release = [](double alpha, double gram_share) {
    ReleaseTerms terms = terms_of(alpha);
    terms.gram_share = gram_share;
    return registered_statistic("class_least_squares").request(terms, 1.0);
  };
  EXPECT_THROW(release(-0.1, 0.5), std::logic_error);
  EXPECT_THROW(release(std::nan(""), 0.5), std::logic_error);
  EXPECT_THROW(release(1.0, 0.0), std::logic_error);
  EXPECT_THROW(release(1.0, 1.0), std::logic_error);
}

}  // namespace dpreduce::class_least_squares_test
