// What statistics declare that one row moves, by hand; how they share their budget between blocks; and what they cost.
#include "tests/worker/declared_squares.hpp"

#include "common/base/error.hpp"
#include "common/ledger/noise_plan.hpp"
#include "tests/testing.hpp"
#include "tests/worker/scoring_model.hpp"
#include "worker/chunk_residuals.hpp"

namespace dpreduce::declared_squares_test {

ReleaseTerms terms_of(std::size_t classes, std::size_t most_labels, Adjacency adjacency = Adjacency::kAddRemove) {
  return {
      .classes = classes, .most_labels = most_labels, .dim = 4, .metric = Metric::kEuclidean, .adjacency = adjacency};
}

// The most that any profile costs, where a unit of the first block costs 1 and one of the second `price`.
double dearest(const Squares& profiles, double price, std::uint64_t unit, std::uint64_t second_unit) {
  double most = 0.0;
  for (const auto& profile : profiles) {
    most =
        std::max(most, static_cast<double>(profile[0] / unit) + price * static_cast<double>(profile[1] / second_unit));
  }
  return most;
}

// Of a run of that mu, which releases nothing else.
PlannedRelease planned(std::string_view statistic, const ReleaseTerms& terms, double mu = 1.0) {
  return make_noise_plan(mu, terms.adjacency, {registered_statistic(statistic).request(terms, 1.0)}).releases[0];
}

struct Declared {
  std::string statistic;
  ReleaseTerms terms;
  Squares added;      // of one row more
  Squares exchanged;  // of one row for another
};

TEST(DeclaredSquares, AreThoseByHandUnderBothAdjacencies) {
  const std::uint64_t of_softmax = hessian_bound(Loss::kSoftmax, 5);
  const std::uint64_t of_sigmoid = hessian_bound(Loss::kSigmoid, 5);
  ReleaseTerms of_directions = terms_of(10, 3);  // without counts
  of_directions.metric = Metric::kCosine;
  const Declared by_hand[] = {
      {"class_means", terms_of(10, 1), {{kS2, 1}}, {{4 * kS2, 0}, {2 * kS2, 2}}},
      {"class_means", terms_of(10, 3), {{3 * kS2, 3}}, {{12 * kS2, 0}, {6 * kS2, 6}}},
      {"class_means", of_directions, {{3 * kS2}}, {{12 * kS2}, {6 * kS2}}},
      {"feature_sums", terms_of(10, 3), {{3 * kS2}}, {{12 * kS2}, {6 * kS2}}},
      {"least_squares",
       {.classes = 10, .most_labels = 3, .dim = 4},
       {{kS4, 3 * kS2}},
       {{2 * kS4, 9 * kS2}, {0, 12 * kS2}}},
      {"class_least_squares",
       {.classes = 10, .most_labels = 3, .dim = 30, .gram_share = 0.6},
       {{3 * kS4, kS4, 3 * kS2}},
       {{6 * kS4, 2 * kS4, 9 * kS2}, {0, 0, 12 * kS2}}},
      {"gram", {.dim = 4}, {{kS4}}, {{2 * kS4}}},
      {"pca", {.dim = 4}, {{kS4}}, {{2 * kS4}}},
      {"gradient", {.classes = 5, .most_labels = 1, .dim = 4, .rounds = 7}, {{kS4}}, {{4 * kS4}}},
      {"gradient", {.classes = 5, .most_labels = 3, .dim = 4, .rounds = 7}, {{kS4}}, {{4 * kS4}}},
      {"adaptive_gradient", {.classes = 5, .dim = 4}, {{kS4, 1}}, {{4 * kS4, 2}}},
      {"newton", {.classes = 5, .dim = 4}, {{kS4, of_softmax}}, {{4 * kS4, 2 * of_softmax}}},
      {"newton", {.classes = 5, .dim = 4, .loss = Loss::kSigmoid}, {{kS4, of_sigmoid}}, {{4 * kS4, 2 * of_sigmoid}}},
      {"fisher",
       {.classes = 3, .dim = 4},
       {{kS2, kS4, 1}},
       {{3 * kS2, 2 * kS4, 0}, {4 * kS2, 0, 0}, {2 * kS2, 2 * kS4, 2}}},
      {"center", {.dim = 4}, {{kS2, 1}}, {{kS2, 1}, {4 * kS2, 0}}},  // the number of rows is protected under both
      {"center_rest", {.dim = 4}, {{kS2}}, {{4 * kS2}}},             // whatever the ball is
      {"class_sizes", {.classes = 3}, {{1}}, {{2}}}};
  for (const Declared& declared : by_hand) {
    SCOPED_TRACE(fmt::format("{} of {} labels", declared.statistic, declared.terms.most_labels));
    ReleaseTerms terms = declared.terms;
    EXPECT_EQ(declared_squares(declared.statistic, terms), declared.added);
    terms.adjacency = Adjacency::kReplaceOne;
    EXPECT_EQ(declared_squares(declared.statistic, terms), declared.exchanged);
  }
}

// All pairs of sets of classes: no exchange costs more than the worst profile, at any price of a count.
TEST(ClassMeans, ExchangesOfSetsAreWithinTheirProfilesAndReachThem) {
  for (const std::size_t classes : {2U, 3U, 5U}) {
    for (std::size_t most = 1; most <= classes; ++most) {
      const Squares profiles = declared_squares("class_means", terms_of(classes, most, Adjacency::kReplaceOne));
      for (const double price : {0.0, 0.3, 1.0, 1.9, 2.1, 5.0, 1e6}) {
        double reached = 0.0;
        for (unsigned one = 0; one < 1U << classes; ++one) {
          for (unsigned other = 0; other < 1U << classes; ++other) {
            if (std::popcount(one) > static_cast<int>(most) || std::popcount(other) > static_cast<int>(most)) continue;
            const double moved = std::popcount(one ^ other);
            reached = std::max(reached, 4.0 * std::popcount(one & other) + moved + price * moved);
          }
        }
        EXPECT_DOUBLE_EQ(reached, dearest(profiles, price, kS2, 1)) << classes << " " << most << " " << price;
      }
    }
  }
}

// {2 S^4 (1 - t^2), 2 S^2 (1 - t)}: two rows of full length and one class, at every angle and price of the sums.
TEST(LeastSquares, NoExchangeCostsMoreThanTheWorseCorner) {
  const Squares corners =
      declared_squares("least_squares", {.classes = 10, .dim = 4, .adjacency = Adjacency::kReplaceOne});
  for (const double price : {0.0, 0.1, 0.5, 1.0, 3.0, 100.0}) {
    for (double t = -1.0; t <= 1.0; t += 0.01) {
      const double cost = 2.0 * (1.0 - t * t) + price * 2.0 * (1.0 - t);
      EXPECT_LE(cost, dearest(corners, price, kS4, kS2) + 1e-12) << t << " " << price;
    }
  }
}

// Shares of mu^2: of Fisher's sums in the ratio 1 : 2 / K : 2 / sqrt(d), of a gradient's counts two per cent.
TEST(DeclaredBlocks, SplitTheirBudgetAsSaid) {
  const PlannedRelease counted = planned("adaptive_gradient", {.classes = 5, .dim = 4});
  const PlannedRelease newton = planned(  // of 4 a run, 1 a round
      "newton", {.classes = 10, .dim = 20, .hessian_share = 0.3, .loss = Loss::kSigmoid, .rounds = 4}, 2.0);
  const PlannedRelease fisher = planned("fisher", {.classes = 4, .dim = 16});
  for (const auto& [release, block, share] : {std::tuple{&counted, "sides", 0.02},
                                              {&newton, "hessians", 0.3},
                                              {&newton, "gradient", 0.7},
                                              {&fisher, "class_sums", 0.5},
                                              {&fisher, "second_moments", 0.25},
                                              {&fisher, "class_counts", 0.25}}) {
    EXPECT_NEAR(std::pow(release->block(block).mu, 2), share, 1e-9) << block;
  }
}

// Class Gram matrices, of ten classes and 30 features.

constexpr std::size_t kClasses = 10;
constexpr std::size_t kDim = 30;

ReleaseTerms class_terms(double alpha, std::size_t most_labels = 1, Adjacency adjacency = Adjacency::kAddRemove) {
  return {.classes = kClasses,
          .most_labels = most_labels,
          .dim = kDim,
          .adjacency = adjacency,
          .gram_share = 0.6,
          .alpha = alpha};
}

TEST(ClassLeastSquares, SplitsTheBudgetSoThatNoOtherSplitHasLessNoise) {
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    for (const double alpha : {0.01, 0.3, 1.0, 20.0}) {
      const PlannedRelease release = planned("class_least_squares", class_terms(alpha, 1, adjacency), 0.5);
      const double class_sigma = release.block("class_grams").sigma;
      const double sigma = release.block("gram").sigma;
      EXPECT_NEAR(class_sigma * class_sigma / (sigma * sigma), alpha, 1e-12 * alpha);
    }
  }
}

