#include "common/data/element_conversion.hpp"

#include <cstring>
#include <limits>
#include <tuple>

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

// A float16 as it is stored.
struct StoredHalf {
  operator float() const { return half_to_float(bits); }
  std::uint16_t bits;
};

// out[k] = element k, which is stored as such a number. Files promise no alignment, hence memcpy.
template <typename Stored, typename Out>
void decode_all(std::span<const std::byte> stored, ByteOrder order, std::span<Out> out) {
  using Unsigned = std::tuple<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
  using Bits = std::tuple_element_t<std::countr_zero(sizeof(Stored)), Unsigned>;
  DPREDUCE_ASSERT(stored.size() == out.size() * sizeof(Bits));
  const std::byte* source = stored.data();
  const std::size_t count = out.size();
  const auto decode_each = [&](const auto& in_order) {
    for (std::size_t k = 0; k < count; ++k) {
      Bits bits;
      std::memcpy(&bits, source + k * sizeof(Bits), sizeof(Bits));
      out[k] = static_cast<Out>(std::bit_cast<Stored>(in_order(bits)));
    }
  };
  order == kNativeByteOrder ? decode_each([](Bits bits) { return bits; }) : decode_each(byte_swapped<Bits>);
}

// In the order of DType. A truth value is stored as one byte.
template <typename Out>
constexpr std::array kDecoders{
    decode_all<std::uint8_t, Out>,  decode_all<std::int8_t, Out>,   decode_all<std::int16_t, Out>,
    decode_all<std::int32_t, Out>,  decode_all<std::int64_t, Out>,  decode_all<std::uint8_t, Out>,
    decode_all<std::uint16_t, Out>, decode_all<std::uint32_t, Out>, decode_all<std::uint64_t, Out>,
    decode_all<StoredHalf, Out>,    decode_all<float, Out>,         decode_all<double, Out>};

}  // namespace

std::string to_string(const Shape& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape.front()) : fmt::format("({})", fmt::join(shape, ", "));
}

std::uint64_t byte_size(const Shape& shape, DType dtype, std::size_t element_bytes, const std::string& name) {
  constexpr std::uint64_t kLimit = std::numeric_limits<std::int64_t>::max();
  std::uint64_t bytes = element_bytes;
  for (const std::uint64_t extent : shape) {
    const std::uint64_t factor = std::max<std::uint64_t>(extent, 1);
    if (bytes > kLimit / factor) {
      throw BadInput("{}: shape {} of {} passes 2^63 bytes: the file is damaged; write it again", name,
                     to_string(shape), to_string(dtype));
    }
    bytes *= factor;
  }
  return std::ranges::count(shape, 0U) > 0 ? 0 : bytes;
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

void convert_features(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<float> out) {
  DPREDUCE_ASSERT(is_float(dtype));
  kDecoders<float>.at(static_cast<std::size_t>(dtype))(stored, order, out);
}

void convert_numbers(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<double> out) {
  kDecoders<double>.at(static_cast<std::size_t>(dtype))(stored, order, out);
}

void convert_integers(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<std::int64_t> out) {
  DPREDUCE_ASSERT(!is_float(dtype));
  kDecoders<std::int64_t>.at(static_cast<std::size_t>(dtype))(stored, order, out);
}

StoredFloats::StoredFloats(std::span<const std::byte> stored, DType dtype, ByteOrder order)
    : stored_(stored), dtype_(dtype), order_(order) {
  DPREDUCE_ASSERT(is_float(dtype) && stored.size() % size_of(dtype) == 0);
}

std::span<const float> StoredFloats::decoded(std::size_t first, std::size_t count, std::vector<float>& scratch) const {
  DPREDUCE_ASSERT(first <= size() && count <= size() - first);
  const auto wanted = stored_.subspan(first * size_of(dtype_), count * size_of(dtype_));
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(wanted.data()) % alignof(float) == 0;
  if (dtype_ == DType::kFloat32 && order_ == kNativeByteOrder && is_aligned) {
    return {reinterpret_cast<const float*>(wanted.data()), count};
  }
  if (scratch.size() < count) scratch.resize(count);
  const auto out = std::span(scratch).first(count);
  convert_features(wanted, dtype_, order_, out);
  return out;
}

void StoredFloats::prefetch(std::size_t part, std::size_t parts) const {
  constexpr std::size_t kLine = 64;
  const std::size_t end = stored_.size() * (part + 1) / parts;
  for (std::size_t byte = stored_.size() * part / parts; byte < end; byte += kLine) {
    __builtin_prefetch(stored_.data() + byte, 0, 2);
  }
}

void StoredFloats::prefetch_pages() const {
  constexpr std::size_t kPage = 4096;
  if (stored_.empty()) return;
  for (std::size_t byte = 0; byte < stored_.size(); byte += kPage) __builtin_prefetch(stored_.data() + byte, 0, 2);
  __builtin_prefetch(&stored_.back(), 0, 2);
}

}  // namespace dpreduce
