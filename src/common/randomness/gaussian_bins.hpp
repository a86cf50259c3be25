// The proposal of the bulk sampler: vertical strips under a half normal curve, all of the same area.
//
//   Legend. A number in 2^-32 units is called a place.
//     left_j, width_j   strip j is [left_j, left_j + width_j), in places; left_0 = 0, left_{j+1} = left_j + width_j
//     kSlots            1024 equally likely slots: 1023 strips, and the tail [T, infinity), T = left_1023 = 4.7995...
//     tail level m      [T + m, T + m + 1), with probability 2^-(m+1) given the tail
//     kDensity          813: slots, strips and levels are so wide that kDensity * exp(-x^2/2) stays below the
//                       proposal's density times kSlots
//
// A proposal x = left_j + width_j * U with uniform U has density 1 / (kSlots * width_j), in the tail 2^-(m+1) / kSlots.
// A proposal is accepted with probability
//
//     A_j(x) = kDensity * width_j * exp(-x^2/2),      in the tail  kDensity * 2^(m+1) * exp(-x^2/2),
//
// whose product with the proposal's density is kDensity / kSlots * exp(-x^2/2) for every x >= 0: accepted proposals
// are exactly half normal, provided only that A_j <= 1. A_j falls with x, so that A_j(left_j) <= 1 is enough, and that
// is checked by certified bounds for every entry when the table is made. Nothing else is asked of the widths: they are
// plain integers, and no probability of a strip was ever rounded. 99.5 % of the proposals are accepted.
#pragma once

#include <array>
#include <cstdint>

namespace dpreduce {

inline constexpr unsigned kPlaceBits = 32;
inline constexpr unsigned kSlotBits = 10;
inline constexpr std::uint64_t kSlots = std::uint64_t{1} << kSlotBits;
inline constexpr std::uint64_t kStrips = kSlots - 1;
inline constexpr std::uint64_t kTabledTailLevels = 8;
inline constexpr std::uint64_t kDensity = 813;

inline constexpr unsigned kCoinBits = 53;  // known at first of the uniform that decides acceptance
inline constexpr unsigned kPeakBits = 56;

struct GaussianBin {
  std::uint64_t left = 0;         // places; left + width < 15
  std::uint64_t width = 0;        // places; <= 1
  std::uint64_t peak = 0;         // peak <= 2^kPeakBits * A_j(left_j) < peak + 1
  std::uint64_t sure_accept = 0;  // <= 2^kCoinBits * A_j(left_j + width_j)
  unsigned doublings = 0;         // 0 in a strip, m + 1 at tail level m
};

/// Entries 0 to kStrips - 1 are the strips, kStrips + m is tail level m < kTabledTailLevels.
using GaussianBins = std::array<GaussianBin, kStrips + kTabledTailLevels>;

/// The table, made at the first call (a few milliseconds) by integer arithmetic alone: the same on every machine.
const GaussianBins& gaussian_bins();

}  // namespace dpreduce
