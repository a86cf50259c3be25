#include "common/data/stored_names.hpp"

#include <bit>
#include <cstring>

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
