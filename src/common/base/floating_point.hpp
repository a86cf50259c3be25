// Constants of double.
#pragma once

#include <limits>

namespace dpreduce {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The relative error of one rounding to nearest: 2^-53.
inline constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;
static_assert(kUnitRoundoff == 0x1p-53);

}  // namespace dpreduce