// Var(A_j + alpha G) = (sqrt(k) + alpha)^2 Var of one Gram matrix with all of the Gram matrices' budget.
TEST(ClassLeastSquares, CostsNoMoreNoiseThanOneGramMatrix) {
  for (const std::size_t most_labels : {1U, 4U}) {
    const double one = planned("least_squares", class_terms(1.0, most_labels), 0.5).block("gram").sigma;
    for (const double alpha : {0.01, 0.3, 1.0, 20.0}) {
      const PlannedRelease release = planned("class_least_squares", class_terms(alpha, most_labels), 0.5);
      const double sum = std::hypot(release.block("class_grams").sigma, alpha * release.block("gram").sigma);
      EXPECT_NEAR(sum / ((std::sqrt(most_labels) + alpha) * one), 1.0, 1e-12);
    }
  }
}

TEST(ClassLeastSquares, TakesAsManyLabelsAsSquaresFitInto64Bits) {
  const auto squares = [](std::size_t most_labels, Adjacency adjacency) {
    ReleaseTerms terms = class_terms(1.0, most_labels, adjacency);
    terms.classes = 20;
    return declared_squares("class_least_squares", terms);
  };
  EXPECT_EQ(squares(16, Adjacency::kAddRemove)[0][0], 16 * kS4);
  EXPECT_EQ(squares(8, Adjacency::kReplaceOne)[0][0], 16 * kS4);
  EXPECT_THROW(squares(17, Adjacency::kAddRemove), UsageError);
  EXPECT_THROW(squares(9, Adjacency::kReplaceOne), UsageError);
}

