#include "common/accounting/mechanism.hpp"

#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "tests/common/special_values.hpp"

namespace dpreduce {
namespace {

TEST(Mechanism, IsDescribedWithItsParameters) {
  EXPECT_EQ(describe(GaussianMechanism{1.5}), "Gaussian, z = 1.5");
  EXPECT_EQ(describe(SubsampledGaussian{1, 0.01}), "subsampled Gaussian, z = 1, q = 0.01");
  EXPECT_EQ(describe(ExponentialMechanism{0.5}), "exponential mechanism, epsilon = 0.5");
  EXPECT_EQ(describe(LaplaceMechanism{2}), "Laplace, epsilon = 2");
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
    EXPECT_NO_THROW(require_mechanism(LaplaceMechanism{epsilon}));
    EXPECT_NO_THROW(require_mechanism(PureMechanism{epsilon}));
  }
  const std::vector<RepeatedMechanism> longest{{PureMechanism{1}, kLargestCount - 1}, {GaussianMechanism{1}, 1}};
  EXPECT_NO_THROW(require_run(longest));
}

struct BadRun {
  const char* name;
  std::vector<RepeatedMechanism> run;
  const char* message;
};

class RunRefuses : public testing::TestWithParam<BadRun> {};

TEST_P(RunRefuses, WithAUsageErrorThatNamesTheArgument) {
  try {
    require_run(GetParam().run);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(GetParam().message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, RunRefuses,
    testing::Values(BadRun{"Empty", {}, "no mechanism"},
                    BadRun{"NanNoise", {{GaussianMechanism{kNan}, 1}}, "noise multiplier = nan"},
                    BadRun{"ZeroNoise", {{GaussianMechanism{0}, 1}}, "noise multiplier = 0"},
                    BadRun{"SampledZeroNoise", {{SubsampledGaussian{0, 0.5}, 1}}, "noise multiplier = 0"},
                    BadRun{"ZeroRate", {{SubsampledGaussian{1, 0}, 1}}, "sampling rate = 0"},
                    BadRun{"RateAboveOne", {{SubsampledGaussian{1, 1.5}, 1}}, "sampling rate = 1.5"},
                    BadRun{"NegativeExponential", {{ExponentialMechanism{-1}, 1}}, "exponential mechanism = -1"},
                    BadRun{"NanLaplace", {{LaplaceMechanism{kNan}, 1}}, "Laplace mechanism = nan"},
                    BadRun{"HugePure", {{PureMechanism{1e9}, 1}}, "pure-DP mechanism = 1e+09"},
                    BadRun{"NoStep", {{GaussianMechanism{1}, 0}}, "count = 0"},
                    BadRun{"TooManySteps",
                           {{GaussianMechanism{1}, kLargestCount}, {GaussianMechanism{2}, 1}},
                           "count = 1 of Gaussian, z = 2"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace dpreduce
