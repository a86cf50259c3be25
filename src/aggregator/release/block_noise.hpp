// Noise onto the elements of a planned block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "aggregator/release/release_key.hpp"
#include "common/ledger/noise_plan.hpp"

namespace dpreduce {

/// Elements per piece of noise. Each piece has a stream of its own, so that ranks can share them.
inline constexpr std::size_t kNoisePiece = std::size_t{1} << 16;

/// Pieces first, first + step, ...
struct NoisePieces {
  std::size_t first = 0;
  std::size_t step = 1;
};

/// values += round(N(0, s^2)), each element its own, mod 2^64; s = block.sigma. For a block in units of 2^-b, values +=
/// floor(2^b N(0, s^2)), of the same reals (fill_floored_gaussian). For a symmetric block `values` are one or more of
/// its upper triangles, and elements beside a diagonal get variance s^2 / 2. Only the elements of `pieces` get noise.
/// Streams are those of "<block>/<part>", and "<block>/<part>/diagonal"; behind them "/1", "/2" of further pieces.
/// Throws EntropyFailure. Precondition (asserted): whole triangles; a symmetric block has no fractions.
void add_noise(ReleaseKey& key, const PlannedBlock& block, const std::string& part, std::span<std::int64_t> values,
               NoisePieces pieces = {});

/// floor((values + 2^(b-1)) / 2^b): noised sums in units of 2^-b, to the nearest integer. Post-processing.
void round_to_units(std::span<std::int64_t> values, unsigned fraction_bits);

}  // namespace dpreduce
