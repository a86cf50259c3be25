

#include "methods/fit_options.hpp"
#include "tests/methods/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::row_options_test {

TEST(PreparationOptions, DefaultsAreAccepted) {
  EXPECT_THAT(refusal_of(PreparationOptions()), IsEmpty());
}

TEST(PreparationOptions, TheClipNormIsPositiveAndFinite) {
  for (const double clip : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(refusal_of(PreparationOptions{.clip_norm = clip}), HasSubstr("--clip")) << clip;
  }
}

TEST(PreparationOptions, SharesLieBetweenZeroAndOne) {
  for (const double share : {0.0, 1.0, -0.1, std::nan("")}) {
    EXPECT_THAT(refusal_of(PreparationOptions{.center_share = share}), HasSubstr("--center-share")) << share;
    EXPECT_THAT(refusal_of(PreparationOptions{.pca = 2, .pca_share = share}), HasSubstr("--pca-share")) << share;
    EXPECT_THAT(refusal_of(PreparationOptions{.select = 2, .select_share = share}), HasSubstr("--select-share"))
        << share;
  }
}

TEST(PreparationOptions, WhatSaysHowGoesWithWhatSaysThat) {
  EXPECT_THAT(refusal_of(PreparationOptions{.pca_share = 0.1}), HasSubstr("--pca-share goes with --pca"));
  EXPECT_THAT(refusal_of(PreparationOptions{.select_by = SelectBy::kT}, "fisher"),
              HasSubstr("--select-by goes with --select"));
  EXPECT_THAT(refusal_of(PreparationOptions{.select_share = 0.1}, "ls"),
              HasSubstr("--select-share goes with --select"));
}

TEST(PreparationOptions, PoolsHoldFeatures) {
  EXPECT_THAT(refusal_of(PreparationOptions{.pool = 0}), HasSubstr("--pool 0"));
}

}  // namespace dpreduce::row_options_test
