#include "common/data/dtype.hpp"

#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/utf8.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kCodePointBytes = 4;

std::uint32_t code_point_at(const std::byte* place, ByteOrder order) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, place, kCodePointBytes);  // files promise no alignment
  return order == kNativeByteOrder ? bits : __builtin_bswap32(bits);
}

}  // namespace

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kInt8:
    case DType::kUint8:
      return 1;
    case DType::kInt16:
    case DType::kUint16:
    case DType::kFloat16:
      return 2;
    case DType::kInt32:
    case DType::kUint32:
    case DType::kFloat32:
      return 4;
    case DType::kInt64:
    case DType::kUint64:
    case DType::kFloat64:
      return 8;
    case DType::kBytes:
    case DType::kUnicode:
      break;
  }
  throw std::logic_error("dpreduce: internal error: a DType without a size");
}

bool is_float(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

bool is_string(DType dtype) {
  return dtype == DType::kBytes || dtype == DType::kUnicode;
}

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kInt8:
      return "int8";
    case DType::kInt16:
      return "int16";
    case DType::kInt32:
      return "int32";
    case DType::kInt64:
      return "int64";
    case DType::kUint8:
      return "uint8";
    case DType::kUint16:
      return "uint16";
    case DType::kUint32:
      return "uint32";
    case DType::kUint64:
      return "uint64";
    case DType::kFloat16:
      return "float16";
    case DType::kFloat32:
      return "float32";
    case DType::kFloat64:
      return "float64";
    case DType::kBytes:
    case DType::kUnicode:
      return "strings";
  }
  throw std::logic_error("dpreduce: internal error: unknown DType");
}

std::string to_string(const Shape& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape.front()) : fmt::format("({})", fmt::join(shape, ", "));
}

std::uint64_t byte_size(const Shape& shape, DType dtype, const std::string& name) {
  return byte_size(shape, dtype, size_of(dtype), name);
}

std::uint64_t byte_size(const Shape& shape, DType dtype, std::size_t element_bytes, const std::string& name) {
  constexpr std::uint64_t kLimit = std::numeric_limits<std::int64_t>::max();
  std::uint64_t bytes = element_bytes;
  bool empty = false;
  for (const std::uint64_t extent : shape) {
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (bytes > kLimit / extent) {
      throw BadInput(fmt::format("{}: shape {} of {} passes 2^63 bytes: the file is damaged; write it again", name,
                                 to_string(shape), to_string(dtype)));
    }
    bytes *= extent;
  }
  return empty ? 0 : bytes;
}

std::string_view stored_name(std::span<const std::byte> element, DType dtype, ByteOrder order, std::string& buffer) {
  DPREDUCE_ASSERT(is_string(dtype));
  if (dtype == DType::kBytes) {
    std::string_view text(reinterpret_cast<const char*>(element.data()), element.size());
    while (text.ends_with('\0')) text.remove_suffix(1);
    return text;
  }
  DPREDUCE_ASSERT(element.size() % kCodePointBytes == 0);
  std::size_t length = element.size() / kCodePointBytes;
  while (length > 0 && code_point_at(&element[(length - 1) * kCodePointBytes], order) == 0) --length;
  buffer.clear();
  for (std::size_t k = 0; k < length; ++k) {
    append_code_point(code_point_at(&element[k * kCodePointBytes], order), buffer);
  }
  return buffer;
}

}  // namespace dpreduce
