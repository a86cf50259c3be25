// What auto stands for: by public knowledge alone.

#include "tests/methods/good_fit.hpp"

namespace dpreduce::auto_test {

using Change = std::function<void(FitOptions&)>;

FitOptions of_ten_classes(double epsilon) {
  FitOptions options;
  options.data.classes = 10;
  options.privacy.budget = {{.epsilon = epsilon, .delta = 1e-5}};
  return options;
}

TEST(AutoMethod, HasAGramMatrixWhereItsSpectrumIsAffordable) {
  FitOptions options;
  EXPECT_EQ(resolved(options, 4096).method.name, "fc");
  EXPECT_EQ(resolved(options, 4097).method.name, "adam");
  EXPECT_EQ(resolved(options, 4097).rows.center, Centering::kDp);
  options.method.gram_share = 0.2;
  EXPECT_EQ(resolved(options, 4096).method.name, "fc");
  EXPECT_THROW(resolved(options, 4097), UsageError);
  options.rows.pool = 2;
  EXPECT_EQ(resolved(options, 4097).method.name, "fc");
  options.rows.pool = 1;
  options.rows.pca = 50;
  EXPECT_EQ(resolved(options, 20000).method.name, "fc");
  options.rows.pca = 0;
  options.rows.select = 4000;
  EXPECT_EQ(resolved(options, 20000).method.name, "fc");
}

TEST(AutoMethod, ForAccuracyPublicRowsAndBudgetDecideNothingAndANamedCenterIsKept) {
  FitOptions options;
  options.data.classes = 10;
  for (const double epsilon : {0.01, 1.0, 100.0}) {
    options.privacy.budget.epsilon = epsilon;
    for (const std::uint64_t public_rows : {0U, 20'000U}) {
      const FitOptions chosen = resolved(options, 768, public_rows);
      EXPECT_EQ(chosen.method.name, "fc") << epsilon << " " << public_rows;
      EXPECT_EQ(chosen.rows.center, Centering::kDp);
    }
  }
  options.rows.center = Centering::kNone;
  EXPECT_EQ(resolved(options, 100).rows.center, Centering::kNone);
}

TEST(AutoMethod, ABalancedObjectiveTakesPrototypesWhereNoiseHidesTheSmallestClasses) {
  FitOptions options = of_ten_classes(0.2);
  options.data.imbalance_ratio = 100;  // the smallest class is a hundredth of the largest
  options.method.objective = Objective::kBalanced;
  options.method.expected_rows = 40'000;
  EXPECT_EQ(resolved(options, 768, 20'000).method.name, "public");
  EXPECT_EQ(resolved(options, 768, 20'000).rows.center, Centering::kPublic);
  EXPECT_EQ(resolved(options, 768).method.name, "fc");  // no public rows
  EXPECT_EQ(resolved(options, 768).rows.center, Centering::kDp);
  options.privacy.budget.epsilon = 0.02;  // too little to choose by
  EXPECT_EQ(resolved(options, 768, 20'000).method.name, "fc");
  options.privacy.budget.epsilon = 8;
  EXPECT_EQ(resolved(options, 768, 20'000).method.name, "fc");
  EXPECT_EQ(resolved(options, 768, 20'000).rows.center, Centering::kPublic);
  options.rows.center = Centering::kDp;
  EXPECT_EQ(resolved(options, 768, 20'000).rows.center, Centering::kDp);
  options.rows.center.reset();
  options.privacy.budget.delta.reset();
  EXPECT_EQ(resolved(options, 768, 20'000).method.name, "public");
  options.method.objective = Objective::kAccuracy;
  options.privacy.budget.delta = 1e-5;
  options.privacy.budget.epsilon = 0.2;
  EXPECT_EQ(resolved(options, 768, 20'000).method.name, "fc");
  EXPECT_EQ(resolved(options, 768, 20'000).rows.center, Centering::kDp);  // of auto as ever
}

TEST(AutoMethod, AsksHowRowsSpreadWhereClassMeansMayFollow) {
  FitOptions options = of_ten_classes(1.0);
  const auto asks = [&](std::size_t dim) { return resolved(options, dim).method.isotropy_share.has_value(); };
  EXPECT_EQ(resolved(options, 768).method.isotropy_share, 0.03);
  EXPECT_FALSE(asks(15));    // too few features
  EXPECT_FALSE(asks(5000));  // adam
  options.method.expected_rows = 30'000;
  EXPECT_TRUE(asks(768));
  options.method.expected_rows = 100'000;  // mu 0.27: rounds, whatever rows are like
  EXPECT_FALSE(asks(768));
  options.method.expected_rows = 900;
  EXPECT_TRUE(asks(768));
  options.method.expected_rows = 700;  // n mu is below 8 sqrt(d): noise would hide what they are like
  EXPECT_FALSE(asks(768));
  options.method.expected_rows.reset();
  options.rows.center = Centering::kNone;
  EXPECT_FALSE(asks(768));
  options.rows.center.reset();
  for (const auto& change : std::vector<Change>{[](FitOptions& fit) { fit.method.loss = Loss::kSigmoid; },
                                                [](FitOptions& fit) { fit.method.choose = true; },
                                                [](FitOptions& fit) { fit.method.warm_start = true; },
                                                [](FitOptions& fit) { fit.method.iterate = Iterate::kAverage; },
                                                [](FitOptions& fit) { fit.data.max_labels = 2; },
                                                [](FitOptions& fit) { fit.privacy.budget.non_private = true; }}) {
    FitOptions other = options;
    change(other);
    EXPECT_FALSE(resolved(other, 768).method.isotropy_share.has_value());
  }
  options.method.isotropy_share = 0.1;
  EXPECT_EQ(resolved(options, 768).method.isotropy_share, 0.1);
  EXPECT_THROW(resolved(options, 5000), UsageError);
}

// mu is .27: n mu / sqrt(d) is 20 at 2,070 rows of 768 features.
TEST(AutoMethod, TheCenterGetsMoreOfTheBudgetWhereFewRowsAreExpected) {
  FitOptions options = of_ten_classes(1.0);
  const auto share = [&](double rows) {
    FitOptions expecting = options;
    expecting.method.expected_rows = rows;
    return resolved(expecting, 768).rows.center_share;
  };
  EXPECT_EQ(resolved(options, 768).rows.center_share, std::nullopt);
  EXPECT_EQ(share(1900), 0.05);
  EXPECT_EQ(share(2200), std::nullopt);
  options.rows.center_share = 0.01;
  EXPECT_EQ(share(1900), 0.01);
  options.rows.center_share.reset();
  options.rows.center = Centering::kNone;
  EXPECT_EQ(share(1900), std::nullopt);
}

TEST(AutoMethod, AsksForTheSizesOfFewColumnsWhereNothingIsSaidOfThem) {
  FitOptions options;
  options.data.classes = 2;
  const auto found = [](const FitOptions& fit, std::size_t dim) { return resolved(fit, dim).rows.finds_ranges; };
  EXPECT_EQ(found(options, 4), FindRanges::kWhereColumnsDiffer);
  EXPECT_EQ(found(options, kMostRawColumns), FindRanges::kWhereColumnsDiffer);
  EXPECT_EQ(found(options, kMostRawColumns + 1), std::nullopt);
  for (const auto& change : std::vector<Change>{
           [](FitOptions& fit) {
             fit.rows.feature_range = {0.0, 1.0};
           },
           [](FitOptions& fit) { fit.rows.normalize = Normalize::kNone; },
           [](FitOptions& fit) { fit.rows.sets_length = true; }, [](FitOptions& fit) { fit.rows.clip_norm = 2.0; },
           [](FitOptions& fit) { fit.rows.pool = 2; }, [](FitOptions& fit) { fit.method.name = "ls"; }}) {
    FitOptions other = options;
    change(other);
    EXPECT_EQ(found(other, 4), std::nullopt);
  }
  for (const FindRanges said : {FindRanges::kNever, FindRanges::kAlways}) {
    options.rows.finds_ranges = said;
    EXPECT_EQ(found(options, 4), said);
  }
  options.rows.finds_ranges.reset();
  options.data.train.has_targets = true;
  EXPECT_EQ(found(options, 4), FindRanges::kWhereColumnsDiffer);
}

TEST(AutoMethod, PublicRowsWithoutAUseAreRefused) {
  FitOptions options;
  options.data.classes = 10;
  options.data.public_x = {"p.npy"};
  EXPECT_EQ(resolved(options, 768, 20'000).method.name, "fc");
  EXPECT_THROW(resolved(options, 5000, 20'000), UsageError);  // adam whitens nothing
  options.rows.pca = 50;
  EXPECT_EQ(resolved(options, 5000, 20'000).method.name, "fc");
}

}  // namespace dpreduce::auto_test
