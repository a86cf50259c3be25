// The upper triangle of a symmetric d x d matrix in one array, row after row:
//
//   (0,0) (0,1) ... (0,d-1)   (1,1) ... (1,d-1)   ...   (d-1,d-1)          d (d + 1) / 2 elements
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

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
std::optional<std::uint64_t> triangle_order(std::uint64_t elements);

/// triangle <- the upper triangle of a d x d matrix, row-major. Shapes: d^2 and d (d + 1) / 2 elements.
void copy_upper_triangle(std::span<const std::int64_t> square, std::size_t dim, std::span<std::int64_t> triangle);

}  // namespace dpreduce
