#include "methods/options/row_options.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/methods/options/good_fit.hpp"

namespace dpreduce {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(RowOptions, DefaultsAreAccepted) {
  EXPECT_THAT(refusal_of(RowOptions()), IsEmpty());
}

TEST(RowOptions, TheClipNormIsPositiveAndFinite) {
  for (const double clip : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(refusal_of(RowOptions{.clip_norm = clip}), HasSubstr("--clip")) << clip;
  }
}

TEST(RowOptions, SharesLieBetweenZeroAndOne) {
  for (const double share : {0.0, 1.0, -0.1, std::nan("")}) {
    EXPECT_THAT(refusal_of(RowOptions{.center_share = share}), HasSubstr("--center-share")) << share;
    EXPECT_THAT(refusal_of(RowOptions{.pca = 2, .pca_share = share}), HasSubstr("--pca-share")) << share;
    EXPECT_THAT(refusal_of(RowOptions{.select = 2, .select_share = share}), HasSubstr("--select-share")) << share;
  }
}

TEST(RowOptions, WhatSaysHowGoesWithWhatSaysThat) {
  EXPECT_THAT(refusal_of(RowOptions{.pca_share = 0.1}), HasSubstr("--pca-share goes with --pca"));
  EXPECT_THAT(refusal_of(RowOptions{.select_by = SelectBy::kT}), HasSubstr("--select-by goes with --select"));
  EXPECT_THAT(refusal_of(RowOptions{.select_share = 0.1}), HasSubstr("--select-share goes with --select"));
}

TEST(RowOptions, PoolsHoldFeatures) {
  EXPECT_THAT(refusal_of(RowOptions{.pool = 0}), HasSubstr("--pool 0"));
}

}  // namespace
}  // namespace dpreduce
