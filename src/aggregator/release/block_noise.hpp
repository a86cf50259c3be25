// Noise onto the elements of a planned block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "common/plan/noise_plan.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

/// Noise is drawn in pieces of so many elements, each from a stream of its own, so that ranks can share them.
inline constexpr std::size_t kNoisePiece = std::size_t{1} << 16;

/// The secret stream of a context, which is of that piece; different contexts have independent streams.
using NoiseStreams = std::function<RandomStream(const std::string& context, std::size_t piece)>;

/// Pieces first, first + step, ...
struct NoisePieces {
  std::size_t first = 0;
  std::size_t step = 1;
};

/// values += round(N(0, s^2)), each element its own, mod 2^64; s = block.sigma. Of a block in units of 2^-b, values +=
/// floor(2^b N(0, s^2)), of the same reals (fill_floored_gaussian). Of a symmetric block `values` are one
/// or more of its upper triangles, and elements beside a diagonal get variance s^2 / 2. Only the elements of `pieces`
/// get noise. Contexts are "<noise_id>/<part>", and "<noise_id>/<part>/diagonal"; behind them "/1", "/2" of further
/// pieces. Throws EntropyFailure. Precondition (asserted): whole triangles; a symmetric block has no fractions.
void add_noise(const NoiseStreams& streams, const PlannedBlock& block, const std::string& noise_id,
               const std::string& part, std::span<std::int64_t> values, NoisePieces pieces = {});

/// floor((values + 2^(b-1)) / 2^b): noised sums in units of 2^-b, to the nearest integer. Post-processing.
void round_to_units(std::span<std::int64_t> values, unsigned fraction_bits);

}  // namespace dpreduce
