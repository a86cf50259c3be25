// Exactly rounded Gaussian noise, and the rounding in which it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/randomness/certified_exp.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

// The last step of every exact Gaussian sampler: y = sigma * x, of which only some binary digits of x are known, is
// rounded to an integer as soon as all values that y can still take round alike.

/// A finite double > 0 as the rational number that it is: mantissa * 2^-scale_bits.
struct ExactSigma {
  std::uint64_t mantissa = 0;  // 2^52 <= mantissa < 2^53
  unsigned scale_bits = 0;
};

inline constexpr double kSmallestSigma = 0x1p-1;
inline constexpr double kLargestSigma = 0x1p45;

/// Precondition and error: UsageError unless kSmallestSigma <= sigma <= kLargestSigma (NaN and infinity are refused).
ExactSigma exact_sigma(double sigma);

/// floor(y), y = 2^fraction_bits sigma * x, or, `plus_half`, floor(y + 1/2), if that is the same integer for all x in
/// [lower, upper) / 2^scale_bits, else nothing.
///
/// With half: y rounded. Halves round up; with a real x they have probability zero. Preconditions: 0 <= lower < upper;
/// the result fits (|.| < 2^62; our own invariants: std::logic_error).
std::optional<std::int64_t> floored_product(const ExactSigma& sigma, const BigInteger& lower, const BigInteger& upper,
                                            unsigned scale_bits, unsigned fraction_bits, bool plus_half);

// Gaussian noise that is rounded exactly: the one entry for noise in bulk.

/// out_i = round(sigma * X_i), X_i independent standard normal reals, exactly (given a stream of uniform bits).
///
/// sigma is the rational number that the double is. For integer q, q + out_i = round(q + sigma * X_i): a
/// post-processing of the continuous Gaussian mechanism, whose guarantee it has with nothing added, for any dimension
/// and shift.
///
/// Precondition: kSmallestSigma <= sigma <= kLargestSigma. Throws UsageError on sigma; EntropyFailure if the stream
/// ends or its digits cannot be random (an event of probability below 2^-500). Result: a function of the stream alone,
/// the same for any compiler and machine. It starts at the stream's next whole block and takes one block for each
/// proposal, about 1.005 blocks a sample. Time depends on the samples by a few nanoseconds in a hundred of them.
void fill_rounded_gaussian(RandomStream& stream, double sigma, std::span<std::int64_t> out);

/// out_i = floor(2^fraction_bits sigma * X_i), of the very reals X_i whose rounded multiples fill_rounded_gaussian
/// would give from the same stream, of which it takes the same blocks:
///
///     floor((out_i + 2^(fraction_bits - 1)) / 2^fraction_bits) = floor(sigma * X_i + 1/2) = round(sigma * X_i)
///
/// For an integer q in units of 2^-fraction_bits, q + out_i = floor(q + 2^fraction_bits sigma * X_i): again a
/// post-processing of the continuous mechanism. A few microseconds a sample: for blocks of few elements. Preconditions:
/// as fill_rounded_gaussian; (asserted) 1 <= fraction_bits <= 30, and sigma * 2^fraction_bits < 2^55. Throws as it
/// does.
void fill_floored_gaussian(RandomStream& stream, double sigma, unsigned fraction_bits, std::span<std::int64_t> out);

}  // namespace dpreduce
