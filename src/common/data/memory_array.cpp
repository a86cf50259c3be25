#include "common/data/memory_array.hpp"

#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

std::uint64_t ArrayView::rows() const {
  const std::size_t row_bytes = columns * size_of(dtype);
  DPREDUCE_ASSERT(columns >= 1 && elements.size() % row_bytes == 0);
  return elements.size() / row_bytes;
}

void check_whole_rows(std::size_t elements, std::size_t columns) {
  if (columns >= 1 && elements % columns == 0) return;
  throw UsageError(
      fmt::format("array in memory: {} elements are no whole rows of {} columns{}", elements, columns, kForOwnerOnly));
}

MemoryArray::MemoryArray(const ArrayView& view, std::string name)
    : ArrayFile(std::move(name), view.dtype, kNativeByteOrder, {view.rows(), view.columns}, size_of(view.dtype)),
      elements_(view.elements) {}

StoredFloats MemoryArray::features_in_place(std::uint64_t first_row, std::uint64_t count) const {
  DPREDUCE_ASSERT(first_row <= rows() && count <= rows() - first_row);
  return {elements_.subspan(first_row * row_bytes(), count * row_bytes()), dtype(), kNativeByteOrder};
}

FileIdentity MemoryArray::identity() const {
  FileIdentity identity;
  identity.inode = reinterpret_cast<std::uintptr_t>(elements_.data());
  identity.bytes = elements_.size();
  return identity;
}

std::span<const std::byte> MemoryArray::stored_rows(std::uint64_t first_row, std::uint64_t count,
                                                    std::vector<std::byte>&) {
  return elements_.subspan(first_row * row_bytes(), count * row_bytes());
}

}  // namespace dpreduce
