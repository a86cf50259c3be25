#include "common/plan/triangle.hpp"

#include <cmath>

namespace dpreduce {

std::optional<std::uint64_t> triangle_order(std::uint64_t elements) {
  const auto guess = static_cast<std::uint64_t>(std::sqrt(2.0 * static_cast<double>(elements)));
  for (std::uint64_t order = guess > 0 ? guess - 1 : 0; order <= guess + 1; ++order) {
    if (order > 0 && triangle_elements(order) == elements) return order;
  }
  return std::nullopt;
}

}  // namespace dpreduce
