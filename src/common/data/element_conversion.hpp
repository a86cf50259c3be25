// Conversion of stored elements of arrays to the types of computation.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dpreduce {

// Element types that files may hold, and how their bytes lie.

enum class DType {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBytes,   ///< strings of so many bytes, filled up with zero bytes
  kUnicode  ///< strings of so many code points of 4 bytes, filled up with zeros
};

/// A type of numbers: its names in NumPy and in .npy files, bytes an element, and its name in .safetensors files.
struct NumberType {
  DType dtype;
  std::string_view name;
  std::string_view code;
  std::size_t bytes;
  std::string_view tensor;
};

/// In the order of DType.
inline constexpr std::array<NumberType, 12> kNumberTypes{{{DType::kBool, "bool", "b1", 1, "BOOL"},
                                                          {DType::kInt8, "int8", "i1", 1, "I8"},
                                                          {DType::kInt16, "int16", "i2", 2, "I16"},
                                                          {DType::kInt32, "int32", "i4", 4, "I32"},
                                                          {DType::kInt64, "int64", "i8", 8, "I64"},
                                                          {DType::kUint8, "uint8", "u1", 1, "U8"},
                                                          {DType::kUint16, "uint16", "u2", 2, "U16"},
                                                          {DType::kUint32, "uint32", "u4", 4, "U32"},
                                                          {DType::kUint64, "uint64", "u8", 8, "U64"},
                                                          {DType::kFloat16, "float16", "f2", 2, "F16"},
                                                          {DType::kFloat32, "float32", "f4", 4, "F32"},
                                                          {DType::kFloat64, "float64", "f8", 8, "F64"}}};

/// The type of elements that files and memory hold alike: bool, integers of 8 to 64 bits, float and double.
template <typename T>
requires std::is_arithmetic_v<T> &&(sizeof(T) <= 8) constexpr DType dtype_of() {
  constexpr char kKind = std::same_as<T, bool> ? 'b' : std::floating_point<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  return std::ranges::find_if(
             kNumberTypes, [](const NumberType& type) { return type.code.front() == kKind && type.bytes == sizeof(T); })
      ->dtype;
}

/// Precondition (asserted): of a number.
inline const NumberType& number_type(DType dtype) {
  return kNumberTypes.at(static_cast<std::size_t>(dtype));
}

enum class ByteOrder { kLittle, kBig };

/// This machine's.
inline constexpr ByteOrder kNativeByteOrder =
    std::endian::native == std::endian::little ? ByteOrder::kLittle : ByteOrder::kBig;

template <std::unsigned_integral Bits>
Bits byte_swapped(Bits bits) {
  if constexpr (sizeof(Bits) == 2) return __builtin_bswap16(bits);
  if constexpr (sizeof(Bits) == 4) return __builtin_bswap32(bits);
  if constexpr (sizeof(Bits) == 8) return __builtin_bswap64(bits);
  return bits;
}

/// kC: the last index varies fastest (rows are contiguous). kFortran: the first does.
enum class MemoryOrder { kC, kFortran };

/// Extents, slowest first; entry 0 counts rows.
using Shape = std::vector<std::uint64_t>;

/// Bytes an element. Precondition (asserted): of a number; how long a string is, its array says.
inline std::size_t size_of(DType dtype) {
  return number_type(dtype).bytes;
}

constexpr bool is_float(DType dtype) {
  return dtype >= DType::kFloat16 && dtype <= DType::kFloat64;
}
constexpr bool is_string(DType dtype) {
  return dtype >= DType::kBytes;
}

/// NumPy's name, such as "float32"; of strings "strings".
inline std::string_view to_string(DType dtype) {
  return is_string(dtype) ? "strings" : number_type(dtype).name;
}

/// The shape as Python prints a tuple: "(60000, 784)", "(10,)", "()".
std::string to_string(const Shape& shape);

/// Returns (product of extents) * element_bytes; 0 where an extent is 0.
/// Throws BadInput naming `name` where the product of the extents that are not 0 passes 2^63 - 1 bytes.
std::uint64_t byte_size(const Shape& shape, DType dtype, std::size_t element_bytes, const std::string& name);

/// The text of one element of strings, without the zeros that fill it up. Bytes are taken as they are; what is no code
/// point becomes U+FFFD. The result lies in `element` or in `buffer`. Preconditions (asserted): is_string(dtype); of
/// kUnicode whole code points.
std::string_view stored_name(std::span<const std::byte> element, DType dtype, ByteOrder order, std::string& buffer);

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

/// Writes out[k] = element k, a truth value as 0 or 1; unsigned numbers of 2^63 and more as 2^64 less.
/// Preconditions (asserted): dtype is bool or an integer type; `stored` holds out.size() elements.
void convert_integers(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<std::int64_t> out);

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
