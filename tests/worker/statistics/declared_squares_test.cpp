// What statistics declare that one row moves, by hand; and how they share their budget between blocks.
#include "tests/worker/declared_squares.hpp"

#include "common/ledger/noise_plan.hpp"
#include "tests/testing.hpp"
#include "worker/hessian_rows.hpp"

namespace dpreduce::declared_squares_test {

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

TEST(Gram, MovesByTheFourthPowerOfARowUnderEitherName) {
  for (const char* name : {"gram", "pca"}) {
    EXPECT_EQ(declared_squares(name, {.dim = 4}), (Squares{{kS4}}));
    EXPECT_EQ(declared_squares(name, {.dim = 4, .adjacency = Adjacency::kReplaceOne}), (Squares{{2 * kS4}}));
    EXPECT_EQ(registered_statistic(name).request({.dim = 4}, 1.0).blocks.front().elements, 10U);
    EXPECT_EQ(registered_statistic(name).request({.dim = 4}, 1.0).blocks.front().noise, BlockNoise::kSymmetric);
  }
}

TEST(Gradient, MovesByTheSameWhateverTheClassesOfARow) {
  for (const std::size_t most_labels : {1U, 3U}) {
    ReleaseTerms terms{.classes = 5, .most_labels = most_labels, .dim = 4, .rounds = 7};
    EXPECT_EQ(declared_squares("gradient", terms), (Squares{{kS4}}));
    EXPECT_EQ(registered_statistic("gradient").request(terms, 1.0).rounds, 7U);
    terms.adjacency = Adjacency::kReplaceOne;
    EXPECT_EQ(declared_squares("gradient", terms), (Squares{{4 * kS4}}));
  }
}

TEST(AdaptiveGradient, CountsEveryRowOnOneSide) {
  ReleaseTerms terms{.classes = 5, .dim = 4};
  EXPECT_EQ(declared_squares("adaptive_gradient", terms), (Squares{{kS4, 1}}));
  terms.adjacency = Adjacency::kReplaceOne;
  EXPECT_EQ(declared_squares("adaptive_gradient", terms), (Squares{{4 * kS4, 2}}));
}

TEST(AdaptiveGradient, SpendsTwoPerCentOnTheCounts) {
  const ReleaseRequest request = registered_statistic("adaptive_gradient").request({.classes = 5, .dim = 4}, 1.0);
  const NoisePlan plan = make_noise_plan(1.0, Adjacency::kAddRemove, {request});
  const double mu = plan.releases[0].block("sides").mu;
  EXPECT_NEAR(mu * mu, 0.02, 1e-9);
}

TEST(Newton, DeclaresTheBoundOfItsLoss) {
  for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid}) {
    const std::uint64_t bound = hessian_bound(loss, 5);
    ReleaseTerms terms{.classes = 5, .dim = 4, .loss = loss};
    EXPECT_EQ(declared_squares("newton", terms), (Squares{{kS4, bound}}));
    terms.adjacency = Adjacency::kReplaceOne;
    EXPECT_EQ(declared_squares("newton", terms), (Squares{{4 * kS4, 2 * bound}}));
  }
}

TEST(Newton, SplitsItsBudgetAsSaid) {
  const ReleaseRequest request = registered_statistic("newton").request(
      {.classes = 10, .dim = 20, .hessian_share = 0.3, .loss = Loss::kSigmoid, .rounds = 4}, 1.0);
  const NoisePlan plan = make_noise_plan(2.0, Adjacency::kAddRemove, {request});
  EXPECT_NEAR(std::pow(plan.releases[0].block("hessians").mu, 2), 0.3, 1e-9);  // of 4 a run, 1 a round
  EXPECT_NEAR(std::pow(plan.releases[0].block("gradient").mu, 2), 0.7, 1e-9);
}

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

TEST(Center, ProtectsTheNumberOfRowsUnderBothAdjacencies) {
  EXPECT_EQ(declared_squares("center", {.dim = 4}), (Squares{{kS2, 1}}));
  EXPECT_EQ(declared_squares("center", {.dim = 4, .adjacency = Adjacency::kReplaceOne}),
            (Squares{{kS2, 1}, {4 * kS2, 0}}));
}

TEST(CenterRest, MovesByItsBallWhateverThatIs) {
  EXPECT_EQ(declared_squares("center_rest", {.dim = 4}), (Squares{{kS2}}));
  EXPECT_EQ(declared_squares("center_rest", {.dim = 4, .adjacency = Adjacency::kReplaceOne}), (Squares{{4 * kS2}}));
}

TEST(ClassSizes, MoveByOneRowOrByTwo) {
  EXPECT_EQ(declared_squares("class_sizes", {.classes = 3}), (Squares{{1}}));
  EXPECT_EQ(declared_squares("class_sizes", {.classes = 3, .adjacency = Adjacency::kReplaceOne}), (Squares{{2}}));
}

TEST(DeclaredSquares, ImpossibleTermsAreRefused) {
  const std::pair<const char*, ReleaseTerms> impossible[] = {
      {"center", {.dim = 0}},
      {"center_rest", {.dim = 0}},
      {"gram", {.dim = 0}},
      {"class_sizes", {.classes = 3, .most_labels = 2}},  // for rows of one class
      {"class_sizes", {.classes = 1}},
      {"fisher", {.classes = 3, .most_labels = 2, .dim = 4}},
      {"gradient", {.classes = 5, .dim = 4, .rounds = 0}},
      {"gradient", {.classes = 0, .dim = 4}},
      {"gradient", {.classes = 5, .dim = 0}},
      {"newton", {.classes = 5, .dim = 4, .loss = Loss::kSquare}},
      {"newton", {.classes = 5, .dim = 4, .hessian_share = 1.0}},
      {"newton", {.classes = 5, .dim = 4, .hessian_share = 0.0}},
      {"newton", {.classes = 5, .dim = 4, .rounds = 0}},
      {"class_means", terms_of(3, 4, Adjacency::kAddRemove)},
      {"class_means", terms_of(3, 0, Adjacency::kAddRemove)},
      {"class_means", terms_of(1, 1, Adjacency::kAddRemove)},
      {"least_squares", {.classes = 3, .dim = 4, .gram_share = 0.0}},
      {"least_squares", {.classes = 3, .dim = 4, .gram_share = 1.0}},
      {"least_squares", {.classes = 3, .most_labels = 4, .dim = 4}}};
  for (const auto& [name, terms] : impossible) {
    EXPECT_THROW(registered_statistic(name).request(terms, 1.0), std::logic_error) << name;
  }
  for (const char* name : {"center", "center_rest", "gram", "gradient", "class_means"}) {
    EXPECT_THROW(registered_statistic(name).request(terms_of(3, 1, Adjacency::kAddRemove), 0.0), std::logic_error)
        << name;
  }
}

}  // namespace dpreduce::declared_squares_test
