// What prototypes stands for: means or chosen public rows, by public knowledge alone; and the rule.

#include "methods/prototypes.hpp"

#include "tests/methods/good_fit.hpp"

namespace dpreduce::prototypes_test {

FitOptions prototypes_of(double epsilon, double ratio) {
  FitOptions options = good_fit("prototypes");
  options.data.imbalance_ratio = ratio;
  options.method.expected_rows = 40'000;
  options.privacy.budget.epsilon = epsilon;
  return options;
}

TEST(PrototypesMethod, IsOneOfTheTwoCenteredByPublicRows) {
  const FitOptions means = resolved(prototypes_of(8, 1), 768, 20'000);
  EXPECT_EQ(means.method.name, "mean");
  EXPECT_EQ(means.rows.center, Centering::kPublic);
  FitOptions options = prototypes_of(0.2, 10);
  EXPECT_EQ(resolved(options, 768, 20'000).method.name, "public");
  options.rows.pool = 4;  // d = 192: sums have less noise
  EXPECT_EQ(resolved(options, 768, 20'000).method.name, "mean");
  options.rows.center = Centering::kNone;
  EXPECT_EQ(resolved(options, 768, 20'000).rows.center, Centering::kNone);
}

// epsilon N / (K log m) < 7: as many more public rows, and the choice among them is chance.
TEST(PrototypesMethod, IsTheMeanWhereThereAreTooManyRowsToChooseAmong) {
  const FitOptions options = prototypes_of(0.05, 10);
  EXPECT_EQ(resolved(options, 768, 1'000).method.name, "public");
  EXPECT_EQ(resolved(options, 768, 20'000).method.name, "public");
  EXPECT_EQ(resolved(options, 768, 1'000'000'000'000).method.name, "mean");
}

TEST(PrototypesMethod, OptionsOfAChoiceAreRefusedBeforeItIsKnownWhichOfTheTwoItIs) {
  FitOptions options = prototypes_of(8, 1);
  EXPECT_THAT(refusal(options), IsEmpty());
  options.rows.center = Centering::kDp;
  EXPECT_THAT(refusal(options), HasSubstr("--center dp"));
  options = prototypes_of(8, 1);
  options.method.top_k = 2;
  EXPECT_THAT(refusal(options), HasSubstr("--top-k"));
}

FitOptions options_of(double epsilon, double ratio, double expected_rows, std::size_t classes = 10) {
  FitOptions options = prototypes_of(epsilon, ratio);
  options.method.adaptive = true;
  options.data.classes = classes;
  options.method.expected_rows = expected_rows;
  return options;
}

// Where the two were measured (docs/explanation/methods/sums-and-prototypes.md): ten classes of 768 features, 20,000
// public rows.
TEST(PrototypeChoice, IsTheBetterOneWhereBothWereMeasured) {
  constexpr std::size_t kDim = 768;
  constexpr std::uint64_t kPublic = 20'000;
  struct Measured {
    double ratio;
    std::vector<double> means_are_better;  // epsilons
    std::vector<double> prototypes_are_better;
  };
  for (const Measured& measured :
       {Measured{1, {0.05, 8}, {}}, {10, {0.5, 1, 8}, {0.05, 0.1, 0.2}}, {100, {4, 8}, {0.2, 0.5, 1, 2}}}) {
    const auto are_means = [&](double epsilon) {
      return prefers_means(options_of(epsilon, measured.ratio, 40'000), kDim, kPublic);
    };
    SCOPED_TRACE(measured.ratio);
    for (const double epsilon : measured.means_are_better) EXPECT_TRUE(are_means(epsilon)) << epsilon;
    for (const double epsilon : measured.prototypes_are_better) EXPECT_FALSE(are_means(epsilon)) << epsilon;
  }
  // 51 classes of 512 features, 15,000 public rows, too little budget to choose by.
  for (const double epsilon : {0.05, 0.1, 1.0, 8.0}) {
    EXPECT_TRUE(prefers_means(options_of(epsilon, 1, 33'400, 51), 512, 15'000)) << epsilon;
  }
}

TEST(PrototypeChoice, WithoutDeltaIsAChoiceAndWithoutNoiseMeans) {
  FitOptions options = options_of(8, 1, 1e6);
  EXPECT_TRUE(prefers_means(options, 10, 100));
  options.privacy.budget.delta.reset();
  EXPECT_FALSE(prefers_means(options, 10, 100));
  options.privacy.budget = kWithoutNoise;
  EXPECT_TRUE(prefers_means(options, 10, 100));
}

TEST(PrototypeChoice, TakesAsManyRowsAsThereArePublicOnesWhereNoneAreExpected) {
  FitOptions options = options_of(0.2, 10, 0);
  options.method.expected_rows.reset();
  for (const std::uint64_t rows : {1'000u, 16'300u, 1'000'000u}) {
    FitOptions stated = options;
    stated.method.expected_rows = static_cast<double>(rows);
    EXPECT_EQ(prefers_means(options, 768, rows), prefers_means(stated, 768, rows)) << rows;
  }
}

// A long tail that nobody thinned is the same to the rule as one of that ratio.
TEST(PrototypeChoice, KnowsATailByTheShareOfItsSmallestClass) {
  for (const double epsilon : {0.2, 0.5, 1.0, 2.0, 8.0}) {
    for (const double ratio : {1.0, 10.0, 100.0}) {
      SCOPED_TRACE(fmt::format("{} {}", epsilon, ratio));
      const FitOptions thinned = options_of(epsilon, ratio, 40'000);
      FitOptions natural = options_of(epsilon, 1, 40'000);
      natural.method.smallest_share = 1.0 / (10 * ratio);
      EXPECT_EQ(prefers_means(natural, 768, 20'000), prefers_means(thinned, 768, 20'000));
      EXPECT_EQ(prefers_prototypes(natural, 20'000), prefers_prototypes(thinned, 20'000));
    }
  }
  FitOptions natural = options_of(1.0, 1, 40'000);
  EXPECT_TRUE(prefers_means(natural, 768, 20'000));
  natural.method.smallest_share = 0.001;
  EXPECT_FALSE(prefers_means(natural, 768, 20'000));
}

// Between 2 sqrt(log 10) = 3.03 standard deviations and fewer: mu = 0.1, 30 and 31 rows of 300,000 in the smallest
// class; d plays no part.
TEST(PrototypeChoice, NoiseHidesAClassWhoseRowsAreFewerThanNoiseOfTheOtherClassesReaches) {
  FitOptions options = options_of(1, 1, 300'000);
  options.privacy.budget = {{.mu = 0.1}};
  options.method.smallest_share = 30.0 / 300'000;
  EXPECT_TRUE(prefers_prototypes(options, 1'000));
  options.method.smallest_share = 31.0 / 300'000;
  EXPECT_FALSE(prefers_prototypes(options, 1'000));
  options.data.classes = 12;  // 2 sqrt(log 12) = 3.15
  EXPECT_TRUE(prefers_prototypes(options, 1'000));
  EXPECT_FALSE(prefers_prototypes(options, 0));
}

// mu^2 n_s < d.
TEST(PrototypeChoice, PublicRowsRefineScoresWhileNoiseExceedsSampling) {
  FitOptions options = options_of(1, 1, 10'000);  // 1,000 rows a class
  options.privacy.budget = {{.mu = 0.5}};
  EXPECT_TRUE(noise_exceeds_sampling(options, 251, 1'000));
  EXPECT_FALSE(noise_exceeds_sampling(options, 250, 1'000));
  EXPECT_FALSE(noise_exceeds_sampling(options, 251, 0));
  options.privacy.budget = kWithoutNoise;
  EXPECT_FALSE(noise_exceeds_sampling(options, 251, 1'000));
}

TEST(PrototypeChoice, PreconditionsAreChecked) {
  EXPECT_THROW(prefers_means(options_of(1, 1, 100), 10, 0), std::logic_error);
  FitOptions options = options_of(1, 1, 100);
  options.privacy.budget.epsilon.reset();
  EXPECT_THROW(prefers_means(options, 10, 100), UsageError);
}

}  // namespace dpreduce::prototypes_test