TEST(ClassLeastSquares, ListsEachFamilyOnceAndWithoutAlphaNoGramOfAllRows) {
  const PlannedRelease release = planned("class_least_squares", class_terms(1.0));
  ASSERT_EQ(release.blocks.size(), 3U);
  EXPECT_EQ(release.block("class_grams").elements, kClasses * triangle_elements(kDim));
  EXPECT_EQ(release.block("class_grams").triangles, kClasses);
  EXPECT_EQ(release.block("gram").elements, triangle_elements(kDim));
  EXPECT_EQ(release.block("class_sums").elements, kClasses * kDim);
  const PlannedRelease without = planned("class_least_squares", class_terms(0.0, 1, Adjacency::kReplaceOne));
  ASSERT_EQ(without.blocks.size(), 2U);
  EXPECT_EQ(without.blocks[0].name, "class_grams");
  EXPECT_EQ(without.blocks[1].name, "class_sums");
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
      {"class_least_squares", {.classes = 10, .dim = 30, .alpha = -0.1}},
      {"class_least_squares", {.classes = 10, .dim = 30, .alpha = std::nan("")}},
      {"class_least_squares", {.classes = 10, .dim = 30, .gram_share = 0.0}},
      {"class_least_squares", {.classes = 10, .dim = 30, .gram_share = 1.0}},
      {"class_means", terms_of(3, 4)},
      {"class_means", terms_of(3, 0)},
      {"class_means", terms_of(1, 1)},
      {"least_squares", {.classes = 3, .dim = 4, .gram_share = 0.0}},
      {"least_squares", {.classes = 3, .dim = 4, .gram_share = 1.0}},
      {"least_squares", {.classes = 3, .most_labels = 4, .dim = 4}}};
  for (const auto& [name, terms] : impossible) {
    EXPECT_THROW(registered_statistic(name).request(terms, 1.0), std::logic_error) << name;
  }
  for (const char* name : {"center", "center_rest", "gram", "gradient", "class_means"}) {
    EXPECT_THROW(registered_statistic(name).request(terms_of(3, 1), 0.0), std::logic_error) << name;
  }
}

double words_down_of(const StatisticEntry& entry) {
  return entry.words_down(entry.request({.classes = 3, .most_labels = 1, .dim = 4, .evaluation = all_terms(3)}, 1.0));
}

// Against sums written out: K = 3 classes, d = 4 features.
TEST(StatisticCosts, RanksGetWhatTheyGoOnWithAndNoPointOfARoundIsFree) {
  const std::vector<std::pair<double, std::vector<const char*>>> told{
      {0.0, {"class_means", "feature_sums", "class_sizes", "fisher", "gram", "least_squares"}},
      {12.0 / 4.0, {"gradient", "adaptive_gradient", "newton"}},  // K d = 12
      {10.0 + 12.0, {"class_least_squares"}},                     // d (d + 1) / 2 + K d
      {12.0, {"centred_sums"}},
      {4.0, {"center"}},
      {4.0 + 1.0, {"center_rest"}}};
  for (const auto& [words, names] : told) {
    for (const char* name : names) EXPECT_EQ(words_down_of(registered_statistic(name)), words) << name;
  }
  for (const StatisticEntry* entry : registered_statistics()) {  // also where the table does not know it
    EXPECT_TRUE(words_down_of(*entry) > 0.0 || !entry->is_round()) << entry->name;
  }
}

TEST(StatisticCosts, WhatChangesRowsIsTold) {
  EXPECT_EQ(registered_statistic("class_means").row_change, RowChange::kNone);
  EXPECT_EQ(registered_statistic("center").row_change, RowChange::kCenter);
  EXPECT_EQ(registered_statistic("center_rest").row_change, RowChange::kCenter);
  EXPECT_EQ(registered_statistic("pca").row_change, RowChange::kComponents);
  EXPECT_EQ(registered_statistic("gram").row_change, RowChange::kWhitening);
}

}  // namespace dpreduce::declared_squares_test
