// An array that the caller holds in memory, read where it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "common/data/array_file.hpp"

namespace dpreduce {

/// n rows of `columns` elements, wherever each lies: element (r, a) is that at first + r row_stride + a column_stride.
/// Valid as long as what it looks at.
struct ArrayView {
  const std::byte* first = nullptr;  ///< element (0, 0); of no elements, anything
  DType dtype = DType::kFloat32;
  std::uint64_t rows = 0;  ///< n
  std::size_t columns = 1;
  std::ptrdiff_t row_stride = 0;     ///< bytes from a row to the next; negative where rows lie backwards
  std::ptrdiff_t column_stride = 0;  ///< the same of columns
  ByteOrder byte_order = kNativeByteOrder;
  std::size_t string_bytes = 0;  ///< of a string
  bool is_text = false;  ///< integers and strings were cells of one text table, of whichever type all its cells are

  /// Bytes of an element.
  std::size_t element_bytes() const { return is_string(dtype) ? string_bytes : size_of(dtype); }
  /// Returns whether the elements lie in C order without gaps.
  bool is_c_order() const;
};

/// Rows of `columns` numbers in C order. Throws UsageError unless columns >= 1 and these are whole rows of them.
ArrayView rows_in_c_order(std::span<const std::byte> elements, DType dtype, std::size_t columns);

/// `elements`, row-major, as n rows of `columns`: features, class indices (one column) or zeros and ones for each
/// class. They outlive the view: a container that dies with the statement does not compile. Throws as
/// rows_in_c_order.
template <std::ranges::contiguous_range Elements>
requires std::ranges::borrowed_range<Elements> ArrayView array_view(Elements&& elements, std::size_t columns = 1) {
  using Element = std::remove_cvref_t<std::ranges::range_reference_t<Elements>>;
  const std::span<const Element> view(std::ranges::data(elements), std::ranges::size(elements));
  return rows_in_c_order(std::as_bytes(view), dtype_of<Element>(), columns);
}

class MemoryArray : public ArrayFile {
 public:
  /// `view` stays valid as long as this object. `name` is for messages.
  MemoryArray(const ArrayView& view, std::string name);

  StoredFloats features_in_place(std::uint64_t first_row, std::uint64_t count) const override;
  /// The identity of all memory from the first to the last of its bytes (identity_of_memory).
  FileIdentity identity() const override;
  bool is_text() const override { return view_.is_text; }

 protected:
  /// `shape` is that of the array, whose view this is.
  MemoryArray(const ArrayView& view, std::string name, Shape shape);
  const ArrayView& view() const { return view_; }

 private:
  std::span<const std::byte> stored_rows(std::uint64_t first_row, std::uint64_t count,
                                         std::vector<std::byte>& scratch) override;
  std::span<const std::byte> c_ordered_rows(std::uint64_t first_row, std::uint64_t count) const;

  ArrayView view_;
};

}  // namespace dpreduce
