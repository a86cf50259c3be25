#include "common/data/memory_array.hpp"

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/base/error.hpp"
#include "common/data/array_formats.hpp"

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

// The elements as rows. Products that overflow are refused by ArrayFile, before anything is read.
ArrayView view_of(const ArrayLayout& layout, const std::byte* first) {
  ArrayView view{.first = first,
                 .dtype = layout.dtype,
                 .rows = layout.shape.empty() ? 0 : layout.shape.front(),
                 .byte_order = layout.byte_order,
                 .string_bytes = layout.element_bytes,
                 .is_text = layout.is_text};
  for (std::size_t axis = 1; axis < layout.shape.size(); ++axis) view.columns *= layout.shape[axis];
  const bool has_rows = layout.memory_order == MemoryOrder::kC;
  view.row_stride = static_cast<std::ptrdiff_t>((has_rows ? view.columns : 1) * layout.element_bytes);
  view.column_stride = static_cast<std::ptrdiff_t>((has_rows ? 1 : view.rows) * layout.element_bytes);
  return view;
}

// Elements in a mapped file, or unpacked from it.
class FileArray final : public MemoryArray {
 public:
  FileArray(StoredBytes bytes, const std::string& name, const std::string& path, const ArrayLayout& layout,
            std::vector<std::string> column_names)
      : MemoryArray(view_of(layout, bytes.bytes().data() + layout.data_offset), name, layout.shape),
        stored_(std::move(bytes)),
        first_element_(stored_.offset + layout.data_offset),
        path_(path),
        column_names_(std::move(column_names)) {
    const std::uint64_t held = stored_.bytes().size() - layout.data_offset;
    const std::uint64_t wanted = byte_size(layout.shape, layout.dtype, layout.element_bytes, name);
    if (held == wanted) return;
    throw BadInput(
        "{}: holds {} bytes of elements where its shape {} of {} needs {}; {}{}", name, held, to_string(layout.shape),
        to_string(layout.dtype), wanted,
        held < wanted ? "it was cut short: write or copy it again" : "something was appended: write it again",
        kForOwnerOnly);
  }

  void expect_rows(std::uint64_t first_row, std::uint64_t count) const override {
    if (stored_.is_packed || !view().is_c_order()) return;
    stored_.file.expect(first_element_ + first_row * row_bytes(), count * row_bytes());
  }

  void release_rows(std::uint64_t first_row, std::uint64_t count) const override {
    if (stored_.is_packed) return;
    if (view().is_c_order()) {
      stored_.file.release(first_element_ + first_row * row_bytes(), count * row_bytes());
    } else if (first_row + count == rows()) {
      stored_.file.release(first_element_, rows() * row_bytes());
    }
  }

  FileIdentity identity() const override { return file_identity(path_, stored_.offset); }
  std::vector<std::string> column_names() const override { return column_names_; }
  // But where it was unpacked into memory.
  std::uint64_t held_bytes() const override { return stored_.unpacked.size(); }

 private:
  StoredBytes stored_;
  std::size_t first_element_;  // its place in the file
  std::string path_;
  std::vector<std::string> column_names_;
};

}  // namespace

bool ArrayView::is_c_order() const {
  const auto element = static_cast<std::ptrdiff_t>(element_bytes());
  const bool are_columns_tight = columns == 1 || column_stride == element;
  return are_columns_tight && (rows <= 1 || row_stride == static_cast<std::ptrdiff_t>(columns) * element);
}

ArrayView rows_in_c_order(std::span<const std::byte> elements, DType dtype, std::size_t columns) {
  const std::size_t row_bytes = columns * size_of(dtype);
  if (columns == 0 || elements.size() % row_bytes != 0) {
    throw UsageError("array in memory: {} elements are not whole rows of {} columns{}",
                     elements.size() / size_of(dtype), columns, kForOwnerOnly);
  }
  return {.first = elements.data(),
          .dtype = dtype,
          .rows = elements.size() / row_bytes,
          .columns = columns,
          .row_stride = static_cast<std::ptrdiff_t>(row_bytes),
          .column_stride = static_cast<std::ptrdiff_t>(size_of(dtype))};
}

MemoryArray::MemoryArray(const ArrayView& view, std::string name)
    : MemoryArray(view, std::move(name), {view.rows, view.columns}) {}

MemoryArray::MemoryArray(const ArrayView& view, std::string name, Shape shape)
    : ArrayFile(std::move(name), view.dtype, view.byte_order, std::move(shape), view.element_bytes()), view_(view) {}

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

std::unique_ptr<ArrayFile> open_elements(StoredBytes bytes, const std::string& name, const std::string& path,
                                         const ArrayLayout& layout, std::vector<std::string> column_names) {
  return std::make_unique<FileArray>(std::move(bytes), name, path, layout, std::move(column_names));
}

}  // namespace dpreduce
