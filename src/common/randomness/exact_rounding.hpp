// The last step of every exact Gaussian sampler: y = sigma * x, of which only some binary digits of x are known, is
// rounded to an integer as soon as all values that y can still take round alike.
#pragma once

#include <cstdint>
#include <optional>

#include "common/randomness/certified_exp.hpp"

namespace dpreduce {

/// A finite double > 0 as the rational number that it is: mantissa * 2^-scale_bits.
struct ExactSigma {
  std::uint64_t mantissa = 0;  // 2^52 <= mantissa < 2^53
  unsigned scale_bits = 0;
};

inline constexpr double kSmallestSigma = 0x1p-1;
inline constexpr double kLargestSigma = 0x1p45;

/// Precondition and error: UsageError unless kSmallestSigma <= sigma <= kLargestSigma (NaN and infinity are refused).
ExactSigma exact_sigma(double sigma);

/// round(sigma * x) if that is the same integer for all x in [lower, upper) / 2^scale_bits, else nothing.
///
/// Halves round up; with a real x they have probability zero. Preconditions: 0 <= lower < upper; the result fits
/// (|.| < 2^62; our own invariants: std::logic_error).
std::optional<std::int64_t> round_product(const ExactSigma& sigma, const BigInteger& lower, const BigInteger& upper,
                                          unsigned scale_bits);

/// floor(2^fraction_bits sigma * x) if that is the same integer for all x in [lower, upper) / 2^scale_bits, else
/// nothing. Preconditions: as round_product.
std::optional<std::int64_t> floor_product(const ExactSigma& sigma, const BigInteger& lower, const BigInteger& upper,
                                          unsigned scale_bits, unsigned fraction_bits);

}  // namespace dpreduce
