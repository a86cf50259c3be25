#include "common/data/row_values.hpp"

#include <algorithm>
#include <cstring>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// So many elements are looked at before the first of them decides.
constexpr std::uint64_t kLookedAtOnce = 4096;

// What the bits of an element are compared with, less its sign: from `limit` up it is not finite as a float.
template <typename Bits>
constexpr Bits kLimit = 0;
template <>
constexpr std::uint16_t kLimit<std::uint16_t> = 0x7c00;
template <>
constexpr std::uint32_t kLimit<std::uint32_t> = 0x7f800000;
template <>
constexpr std::uint64_t kLimit<std::uint64_t> = 0x47effffff0000000;  // 2^128 - 2^103, half-way to 2^128

std::uint16_t swapped(std::uint16_t bits) {
  return __builtin_bswap16(bits);
}
std::uint32_t swapped(std::uint32_t bits) {
  return __builtin_bswap32(bits);
}
std::uint64_t swapped(std::uint64_t bits) {
  return __builtin_bswap64(bits);
}

// Of `count` elements, `stride` bytes from one to the next.
template <typename Bits, bool kSwap>
bool are_finite(const std::byte* element, std::uint64_t count, std::ptrdiff_t stride) {
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  bool is_over = false;
  for (std::uint64_t place = 0; place < count; ++place) {
    Bits bits = 0;
    std::memcpy(&bits, element + static_cast<std::ptrdiff_t>(place) * stride, sizeof(Bits));
    if constexpr (kSwap) bits = swapped(bits);
    is_over |= static_cast<Bits>(bits & kMagnitude) >= kLimit<Bits>;
  }
  return !is_over;
}

template <typename Bits, bool kSwap>
bool is_line_finite(const std::byte* first, std::uint64_t count, std::ptrdiff_t stride) {
  constexpr auto kTight = static_cast<std::ptrdiff_t>(sizeof(Bits));
  for (std::uint64_t done = 0; done < count; done += kLookedAtOnce) {
    const std::byte* const element = first + static_cast<std::ptrdiff_t>(done) * stride;
    const std::uint64_t here = std::min(kLookedAtOnce, count - done);
    const bool is_finite = stride == kTight ? are_finite<Bits, kSwap>(element, here, kTight)  // this one vectorizes
                                            : are_finite<Bits, kSwap>(element, here, stride);
    if (!is_finite) return false;
  }
  return true;
}

template <typename Bits, bool kSwap>
std::optional<std::uint64_t> first_not_finite(const ArrayView& view, std::uint64_t first_row, std::uint64_t count) {
  const auto row_at = [&](std::uint64_t row) {
    return view.first + static_cast<std::ptrdiff_t>(row) * view.row_stride;
  };
  const auto is_row_finite = [&](std::uint64_t row) {
    return is_line_finite<Bits, kSwap>(row_at(row), view.columns, view.column_stride);
  };
  if (view.row_stride == static_cast<std::ptrdiff_t>(sizeof(Bits)) && view.columns > 1) {  // columns lie whole
    bool is_finite = true;
    for (std::size_t column = 0; is_finite && column < view.columns; ++column) {
      is_finite = is_line_finite<Bits, kSwap>(
          row_at(first_row) + static_cast<std::ptrdiff_t>(column) * view.column_stride, count, view.row_stride);
    }
    if (is_finite) return std::nullopt;
  }
  for (std::uint64_t row = first_row; row < first_row + count; ++row) {
    if (!is_row_finite(row)) return row;
  }
  return std::nullopt;
}

template <typename Bits>
std::optional<std::uint64_t> first_in_order(const ArrayView& view, std::uint64_t first_row, std::uint64_t count) {
  return view.byte_order == kNativeByteOrder ? first_not_finite<Bits, false>(view, first_row, count)
                                             : first_not_finite<Bits, true>(view, first_row, count);
}

}  // namespace

std::optional<std::uint64_t> first_row_not_finite(const ArrayView& view, std::uint64_t first_row, std::uint64_t count) {
  DPREDUCE_ASSERT(first_row <= view.rows && count <= view.rows - first_row);
  if (count == 0 || view.columns == 0) return std::nullopt;
  switch (size_of(view.dtype)) {
    case 2:
      return first_in_order<std::uint16_t>(view, first_row, count);
    case 4:
      return first_in_order<std::uint32_t>(view, first_row, count);
    default:
      return first_in_order<std::uint64_t>(view, first_row, count);
  }
}

}  // namespace dpreduce
