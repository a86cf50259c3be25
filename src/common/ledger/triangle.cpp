#include "common/ledger/triangle.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/error.hpp"

namespace dpreduce {

std::optional<std::uint64_t> triangle_order(std::uint64_t elements) {
  const auto guess = static_cast<std::uint64_t>(std::sqrt(2.0 * static_cast<double>(elements)));
  for (std::uint64_t order = guess > 0 ? guess - 1 : 0; order <= guess + 1; ++order) {
    if (order > 0 && triangle_elements(order) == elements) return order;
  }
  return std::nullopt;
}

void copy_upper_triangle(std::span<const std::int64_t> square, std::size_t dim, std::span<std::int64_t> triangle) {
  DPREDUCE_ASSERT(square.size() == dim * dim && triangle.size() == triangle_elements(dim));
  for (std::size_t i = 0; i < dim; ++i) {
    const auto row = square.subspan(i * dim + i, dim - i);
    std::copy(row.begin(), row.end(), triangle.begin() + static_cast<std::ptrdiff_t>(triangle_row(i, dim)));
  }
}

}  // namespace dpreduce
