#include "common/randomness/exact_rounding.hpp"

#include <cmath>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

ExactSigma exact_sigma(double sigma) {
  if (!(sigma >= kSmallestSigma && sigma <= kLargestSigma)) {
    throw UsageError(
        fmt::format("sigma = {} of the rounded Gaussian is not in [{}, {}]: choose another scale of the lattice", sigma,
                    kSmallestSigma, kLargestSigma));
  }
  int exponent = 0;
  const double fraction = std::frexp(sigma, &exponent);  // in [1/2, 1), exact; exponent <= 46
  return {static_cast<std::uint64_t>(std::ldexp(fraction, 53)), static_cast<unsigned>(53 - exponent)};
}

// floor(y + 1/2) for the smallest y, and, as y stays below its upper end, ceil(upper end + 1/2) - 1 for the largest:
// with y = Y / 2^places these are floor((Y + 2^(places-1)) / 2^places) and floor((Y + 2^(places-1) - 1) / 2^places).
std::optional<std::int64_t> round_product(const ExactSigma& sigma, const BigInteger& lower, const BigInteger& upper,
                                          unsigned scale_bits) {
  DPREDUCE_ASSERT(0 <= lower && lower < upper);
  const unsigned places = sigma.scale_bits + scale_bits;
  const BigInteger half = BigInteger(1) << (places - 1);
  const BigInteger smallest = (sigma.mantissa * lower + half) >> places;
  const BigInteger largest = (sigma.mantissa * upper + half - 1) >> places;
  if (smallest != largest) return std::nullopt;
  DPREDUCE_ASSERT(smallest < (BigInteger(1) << 62));
  return static_cast<std::int64_t>(smallest);
}

// As above, without the half.
std::optional<std::int64_t> floor_product(const ExactSigma& sigma, const BigInteger& lower, const BigInteger& upper,
                                          unsigned scale_bits, unsigned fraction_bits) {
  DPREDUCE_ASSERT(0 <= lower && lower < upper);
  const unsigned places = sigma.scale_bits + scale_bits;
  const BigInteger smallest = ((sigma.mantissa * lower) << fraction_bits) >> places;
  const BigInteger largest = (((sigma.mantissa * upper) << fraction_bits) - 1) >> places;
  if (smallest != largest) return std::nullopt;
  DPREDUCE_ASSERT(smallest < (BigInteger(1) << 62));
  return static_cast<std::int64_t>(smallest);
}

}  // namespace dpreduce
