// Where int32 sums must be widened: runs of row pairs whose every product sum provably fits.
//
// Legend: the energy of a column over a run of rows is E = sum q^2. By Cauchy-Schwarz, for columns a and b,
//
//     |sum q_a q_b| <= sqrt(E_a E_b),
//
// also for the first rows of the run only, so a run is safe for two panels of columns where
//
//     (max energy in panel a) (max energy in panel b) <= (2^31 - 1)^2.                                        (1)
//
// Energies are measured while rows are packed, one number a panel and stripe (64 rows): the largest column energy of
// the stripe. Their sum over stripes bounds the largest column energy of the run. They are kept in units of 1024, each
// pair rounded up: whole blocks then multiply in 64 bits. A stripe that is too much alone is measured again in halves,
// and theirs. Any single pair of rows is safe: 2 * 32767^2 < 2^31. So the worst data cost speed, and never a wrong bit.
//
// Example: unit-norm rows with d = 1664 even columns have pair energies of 2^31 / 1664, about 1.3e6: runs of about 3300
// rows were possible, and two thirds of that are reached with the fluctuations of the maxima: whole blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dpreduce {

inline constexpr std::size_t kStripePairs = 32;
/// Rows that are packed at a time: 2048, in pairs.
inline constexpr std::size_t kBlockPairs = 1024;

/// ceil(q^2 energy of one pair of int16 values / 1024), or one more. At most 2^21 + 1.
constexpr std::uint32_t energy_units(std::int16_t first, std::int16_t second) {
  const auto square = [](std::int32_t value) { return static_cast<std::uint32_t>(value * value); };
  return ((square(first) + square(second)) >> 10) + 1;
}

/// (2^31 - 1)^2, the right side of (1), in units of either energy.
inline constexpr std::uint64_t kEnergyLimit =
    ((std::uint64_t{1} << 31) - 1) * ((std::uint64_t{1} << 31) - 1) / (1024 * 1024);

/// Pairs [begin, end) of a block.
struct Segment {
  std::size_t begin = 0;
  std::size_t end = 0;

  bool operator==(const Segment&) const = default;
};

/// The product of the largest column energies of both panels over some pairs, in units of either; any single pair may
/// have any.
using EnergyProduct = std::function<std::uint64_t(const Segment&)>;

/// Replaces `segments` by a partition of [0, pairs) in order, every part with (1): runs of stripes, or, of a stripe
/// that is too much alone, its largest halves that are not, down to single pairs. energies_a, energies_b: for each
/// stripe of kStripePairs pairs (the last may be shorter), the panel's largest column energy in units; `measured`,
/// asked for parts of stripes. Greedy: a run is closed only before the stripe that would break (1). Preconditions:
/// pairs <= kBlockPairs; both spans have ceil(pairs / kStripePairs) entries.
void plan_segments(std::span<const std::uint32_t> energies_a, std::span<const std::uint32_t> energies_b,
                   std::size_t pairs, const EnergyProduct& measured, std::vector<Segment>& segments);

}  // namespace dpreduce
