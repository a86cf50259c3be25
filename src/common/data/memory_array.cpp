#include "common/data/memory_array.hpp"

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// So many rows are gathered at a time: what is written stays in the cache while the columns are walked.
constexpr std::uint64_t kGatheredRows = 64;

// out <- `count` rows from first_row on, in C order. Size: bytes of an element; 0 of strings, whose view says it.
template <std::size_t Size>
void gather(const ArrayView& view, std::uint64_t first_row, std::uint64_t count, std::byte* out) {
  const std::byte* const rows = view.first + static_cast<std::ptrdiff_t>(first_row) * view.row_stride;
  const std::size_t size = Size > 0 ? Size : view.string_bytes;
  const std::size_t row_bytes = view.columns * size;
  if (view.column_stride == static_cast<std::ptrdiff_t>(size)) {
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
        std::memcpy(out + row * row_bytes + column * size, source + static_cast<std::ptrdiff_t>(row) * view.row_stride,
                    size);
      }
    }
  }
}

}  // namespace

bool ArrayView::is_c_order() const {
  const auto element = static_cast<std::ptrdiff_t>(element_bytes());
  const bool are_columns_tight = columns == 1 || column_stride == element;
  return are_columns_tight && (rows <= 1 || row_stride == static_cast<std::ptrdiff_t>(columns) * element);
}

void require_whole_rows(std::size_t elements, std::size_t columns) {
  if (columns >= 1 && elements % columns == 0) return;
  throw UsageError("array in memory: {} elements are not whole rows of {} columns{}", elements, columns, kForOwnerOnly);
}

ArrayView rows_in_c_order(std::span<const std::byte> elements, DType dtype, std::size_t columns,
                          std::size_t string_bytes) {
  const std::size_t element = is_string(dtype) ? string_bytes : size_of(dtype);
  return {.first = elements.data(),
          .dtype = dtype,
          .rows = elements.size() / (columns * element),
          .columns = columns,
          .row_stride = static_cast<std::ptrdiff_t>(columns * element),
          .column_stride = static_cast<std::ptrdiff_t>(element),
          .string_bytes = string_bytes};
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
  constexpr std::array kGathers{gather<1>, gather<2>, gather<4>, gather<8>};
  const auto gather_rows = is_string(view_.dtype)
                               ? gather<0>
                               : kGathers.at(static_cast<std::size_t>(std::countr_zero(size_of(view_.dtype))));
  gather_rows(view_, first_row, count, scratch.data());
  return scratch;
}

}  // namespace dpreduce
