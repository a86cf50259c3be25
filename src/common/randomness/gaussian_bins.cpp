#include "common/randomness/gaussian_bins.hpp"

#include "common/base/error.hpp"
#include "common/randomness/certified_exp.hpp"

namespace dpreduce {
namespace {

constexpr unsigned kBits = 128;
constexpr std::uint64_t kOne = std::uint64_t{1} << kPlaceBits;

// 2^kBits * exp(-x^2/2), x in places
IntegerBounds bell(std::uint64_t x) {
  return exp_of_minus(BigInteger(x) * x, 2 * kPlaceBits + 1, kBits);
}

// floor(2^bits * A), A = kDensity * width * 2^doublings * exp(-x^2/2) with the lower or the upper bound of the last
std::uint64_t scaled_acceptance(const GaussianBin& bin, const BigInteger& bell_bound, unsigned bits) {
  const BigInteger scaled = (bell_bound * kDensity * bin.width) << (bin.doublings + bits);
  return static_cast<std::uint64_t>(scaled >> (kBits + kPlaceBits));
}

// The widest strip, in whole places and at most 1, that keeps A(left) = kDensity * width * exp(-left^2/2) <= 1.
std::uint64_t widest(const IntegerBounds& at_left) {
  const BigInteger width = (BigInteger(kOne) << kBits) / (at_left.upper * kDensity);
  return width < kOne ? static_cast<std::uint64_t>(width) : kOne;
}

GaussianBin bin_at(std::uint64_t left, std::uint64_t width, unsigned doublings, const IntegerBounds& at_left,
                   const IntegerBounds& at_right) {
  GaussianBin bin{.left = left, .width = width, .doublings = doublings};
  DPREDUCE_ASSERT(left + width < 15 * kOne);
  DPREDUCE_ASSERT(((at_left.upper * kDensity * width) << doublings) <= (BigInteger(kOne) << kBits));  // A(left) <= 1
  bin.peak = scaled_acceptance(bin, at_left.lower, kPeakBits);
  DPREDUCE_ASSERT(scaled_acceptance(bin, at_left.upper, kPeakBits) == bin.peak);
  bin.sure_accept = scaled_acceptance(bin, at_right.lower, kCoinBits);
  return bin;
}

GaussianBins make_bins() {
  GaussianBins bins;
  std::uint64_t left = 0;
  IntegerBounds at_left = bell(left);
  const auto next = [&](std::uint64_t width, unsigned doublings) {
    const IntegerBounds at_right = bell(left + width);
    const GaussianBin bin = bin_at(left, width, doublings, at_left, at_right);
    left += width;
    at_left = at_right;
    return bin;
  };
  for (std::uint64_t strip = 0; strip < kStrips; ++strip) bins[strip] = next(widest(at_left), 0);
  // From one level to the next A(left) changes by 2 exp(-T - m - 1/2) < 1: the levels that are not in the table have
  // A <= 1 since the last one in the table has.
  for (unsigned level = 0; level < kTabledTailLevels; ++level) {
    bins[kStrips + level] = next(kOne, level + 1);
  }
  return bins;
}

}  // namespace

const GaussianBins& gaussian_bins() {
  static const GaussianBins bins = make_bins();
  return bins;
}

}  // namespace dpreduce
