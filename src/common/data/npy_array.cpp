#include "common/data/npy_array.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

NpyArray::NpyArray(const std::string& path) : NpyArray(MappedFile(path), path) {}

NpyArray::NpyArray(MappedFile file, const std::string& name) : NpyArray(file.bytes(), name) {
  file_ = std::move(file);
}

NpyArray::NpyArray(std::span<const std::byte> bytes, const std::string& name)
    : NpyArray(bytes, name, parse_npy_header(bytes, name)) {}

NpyArray::NpyArray(std::span<const std::byte> bytes, const std::string& name, NpyHeader header)
    : ArrayFile(name, header.dtype, header.byte_order, header.shape, header.element_bytes), header_(std::move(header)) {
  const std::uint64_t wanted = byte_size(header_.shape, header_.dtype, header_.element_bytes, name);
  elements_ = bytes.subspan(header_.data_offset);
  if (elements_.size() != wanted) {
    throw BadInput(fmt::format("{}: holds {} bytes of elements where its shape {} of {} needs {}; {}{}", name,
                               elements_.size(), to_string(header_.shape), to_string(header_.dtype), wanted,
                               elements_.size() < wanted ? "it was cut short: write or copy it again"
                                                         : "something was appended: write it again",
                               kForOwnerOnly));
  }
}

StoredFloats NpyArray::features_in_place(std::uint64_t first_row, std::uint64_t count) const {
  DPREDUCE_ASSERT(first_row <= rows() && count <= rows() - first_row);
  if (header_.memory_order != MemoryOrder::kC) return {};
  return {elements_.subspan(first_row * row_bytes(), count * row_bytes()), header_.dtype, header_.byte_order};
}

void NpyArray::expect_rows(std::uint64_t first_row, std::uint64_t count) const {
  DPREDUCE_ASSERT(first_row <= rows() && count <= rows() - first_row);
  if (!file_ || header_.memory_order != MemoryOrder::kC) return;
  file_->expect(header_.data_offset + first_row * row_bytes(), count * row_bytes());
}

void NpyArray::release_rows(std::uint64_t first_row, std::uint64_t count) const {
  DPREDUCE_ASSERT(first_row <= rows() && count <= rows() - first_row);
  if (!file_) return;
  if (header_.memory_order == MemoryOrder::kC) {
    file_->release(header_.data_offset + first_row * row_bytes(), count * row_bytes());
  } else if (first_row + count == rows()) {
    file_->release(header_.data_offset, elements_.size());
  }
}

std::span<const std::byte> NpyArray::stored_rows(std::uint64_t first_row, std::uint64_t count,
                                                 std::vector<std::byte>& scratch) {
  const bool rows_are_contiguous = header_.memory_order == MemoryOrder::kC || columns() == 1;
  if (rows_are_contiguous) return elements_.subspan(first_row * row_bytes(), count * row_bytes());

  // Element (r, a) of a Fortran-ordered n x d array is number a n + r; in C order it is number r d + a.
  DPREDUCE_ASSERT(shape().size() == 2);
  const std::size_t element = header_.element_bytes;
  scratch.resize(count * row_bytes());
  for (std::uint64_t column = 0; column < columns(); ++column) {
    const std::byte* source = elements_.data() + (column * rows() + first_row) * element;
    std::byte* target = scratch.data() + column * element;
    for (std::uint64_t row = 0; row < count; ++row) {
      std::memcpy(target + row * row_bytes(), source + row * element, element);
    }
  }
  return scratch;
}

}  // namespace dpreduce
