// Whether sums of utilities over ranks are the integers they stand for, and not those mod 2^64: a sum that wraps around
// turns the best candidate into the worst, and one record may do it.
//
//   Legend. H_r = max(0, largest utility of rank r), L_r = max(0, -smallest): every sum lies in [-sum L_r, sum H_r].
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace dpreduce {

/// H_r and L_r in digits of 32 bits, lowest first, so that up to 2^32 ranks' add up without overflow.
using UtilityRange = std::array<std::uint64_t, 4>;

UtilityRange utility_range(std::span<const std::int64_t> local);

/// sum H_r < 2^63 and sum L_r <= 2^63, for the element-wise sum of all ranks' ranges.
bool sums_cannot_wrap(const UtilityRange& summed);

}  // namespace dpreduce
