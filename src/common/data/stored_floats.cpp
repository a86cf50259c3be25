#include "common/data/stored_floats.hpp"

#include <cstdint>

#include "common/base/error.hpp"
#include "common/data/element_conversion.hpp"

namespace dpreduce {

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
