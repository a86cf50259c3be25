#include "common/data/element_conversion.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

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

namespace {

// out[k] = decode(bits of element k). Files promise no alignment, hence memcpy.
template <typename Bits, typename Out, typename Decode>
void decode_all(std::span<const std::byte> stored, ByteOrder order, std::span<Out> out, Decode decode) {
  DPREDUCE_ASSERT(stored.size() == out.size() * sizeof(Bits));
  const std::byte* source = stored.data();
  const std::size_t count = out.size();
  const auto decode_each = [&](const auto& in_order) {
    for (std::size_t k = 0; k < count; ++k) {
      Bits bits;
      std::memcpy(&bits, source + k * sizeof(Bits), sizeof(Bits));
      out[k] = decode(in_order(bits));
    }
  };
  order == kNativeByteOrder ? decode_each([](Bits bits) { return bits; }) : decode_each(byte_swapped<Bits>);
}

// An integer v is in 0 .. classes - 1 exactly where, read as unsigned 64-bit after sign extension, it is < classes.
template <typename Integer>
std::optional<BadLabel> decode_labels(std::span<const std::byte> stored, ByteOrder order, std::uint64_t classes,
                                      std::span<std::int32_t> out) {
  using Bits = std::make_unsigned_t<Integer>;
  DPREDUCE_ASSERT(stored.size() == out.size() * sizeof(Bits));
  for (std::size_t k = 0; k < out.size(); ++k) {
    Bits bits;
    std::memcpy(&bits, stored.data() + k * sizeof(Bits), sizeof(Bits));
    const Integer value = static_cast<Integer>(order == kNativeByteOrder ? bits : byte_swapped(bits));
    const auto extended = static_cast<std::uint64_t>(value);
    if (extended >= classes) return BadLabel{k, std::to_string(value)};
    out[k] = static_cast<std::int32_t>(extended);
  }
  return std::nullopt;
}

// visit(Integer{}) for the integers of that type; a truth value is stored as one byte.
template <typename Visit>
auto of_integer_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kInt8:
      return visit(std::int8_t{});
    case DType::kInt16:
      return visit(std::int16_t{});
    case DType::kInt32:
      return visit(std::int32_t{});
    case DType::kInt64:
      return visit(std::int64_t{});
    case DType::kUint16:
      return visit(std::uint16_t{});
    case DType::kUint32:
      return visit(std::uint32_t{});
    case DType::kUint64:
      return visit(std::uint64_t{});
    default:
      return visit(std::uint8_t{});
  }
}

template <typename Out>
void decode_floats(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<Out> out) {
  DPREDUCE_ASSERT(is_float(dtype));
  switch (dtype) {
    case DType::kFloat16:
      return decode_all<std::uint16_t>(stored, order, out, [](auto b) { return static_cast<Out>(half_to_float(b)); });
    case DType::kFloat32:
      return decode_all<std::uint32_t>(stored, order, out,
                                       [](auto b) { return static_cast<Out>(std::bit_cast<float>(b)); });
    default:
      return decode_all<std::uint64_t>(stored, order, out,
                                       [](auto b) { return static_cast<Out>(std::bit_cast<double>(b)); });
  }
}

template <typename Out>
void decode_integers(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<Out> out) {
  of_integer_type(dtype, [&]<typename Integer>(Integer) {
    using Bits = std::make_unsigned_t<Integer>;
    decode_all<Bits>(stored, order, out, [](Bits b) { return static_cast<Out>(static_cast<Integer>(b)); });
  });
}

}  // namespace

void convert_features(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<float> out) {
  decode_floats(stored, dtype, order, out);
}

void convert_numbers(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<double> out) {
  is_float(dtype) ? decode_floats(stored, dtype, order, out) : decode_integers(stored, dtype, order, out);
}

void convert_integers(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<std::int64_t> out) {
  DPREDUCE_ASSERT(!is_float(dtype));
  decode_integers(stored, dtype, order, out);
}

std::optional<BadLabel> convert_labels(std::span<const std::byte> stored, DType dtype, ByteOrder order,
                                       std::uint64_t classes, std::span<std::int32_t> out) {
  DPREDUCE_ASSERT(!is_float(dtype));
  DPREDUCE_ASSERT(classes >= 1 && classes <= std::numeric_limits<std::int32_t>::max());
  return of_integer_type(
      dtype, [&]<typename Integer>(Integer) { return decode_labels<Integer>(stored, order, classes, out); });
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
