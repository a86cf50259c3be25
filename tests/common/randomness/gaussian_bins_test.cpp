#include "common/randomness/gaussian_bins.hpp"

#include "tests/common/randomness/exact_oracle.hpp"
#include "tests/testing.hpp"

namespace dpreduce::gaussian_bins_test {

using oracle::oracle_lefts;
using oracle::Real;

constexpr std::uint64_t kOne = std::uint64_t{1} << kPlaceBits;

// A(x) = kDensity * width * 2^doublings * exp(-x^2/2)
Real acceptance(const GaussianBin& bin, std::uint64_t at) {
  const Real x = ldexp(Real(at), -32);
  return ldexp(Real(kDensity * bin.width), static_cast<int>(bin.doublings) - 32) * exp(-x * x / 2);
}

TEST(GaussianBins, StripsTileTheLineUpToTheTail) {
  const GaussianBins& bins = gaussian_bins();
  std::uint64_t left = 0;
  for (std::uint64_t strip = 0; strip < kStrips; ++strip) {
    EXPECT_EQ(bins[strip].left, left);
    EXPECT_GT(bins[strip].width, 0u);
    EXPECT_LE(bins[strip].width, kOne);
    EXPECT_EQ(bins[strip].doublings, 0u);
    left += bins[strip].width;
  }
  for (std::uint64_t level = 0; level < kTabledTailLevels; ++level) {
    EXPECT_EQ(bins[kStrips + level].left, left + level * kOne);
    EXPECT_EQ(bins[kStrips + level].width, kOne);
    EXPECT_EQ(bins[kStrips + level].doublings, level + 1);
  }
}

TEST(GaussianBins, StripsAreTheWidestThatTheDensityAllows) {
  for (std::uint64_t slot = 0; slot < kSlots; ++slot) EXPECT_EQ(gaussian_bins()[slot].left, oracle_lefts()[slot]);
}

// The one condition on which exactness rests.
TEST(GaussianBins, NoAcceptanceProbabilityExceedsOne) {
  for (const GaussianBin& bin : gaussian_bins()) EXPECT_LE(acceptance(bin, bin.left), 1);
  for (unsigned level = 0; level < 1000; ++level) {
    const Real left = ldexp(Real(gaussian_bins()[kStrips].left), -32) + level;
    EXPECT_LE(kDensity * ldexp(Real(1), static_cast<int>(level) + 1) * exp(-left * left / 2), 1);
  }
}

TEST(GaussianBins, TabledAcceptancesAreLowerBounds) {
  for (const GaussianBin& bin : gaussian_bins()) {
    const Real peak = ldexp(acceptance(bin, bin.left), static_cast<int>(kPeakBits));
    EXPECT_LE(Real(bin.peak), peak);
    EXPECT_GT(Real(bin.peak + 1), peak);
    const Real sure = ldexp(acceptance(bin, bin.left + bin.width), static_cast<int>(kCoinBits));
    EXPECT_LE(Real(bin.sure_accept), sure);
    EXPECT_GT(Real(bin.sure_accept + 1), sure);
  }
}

TEST(GaussianBins, SeriesTermsFitTheirFixedPoint) {
  for (const GaussianBin& bin : gaussian_bins()) {
    const Real left = ldexp(Real(bin.left), -32);
    const Real width = ldexp(Real(bin.width), -32);
    EXPECT_LT(acceptance(bin, bin.left) * exp(width * (left + width / 2)), 64) << "sum of the terms' magnitudes";
  }
}

}  // namespace dpreduce::gaussian_bins_test
