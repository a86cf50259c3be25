// What prototypes stands for: means or chosen public rows, by public knowledge alone (prototype_choice_test.cpp: the
// rule).

#include "tests/methods/good_fit.hpp"
#include "tests/testing.hpp"

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

TEST(PrototypesMethod, IsTheMeanWithoutNoiseAndAChoiceWithoutDelta) {
  FitOptions options = prototypes_of(0.2, 10);
  options.privacy.budget = {};
  options.privacy.budget.non_private = true;
  EXPECT_EQ(resolved(options, 768, 20'000).method.name, "mean");
  options.privacy.budget = {};
  options.privacy.budget.epsilon = 8;
  EXPECT_EQ(resolved(options, 768, 20'000).method.name, "public");
}

TEST(PrototypesMethod, OptionsOfAChoiceAreRefusedBeforeItIsKnownWhichOfTheTwoItIs) {
  FitOptions options = prototypes_of(8, 1);
  EXPECT_THAT(refusal(options), IsEmpty());
  options.data.public_x.clear();
  EXPECT_THAT(refusal(options),
              HasSubstr("--method prototypes goes with --public-x: prototypes are chosen among public rows"));
  options = prototypes_of(8, 1);
  options.rows.center = Centering::kDp;
  EXPECT_THAT(refusal(options), HasSubstr("--center dp"));
  options = prototypes_of(8, 1);
  options.method.top_k = 2;
  EXPECT_THAT(refusal(options), HasSubstr("--top-k"));
}

TEST(PrototypesMethod, SaysWhatItIsResolvedBy) {
  const MethodEntry* entry = find_method("prototypes");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->make, nullptr);
  EXPECT_THAT(std::string(entry->resolved_by), HasSubstr("public knowledge"));
  EXPECT_TRUE(entry->chooses_public_rows);
}

}  // namespace dpreduce::prototypes_test
