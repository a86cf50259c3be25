// Floats as a file or memory holds them, decoded where they are used: no float32 copy of all of them is ever made.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/data/dtype.hpp"

namespace dpreduce {

/// A view, valid as long as what it looks at.
class StoredFloats {
 public:
  StoredFloats() = default;
  /// Native floats in memory.
  StoredFloats(std::span<const float> floats)
      : StoredFloats(std::as_bytes(floats), DType::kFloat32, kNativeByteOrder) {}
  StoredFloats(const std::vector<float>& floats) : StoredFloats(std::span(floats)) {}
  /// Preconditions (asserted): a float type; a whole number of elements.
  StoredFloats(std::span<const std::byte> stored, DType dtype, ByteOrder order);

  std::size_t size() const { return stored_.size() / size_of(dtype_); }
  bool empty() const { return stored_.empty(); }

  /// Elements first .. first + count - 1, rounded as convert_features does: where they lie, if these are aligned native
  /// floats; else in `scratch`, which grows as needed. Precondition (asserted): they exist.
  std::span<const float> decoded(std::size_t first, std::size_t count, std::vector<float>& scratch) const;

  /// Advice: that part of so many equal ones is read soon.
  void prefetch(std::size_t part, std::size_t parts) const;
  /// Advice: that something of each page of them is read soon. Asked for many rows at once, the processor looks up
  /// where their pages are side by side.
  void prefetch_pages() const;

 private:
  std::span<const std::byte> stored_;
  DType dtype_ = DType::kFloat32;
  ByteOrder order_ = kNativeByteOrder;
};

}  // namespace dpreduce
