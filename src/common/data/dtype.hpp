// Element types that files may hold, and how their bytes lie.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dpreduce {

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

/// A type of numbers: its names in NumPy and in .npy files, and bytes an element.
struct NumberType {
  DType dtype;
  std::string_view name;
  std::string_view code;
  std::size_t bytes;
};

inline constexpr std::array<NumberType, 12> kNumberTypes{{{DType::kBool, "bool", "b1", 1},
                                                          {DType::kInt8, "int8", "i1", 1},
                                                          {DType::kInt16, "int16", "i2", 2},
                                                          {DType::kInt32, "int32", "i4", 4},
                                                          {DType::kInt64, "int64", "i8", 8},
                                                          {DType::kUint8, "uint8", "u1", 1},
                                                          {DType::kUint16, "uint16", "u2", 2},
                                                          {DType::kUint32, "uint32", "u4", 4},
                                                          {DType::kUint64, "uint64", "u8", 8},
                                                          {DType::kFloat16, "float16", "f2", 2},
                                                          {DType::kFloat32, "float32", "f4", 4},
                                                          {DType::kFloat64, "float64", "f8", 8}}};

/// Precondition (asserted): of a number.
const NumberType& number_type(DType dtype);

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
std::size_t size_of(DType dtype);

bool is_float(DType dtype);
bool is_string(DType dtype);

/// NumPy's name, such as "float32"; of strings "strings".
std::string_view to_string(DType dtype);

/// The shape as Python prints a tuple: "(60000, 784)", "(10,)", "()".
std::string to_string(const Shape& shape);

/// Returns (product of extents) * element_bytes; 0 where an extent is 0.
/// Throws BadInput naming `name` where the product of the extents that are not 0 passes 2^63 - 1 bytes.
std::uint64_t byte_size(const Shape& shape, DType dtype, std::size_t element_bytes, const std::string& name);

/// The same of numbers.
std::uint64_t byte_size(const Shape& shape, DType dtype, const std::string& name);

/// The text of one element of strings, without the zeros that fill it up. Bytes are taken as they are; what is no code
/// point becomes U+FFFD. The result lies in `element` or in `buffer`. Preconditions (asserted): is_string(dtype); of
/// kUnicode whole code points.
std::string_view stored_name(std::span<const std::byte> element, DType dtype, ByteOrder order, std::string& buffer);

}  // namespace dpreduce
