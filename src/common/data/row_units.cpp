#include "common/data/row_units.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/base/error.hpp"

namespace dpreduce {

UnitPart part_of_unit(std::uint64_t here, std::uint64_t counted) {
  DPREDUCE_ASSERT(here <= counted);
  if (here == counted) return {};
  const std::uint64_t common = std::gcd(here, counted);
  std::uint64_t count = here / common;
  std::uint64_t of = counted / common;
  while (count > kMostCountOfPart || of > std::numeric_limits<std::uint32_t>::max()) {
    count /= 2;
    of = of / 2 + of % 2;
  }
  return {static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(of)};
}

std::uint64_t most_rows_clipped_together(std::size_t dim) {
  constexpr std::uint64_t kFewest = 256;
  constexpr std::uint64_t kMost = 4096;
  constexpr std::uint64_t kEntries = std::uint64_t{1} << 22;
  return std::clamp<std::uint64_t>(kEntries / std::max<std::uint64_t>(dim, 1), kFewest, kMost);
}

}  // namespace dpreduce
