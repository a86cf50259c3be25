#include "aggregator/release/utility_range.hpp"

#include <algorithm>

namespace dpreduce {
namespace {

constexpr std::uint64_t kLowHalf = (std::uint64_t{1} << 32) - 1;

// low + high 2^32 <= most, for digits that need not be below 2^32.
bool is_at_most(std::uint64_t low, std::uint64_t high, std::uint64_t most) {
  high += low >> 32;
  return high <= (most >> 32) && (high << 32) + (low & kLowHalf) <= most;
}

}  // namespace

UtilityRange utility_range(std::span<const std::int64_t> local) {
  std::int64_t most = 0;
  std::int64_t least = 0;
  for (const std::int64_t utility : local) {
    most = std::max(most, utility);
    least = std::min(least, utility);
  }
  const auto above = static_cast<std::uint64_t>(most);
  const std::uint64_t below = std::uint64_t{0} - static_cast<std::uint64_t>(least);
  return {above & kLowHalf, above >> 32, below & kLowHalf, below >> 32};
}

bool sums_cannot_wrap(const UtilityRange& summed) {
  constexpr std::uint64_t kBound = std::uint64_t{1} << 63;
  return is_at_most(summed[0], summed[1], kBound - 1) && is_at_most(summed[2], summed[3], kBound);
}

}  // namespace dpreduce
