#include "common/data/dtype.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kCodePointBytes = 4;

std::uint32_t code_point_at(const std::byte* place, ByteOrder order) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, place, kCodePointBytes);  // files promise no alignment
  return order == kNativeByteOrder ? bits : byte_swapped(bits);
}

}  // namespace

const NumberType& number_type(DType dtype) {
  const auto found = std::ranges::find(kNumberTypes, dtype, &NumberType::dtype);
  DPREDUCE_ASSERT(found != kNumberTypes.end());
  return *found;
}

std::size_t size_of(DType dtype) {
  return number_type(dtype).bytes;
}

bool is_float(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

bool is_string(DType dtype) {
  return dtype == DType::kBytes || dtype == DType::kUnicode;
}

std::string_view to_string(DType dtype) {
  return is_string(dtype) ? "strings" : number_type(dtype).name;
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
      throw BadInput("{}: shape {} of {} passes 2^63 bytes: the file is damaged; write it again", name,
                     to_string(shape), to_string(dtype));
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
