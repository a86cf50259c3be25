#include "common/lattice/cosine_clip.hpp"

#include <cmath>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

CosineClip cosine_clip(double d_min, double d_max) {
  if (!(d_min >= 0.0 && d_max <= 2.0)) {
    throw UsageError(
        fmt::format("--d-min {} and --d-max {}: 1 + cos lies between 0 and 2; give bounds in there", d_min, d_max));
  }
  constexpr double kUnits = double{kLatticeNorm} * double{kLatticeNorm};
  const CosineClip clip{std::llround(d_min * kUnits), std::llround(d_max * kUnits)};
  if (!(d_min < d_max && clip.lower < clip.upper)) {
    throw UsageError(fmt::format("--d-min {} and --d-max {}: the lower bound must be below the upper", d_min, d_max));
  }
  return clip;
}

}  // namespace dpreduce
