#include "common/plan/privacy_filter.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(GaussianFilter, FourReleasesOfHalfTheMuFitAndNothingMore) {
  GaussianFilter filter(0.3);
  for (int release = 0; release < 4; ++release) EXPECT_TRUE(filter.try_spend(0.15));
  EXPECT_FALSE(filter.try_spend(1e-300));
  EXPECT_EQ(filter.remaining_mu(), 0);
  EXPECT_GE(filter.spent_mu(), 0.3);
  EXPECT_NEAR(filter.spent_mu(), 0.3, 1e-15);
}

TEST(GaussianFilter, ARefusedReleaseCostsNothing) {
  GaussianFilter filter(1);
  EXPECT_TRUE(filter.try_spend(0.8));
  EXPECT_FALSE(filter.try_spend(0.61));
  EXPECT_NEAR(filter.remaining_mu(), 0.6, 1e-15);
  EXPECT_TRUE(filter.try_spend(0.59));
}

TEST(GaussianFilter, WhatIsLeftCanBeSpent) {
  GaussianFilter filter(0.7);
  for (const double mu : {0.1, 0.2, 0.33}) EXPECT_TRUE(filter.try_spend(mu));
  const double left = filter.remaining_mu();
  EXPECT_FALSE(filter.try_spend(std::nextafter(left, 1)));
  EXPECT_TRUE(filter.try_spend(left));
}

TEST(GaussianFilter, RefusesBadNumbers) {
  EXPECT_THROW(GaussianFilter(0), UsageError);
  EXPECT_THROW(GaussianFilter{kNan}, UsageError);
  GaussianFilter filter(1);
  for (const double mu : {-0.1, kNan, kInfinity}) EXPECT_THROW((void)filter.try_spend(mu), UsageError);
  EXPECT_TRUE(filter.try_spend(1));
}

// 0.1 is a little more than a tenth: ten of them are more than 1, in exact arithmetic.
TEST(ZcdpFilter, SumsAreExact) {
  ZcdpFilter filter(1);
  int admitted = 0;
  for (int release = 0; release < 10; ++release) admitted += filter.try_spend(0.1) ? 1 : 0;
  EXPECT_EQ(admitted, 9);
  EXPECT_TRUE(filter.try_spend(filter.remaining_rho()));
  EXPECT_FALSE(filter.try_spend(0.1));
}

TEST(ZcdpFilter, SpentAndRemainingRoundToTheSafeSide) {
  ZcdpFilter filter(0.5);
  EXPECT_EQ(filter.spent_rho(), 0);
  EXPECT_TRUE(filter.try_spend(0.125));
  EXPECT_GE(filter.spent_rho(), 0.125);
  EXPECT_LE(filter.remaining_rho(), 0.375);
  EXPECT_NEAR(filter.spent_rho() + filter.remaining_rho(), 0.5, 1e-15);
  EXPECT_FALSE(filter.try_spend(0.376));
  EXPECT_NEAR(filter.spent_rho(), 0.125, 1e-15);
}

TEST(ZcdpFilter, RefusesBadNumbers) {
  EXPECT_THROW(ZcdpFilter(0), UsageError);
  EXPECT_THROW(ZcdpFilter{kInfinity}, UsageError);
  ZcdpFilter filter(1);
  for (const double rho : {-0.1, kNan, kInfinity}) EXPECT_THROW((void)filter.try_spend(rho), UsageError);
}

}  // namespace
}  // namespace dpreduce
