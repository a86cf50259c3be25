#include "common/data/memory_array.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// So many rows are gathered at a time: what is written stays in the cache while the columns are walked.
constexpr std::uint64_t kGatheredRows = 64;

// out <- `count` rows from first_row on, in C order. Size: bytes of an element.
template <std::size_t Size>
void gather(const ArrayView& view, std::uint64_t first_row, std::uint64_t count, std::byte* out) {
  const std::byte* const rows = view.first + static_cast<std::ptrdiff_t>(first_row) * view.row_stride;
  const std::size_t row_bytes = view.columns * Size;
  if (view.column_stride == static_cast<std::ptrdiff_t>(Size)) {
    for (std::uint64_t row = 0; row < count; ++row) {
      std::memcpy(out + row * row_bytes, rows + static_cast<std::ptrdiff_t>(row) * view.row_stride, row_bytes);
    }
    return;
  }
  for (std::uint64_t block = 0; block < count; block += kGatheredRows) {
    const std::uint64_t end = std::min(count, block + kGatheredRows);
    for (std::size_t column = 0; column < view.columns; ++column) {
      const std::byte* const source = rows + static_cast<std::ptrdiff_t>(column) * view.column_stride;
      for (std::uint64_t row = block; row < end; ++row) {
        std::memcpy(out + row * row_bytes + column * Size, source + static_cast<std::ptrdiff_t>(row) * view.row_stride,
                    Size);
      }
    }
  }
}

void gather_strings(const ArrayView& view, std::uint64_t first_row, std::uint64_t count, std::byte* out) {
  for (std::uint64_t row = first_row; row < first_row + count; ++row) {
    const std::byte* const elements = view.first + static_cast<std::ptrdiff_t>(row) * view.row_stride;
    for (std::size_t column = 0; column < view.columns; ++column, out += view.string_bytes) {
      std::memcpy(out, elements + static_cast<std::ptrdiff_t>(column) * view.column_stride, view.string_bytes);
    }
  }
}

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

bool ArrayView::is_c_order() const {
  const auto element = static_cast<std::ptrdiff_t>(element_bytes());
  const bool are_columns_tight = columns == 1 || column_stride == element;
  return are_columns_tight && (rows <= 1 || row_stride == static_cast<std::ptrdiff_t>(columns) * element);
}

void check_whole_rows(std::size_t elements, std::size_t columns) {
  if (columns >= 1 && elements % columns == 0) return;
  throw UsageError(
      fmt::format("array in memory: {} elements are no whole rows of {} columns{}", elements, columns, kForOwnerOnly));
}

ArrayView rows_in_c_order(std::span<const std::byte> elements, DType dtype, std::size_t columns) {
  const std::size_t element = size_of(dtype);
  return {.first = elements.data(),
          .dtype = dtype,
          .rows = elements.size() / (columns * element),
          .columns = columns,
          .row_stride = static_cast<std::ptrdiff_t>(columns * element),
          .column_stride = static_cast<std::ptrdiff_t>(element)};
}

MemoryArray::MemoryArray(const ArrayView& view, std::string name)
    : ArrayFile(std::move(name), view.dtype, view.byte_order, {view.rows, view.columns}, view.element_bytes()),
      view_(view) {}

std::span<const std::byte> MemoryArray::c_ordered_rows(std::uint64_t first_row, std::uint64_t count) const {
  if (count == 0) return {};
  return {view_.first + first_row * row_bytes(), count * row_bytes()};
}

StoredFloats MemoryArray::features_in_place(std::uint64_t first_row, std::uint64_t count) const {
  DPREDUCE_ASSERT(first_row <= rows() && count <= rows() - first_row);
  if (!view_.is_c_order()) return {};
  return {c_ordered_rows(first_row, count), dtype(), view_.byte_order};
}

FileIdentity MemoryArray::identity() const {
  if (view_.rows == 0 || view_.columns == 0) return {};
  const auto span = [](std::uint64_t count, std::ptrdiff_t stride) {
    return static_cast<std::ptrdiff_t>(count - 1) * stride;
  };
  const std::ptrdiff_t of_rows = span(view_.rows, view_.row_stride);
  const std::ptrdiff_t of_columns = span(view_.columns, view_.column_stride);
  const std::byte* const first =
      view_.first + std::min<std::ptrdiff_t>(of_rows, 0) + std::min<std::ptrdiff_t>(of_columns, 0);
  return identity_of_memory(
      first, static_cast<std::uint64_t>(std::abs(of_rows) + std::abs(of_columns)) + view_.element_bytes());
}

std::span<const std::byte> MemoryArray::stored_rows(std::uint64_t first_row, std::uint64_t count,
                                                    std::vector<std::byte>& scratch) {
  if (view_.is_c_order()) return c_ordered_rows(first_row, count);
  scratch.resize(count * row_bytes());
  if (is_string(view_.dtype)) {
    gather_strings(view_, first_row, count, scratch.data());
    return scratch;
  }
  switch (size_of(view_.dtype)) {
    case 1:
      gather<1>(view_, first_row, count, scratch.data());
      break;
    case 2:
      gather<2>(view_, first_row, count, scratch.data());
      break;
    case 4:
      gather<4>(view_, first_row, count, scratch.data());
      break;
    default:
      gather<8>(view_, first_row, count, scratch.data());
  }
  return scratch;
}

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
