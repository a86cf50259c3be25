// The reference: Karney's exact sampler [karney2016], as plainly as it is printed. Kept as the oracle of the fast one.
#pragma once

#include <cstdint>
#include <span>

#include "common/randomness/random_stream.hpp"

namespace dpreduce {

/// out_i = round(sigma * X_i), X_i independent standard normal reals, exactly.
///
/// Precondition: kSmallestSigma <= sigma <= kLargestSigma. Throws UsageError on sigma; EntropyFailure if the stream
/// ends or its digits cannot be random (an event of probability below 2^-1000). Source: [karney2016], Algorithms N, H
/// and B; departures: the digit base is 2^64, algorithm G is its plain loop, and the result is rounded. About a million
/// samples a second.
void fill_rounded_gaussian_by_karney(RandomStream& stream, double sigma, std::span<std::int64_t> out);

}  // namespace dpreduce
