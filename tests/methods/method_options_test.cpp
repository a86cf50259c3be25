#include "methods/method_options.hpp"

#include "tests/methods/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::method_options_test {

TEST(MethodOptions, DefaultsAreAccepted) {
  EXPECT_THAT(refusal_of(MethodOptions(), "auto"), IsEmpty());
}

TEST(MethodOptions, RoundsAndStepsAreFromOne) {
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{100'001}}) {
    EXPECT_THAT(refusal_of(MethodOptions{.rounds = count}, "gd"), HasSubstr("--rounds")) << count;
    EXPECT_THAT(refusal_of(MethodOptions{.local_steps = count}), HasSubstr("--local-steps")) << count;
  }
}

TEST(MethodOptions, ABatchIsAProbability) {
  for (const double rate : {0.0, -0.5, 1.5, 256.0, 1e-10, std::nan("")}) {
    EXPECT_THAT(refusal_of(MethodOptions{.batch = rate}), HasSubstr("the probability of a row")) << rate;
  }
  EXPECT_THAT(refusal_of(MethodOptions{.batch = 1.0}, "gd"), IsEmpty());
}

TEST(MethodOptions, StepsAndBoundsArePositive) {
  for (const double value : {0.0, -1.0, std::nan("")}) {
    EXPECT_THAT(refusal_of(MethodOptions{.lambda = value}), HasSubstr("--lambda")) << value;
    EXPECT_THAT(refusal_of(MethodOptions{.learning_rate = value}), HasSubstr("--learning-rate")) << value;
    EXPECT_THAT(refusal_of(MethodOptions{.radius = value}), HasSubstr("--radius")) << value;
  }
}

TEST(MethodOptions, AlphaIsNothingOrCounts) {
  EXPECT_THAT(refusal_of(MethodOptions{.alpha = 0.0}, "ls"), IsEmpty());
  EXPECT_THAT(refusal_of(MethodOptions{.alpha = -1.0}, "ls"), HasSubstr("--alpha -1"));
  EXPECT_THAT(refusal_of(MethodOptions{.alpha = HUGE_VAL}, "ls"), HasSubstr("use --shared-gram"));
  EXPECT_THAT(refusal_of(MethodOptions{.alpha = 1e-9}, "ls"), HasSubstr("must be 0 or at least"));
}

TEST(MethodOptions, SharesLieBetweenZeroAndOne) {
  for (const double share : {0.0, 1.0}) {
    EXPECT_THAT(refusal_of(MethodOptions{.gram_share = share}), HasSubstr("--gram-share")) << share;
    EXPECT_THAT(refusal_of(MethodOptions{.warm_start = true, .warm_start_share = share}),
                HasSubstr("--warm-start-share"))
        << share;
    EXPECT_THAT(refusal_of(MethodOptions{.choose = true, .choose_share = share}), HasSubstr("--choose-share")) << share;
  }
}

TEST(MethodOptions, CosinesAreClippedWithinTheirRange) {
  EXPECT_THAT(refusal_of(MethodOptions{.top_k = 0}), HasSubstr("--top-k 0"));
  EXPECT_THAT(refusal_of(MethodOptions{.d_min = -1.0}), HasSubstr("--d-min -1: must be from 0 to 2"));
  EXPECT_THAT(refusal_of(MethodOptions{.d_max = 2.5}), HasSubstr("--d-max 2.5: must be from 0 to 2"));
  EXPECT_THAT(refusal_of(MethodOptions{.expected_rows = 0.0}), HasSubstr("--expected-rows 0: must be from 1"));
}

TEST(MethodOptions, AWarmStartIsOfProbabilities) {
  EXPECT_THAT(refusal_of(MethodOptions{.loss = Loss::kSquare, .warm_start = true}, "gd"),
              HasSubstr("--warm-start with --loss square"));
  EXPECT_THAT(refusal_of(MethodOptions{.warm_start_share = 0.1}, "gd"), HasSubstr("goes with --warm-start"));
}

TEST(MethodOptions, ABalancedObjectiveAdjustsProbabilitiesOfOneHead) {
  constexpr Objective kBalanced = Objective::kBalanced;
  EXPECT_THAT(refusal_of(MethodOptions{.objective = kBalanced, .loss = Loss::kSigmoid}, "auto"),
              HasSubstr("--objective balanced with --loss sigmoid"));
  EXPECT_THAT(refusal_of(MethodOptions{.objective = kBalanced, .warm_start = true}, "auto"),
              HasSubstr("--objective balanced with --warm-start"));
  EXPECT_THAT(refusal_of(MethodOptions{.objective = kBalanced, .choose = true}, "auto"),
              HasSubstr("--objective balanced with --choose"));
}

TEST(MethodOptions, WhatIsChosenIsNotGiven) {
  EXPECT_THAT(refusal_of(MethodOptions{.iterate = Iterate::kAverage, .choose = true}, "gd"),
              HasSubstr("--iterate with --choose"));
  EXPECT_THAT(refusal_of(MethodOptions{.lambda = 3.0, .choose = true}, "ls"), HasSubstr("--lambda with --choose"));
  EXPECT_THAT(refusal_of(MethodOptions{.choose_share = 0.1}, "ls"), HasSubstr("--choose-share goes with --choose"));
}

}  // namespace dpreduce::method_options_test
