// What no number may be.
#pragma once

#include <limits>

#include "common/base/floating_point.hpp"

namespace dpreduce {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace dpreduce
