#include "common/data/row_persons.hpp"

#include <limits>
#include <numeric>

#include "common/base/error.hpp"

namespace dpreduce {

PersonPart part_of_person(std::uint64_t here, std::uint64_t counted) {
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

}  // namespace dpreduce
