#include "common/lattice/target_columns.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/label_slots.hpp"

namespace dpreduce {
namespace {

void clip_to_unit_ball(std::span<double> v) {
  double squares = 0.0;
  for (const double entry : v) squares += entry * entry;
  if (squares <= 1.0) return;
  const double norm = std::sqrt(squares);
  for (double& entry : v) entry /= norm;
}

}  // namespace

void TargetColumns::scaled_numbers(std::span<const double> targets, std::span<double> out) const {
  DPREDUCE_ASSERT(targets.size() == count && out.size() == count && center.size() == count && scale.size() == count);
  // std::fmax turns a NaN into -1, where std::clamp would keep it: what a model predicts need be no number.
  for (std::size_t t = 0; t < count; ++t) out[t] = std::fmin(std::fmax((targets[t] - center[t]) / scale[t], -1.0), 1.0);
  clip_to_unit_ball(out);
}

void TargetColumns::scaled(std::span<const std::int32_t> row_slots, std::span<double> out) const {
  thread_local std::vector<double> targets;
  targets.resize(count);
  for (std::size_t t = 0; t < count; ++t) targets[t] = target_in(row_slots, t);
  scaled_numbers(targets, out);
}

Ranges ranges_of(const char* option, std::span<const double> ranges, std::size_t count) {
  if (ranges.size() != 2 && ranges.size() != 2 * count) {
    throw UsageError(fmt::format("{}: {} numbers for {} column(s); give LO,HI for all, or a pair for each", option,
                                 ranges.size(), count));
  }
  Ranges parts;
  for (std::size_t column = 0; column < count; ++column) {
    const std::size_t place = ranges.size() == 2 ? 0 : 2 * column;
    const double low = ranges[place];
    const double high = ranges[place + 1];
    const double half = high / 2.0 - low / 2.0;
    if (!std::isfinite(low) || !std::isfinite(high) || !(half > 0.0)) {
      throw UsageError(fmt::format("{} {},{}: LO must be less than HI, and both finite", option, low, high));
    }
    parts.middle.push_back(low / 2.0 + high / 2.0);
    parts.half.push_back(half);
  }
  return parts;
}

TargetColumns target_columns(Ranges ranges) {
  const double root = std::sqrt(static_cast<double>(ranges.middle.size()));
  for (double& half : ranges.half) half *= root;
  return {.count = ranges.middle.size(), .center = std::move(ranges.middle), .scale = std::move(ranges.half)};
}

}  // namespace dpreduce
