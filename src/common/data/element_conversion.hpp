// Conversion of stored elements of arrays to the types of computation.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/data/dtype.hpp"

namespace dpreduce {

// Stored elements to the two types that the rest of the program computes with: float features, int32 labels.

// IEEE 754 binary16 to and from binary32, without an instruction set in it; both loops vectorize. A half is (sign 1
// bit, exponent 5 bits biased by 15, fraction 10 bits); a float is (1, 8 biased by 127, 23).

/// Returns the float equal to the half: exact, subnormals included; infinities and NaNs stay what they are.
inline float half_to_float(std::uint16_t half) {
  // Shifted into a float's fields the number is 2^-112 = 2^(15 - 127) times too small; the product is exact.
  const std::uint32_t shifted = (half & 0x7fffu) << 13;
  const float magnitude = std::bit_cast<float>(shifted) * 0x1p112f;
  const std::uint32_t not_finite = (half & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | not_finite | (half & 0x8000u) << 16);
}

/// Returns the half nearest to the float, ties to even; from 65520 up infinity; a NaN stays a NaN.
inline std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520
  if (magnitude < 0x38800000u) {                                                    // below 2^-14: a subnormal half
    // Adding 0.5 rounds |value| to a multiple of 2^-24, the unit of subnormal halves, with ties to even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  // Rebias by 112 and round away 13 bits, ties to even; a carry moves into the exponent, as it should.
  const std::uint32_t odd = magnitude >> 13 & 1u;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

/// Writes out[k] = element k as a float: exact from float16 and float32; from float64 rounded to nearest, and beyond
/// the range of a float an infinity (which later counts as a bad row). Each element alone decides its result.
/// Preconditions (asserted): dtype is a float type; `stored` holds out.size() elements.
void convert_features(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<float> out);

/// Writes out[k] = element k as a double: exact but for integers beyond 2^53, which are rounded to nearest.
/// Preconditions (asserted): dtype is no string type; `stored` holds out.size() elements.
void convert_numbers(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<double> out);

/// A label that is no class index.
struct BadLabel {
  std::size_t index;  ///< of the element
  std::string value;  ///< in decimal
};

/// Writes out[k] = element k and returns nothing; or returns the first element outside 0 .. classes - 1.
/// Preconditions (asserted): dtype is bool or an integer type; `stored` holds out.size() elements;
/// 1 <= classes < 2^31.
std::optional<BadLabel> convert_labels(std::span<const std::byte> stored, DType dtype, ByteOrder order,
                                       std::uint64_t classes, std::span<std::int32_t> out);

// Floats as a file or memory holds them, decoded where they are used: no float32 copy of all of them is ever made.

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
