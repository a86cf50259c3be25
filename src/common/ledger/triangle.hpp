// The upper triangle of a symmetric d x d matrix in one array, row after row:
//
//   (0,0) (0,1) ... (0,d-1)   (1,1) ... (1,d-1)   ...   (d-1,d-1)          d (d + 1) / 2 elements
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/base/error.hpp"

namespace dpreduce {

/// d (d + 1) / 2. Precondition: d < 2^31.
constexpr std::uint64_t triangle_elements(std::uint64_t order) {
  return order * (order + 1) / 2;
}

/// Position of (i, i): the start of row i. Precondition: i < d < 2^31.
constexpr std::uint64_t triangle_row(std::uint64_t i, std::uint64_t order) {
  return i * (2 * order - i + 1) / 2;
}

/// The d whose triangle has this many elements; nullopt if there is none.
inline std::optional<std::uint64_t> triangle_order(std::uint64_t elements) {
  const auto guess = static_cast<std::uint64_t>(std::sqrt(2.0 * static_cast<double>(elements)));
  for (std::uint64_t order = guess > 0 ? guess - 1 : 0; order <= guess + 1; ++order) {
    if (order > 0 && triangle_elements(order) == elements) return order;
  }
  return std::nullopt;
}

/// triangle <- the upper triangle of a d x d matrix, row-major. Shapes: d^2 and d (d + 1) / 2 elements.
inline void copy_upper_triangle(std::span<const std::int64_t> square, std::size_t dim,
                                std::span<std::int64_t> triangle) {
  DPREDUCE_ASSERT(square.size() == dim * dim && triangle.size() == triangle_elements(dim));
  for (std::size_t i = 0; i < dim; ++i) {
    const auto row = square.subspan(i * dim + i, dim - i);
    std::copy(row.begin(), row.end(), triangle.begin() + static_cast<std::ptrdiff_t>(triangle_row(i, dim)));
  }
}

}  // namespace dpreduce
