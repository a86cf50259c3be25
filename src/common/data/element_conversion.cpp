#include "common/data/element_conversion.hpp"

#include <cstring>
#include <limits>
#include <type_traits>

#include "common/base/error.hpp"

namespace dpreduce {
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

}  // namespace

void convert_features(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<float> out) {
  DPREDUCE_ASSERT(is_float(dtype));
  switch (dtype) {
    case DType::kFloat16:
      return decode_all<std::uint16_t>(stored, order, out, [](std::uint16_t b) { return half_to_float(b); });
    case DType::kFloat32:
      return decode_all<std::uint32_t>(stored, order, out, [](std::uint32_t b) { return std::bit_cast<float>(b); });
    default:
      return decode_all<std::uint64_t>(stored, order, out,
                                       [](std::uint64_t b) { return static_cast<float>(std::bit_cast<double>(b)); });
  }
}

void convert_numbers(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<double> out) {
  const auto integers = [&]<typename Integer>(Integer) {
    using Bits = std::make_unsigned_t<Integer>;
    decode_all<Bits>(stored, order, out, [](Bits b) { return static_cast<double>(static_cast<Integer>(b)); });
  };
  switch (dtype) {
    case DType::kFloat16:
      return decode_all<std::uint16_t>(stored, order, out, [](std::uint16_t b) { return double{half_to_float(b)}; });
    case DType::kFloat32:
      return decode_all<std::uint32_t>(stored, order, out,
                                       [](std::uint32_t b) { return double{std::bit_cast<float>(b)}; });
    case DType::kFloat64:
      return decode_all<std::uint64_t>(stored, order, out, [](std::uint64_t b) { return std::bit_cast<double>(b); });
    default:
      return of_integer_type(dtype, integers);
  }
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
