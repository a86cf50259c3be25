#include "common/base/nearest_name.hpp"

#include "tests/testing.hpp"

namespace dpreduce::nearest_name_test {

const std::vector<std::string> kNames{"epsilon", "delta", "model", "mean", "calibrate", "convert", "compose"};

TEST(NearestName, CountsEdits) {
  EXPECT_EQ(edits_between("", ""), 0U);
  EXPECT_EQ(edits_between("abc", ""), 3U);
  EXPECT_EQ(edits_between("", "ab"), 2U);
  EXPECT_EQ(edits_between("epsilonn", "epsilon"), 1U);
  EXPECT_EQ(edits_between("modle", "model"), 1U);
  EXPECT_EQ(edits_between("Mean", "mean"), 0U);
  EXPECT_EQ(edits_between("kitten", "sitting"), 3U);
}

TEST(NearestName, FindsWhatWasMeant) {
  EXPECT_EQ(nearest_name("epsilonn", kNames), "epsilon");
  EXPECT_EQ(nearest_name("modle", kNames), "model");
  EXPECT_EQ(nearest_name("Mean", kNames), "mean");
}

TEST(NearestName, ABeginningIsEnoughWhereItIsOfOneOnly) {
  EXPECT_EQ(nearest_name("cal", kNames), "calibrate");
  EXPECT_EQ(nearest_name("co", kNames), "");
}

TEST(NearestName, WhatIsFarFromAllIsNone) {
  EXPECT_EQ(nearest_name("gaussian", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name("xy", kNames), "");
  EXPECT_EQ(nearest_name("epsilon", {}), "");
}

TEST(DidYouMean, IsEmptyWhereNothingIsNear) {
  EXPECT_EQ(did_you_mean("modle", kNames), "; did you mean model?");
  EXPECT_EQ(did_you_mean("gaussian", kNames), "");
}

}  // namespace dpreduce::nearest_name_test
