#include "common/accounting/mechanism.hpp"

#include "common/base/error.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::mechanism_test {

TEST(Mechanism, IsDescribedWithItsParameters) {
  EXPECT_EQ(describe(GaussianMechanism{1.5}), "Gaussian, z = 1.5");
  EXPECT_EQ(describe(SubsampledGaussian{1, 0.01}), "subsampled Gaussian, z = 1, q = 0.01");
  EXPECT_EQ(describe(ExponentialMechanism{0.5}), "exponential mechanism, epsilon = 0.5");
  EXPECT_EQ(describe(PureMechanism{3}), "pure DP, epsilon = 3");
}

TEST(Mechanism, EndsOfAllRangesAreAccepted) {
  for (const double z : {kSmallestNoiseMultiplier, kLargestNoiseMultiplier}) {
    EXPECT_NO_THROW(require_mechanism(GaussianMechanism{z}));
    EXPECT_NO_THROW(require_mechanism(SubsampledGaussian{z, kSmallestSamplingRate}));
    EXPECT_NO_THROW(require_mechanism(SubsampledGaussian{z, 1}));
  }
  for (const double epsilon : {kSmallestPureEpsilon, kLargestPureEpsilon}) {
    EXPECT_NO_THROW(require_mechanism(ExponentialMechanism{epsilon}));
    EXPECT_NO_THROW(require_mechanism(PureMechanism{epsilon}));
  }
  const std::vector<RepeatedMechanism> longest{{PureMechanism{1}, kLargestCount - 1}, {GaussianMechanism{1}, 1}};
  EXPECT_NO_THROW(require_run(longest));
}

TEST(Mechanism, RunsAreRefusedWithAUsageErrorThatNamesTheArgument) {
  const std::pair<std::vector<RepeatedMechanism>, const char*> bad[] = {
      {{}, "no mechanism"},
      {{{GaussianMechanism{kNan}, 1}}, "noise multiplier = nan"},
      {{{GaussianMechanism{0}, 1}}, "noise multiplier = 0"},
      {{{SubsampledGaussian{0, 0.5}, 1}}, "noise multiplier = 0"},
      {{{SubsampledGaussian{1, 0}, 1}}, "sampling rate = 0"},
      {{{SubsampledGaussian{1, 1.5}, 1}}, "sampling rate = 1.5"},
      {{{ExponentialMechanism{-1}, 1}}, "exponential mechanism = -1"},
      {{{PureMechanism{kNan}, 1}}, "pure-DP mechanism = nan"},
      {{{PureMechanism{1e9}, 1}}, "pure-DP mechanism = 1e+09"},
      {{{GaussianMechanism{1}, 0}}, "count = 0"},
      {{{GaussianMechanism{1}, kLargestCount}, {GaussianMechanism{2}, 1}}, "count = 1 of Gaussian, z = 2"}};
  for (const auto& [run, message] : bad) expect_refusal<UsageError>([&, run = run] { require_run(run); }, {message});
}

}  // namespace dpreduce::mechanism_test
