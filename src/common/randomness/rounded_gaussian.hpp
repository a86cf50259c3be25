// Gaussian noise that is rounded exactly: the one entry for noise in bulk.
#pragma once

#include <cstdint>
#include <span>

#include "common/randomness/exact_rounding.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

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
