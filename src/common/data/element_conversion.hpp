// Stored elements to the two types that the rest of the program computes with: float features, int32 labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/data/dtype.hpp"

namespace dpreduce {

/// Writes out[k] = element k as a float: exact from float16 and float32; from float64 rounded to nearest, and beyond
/// the range of a float an infinity (which later counts as a bad row). Each element alone decides its result.
/// Preconditions (asserted): dtype is a float type; `stored` holds out.size() elements.
void convert_features(std::span<const std::byte> stored, DType dtype, ByteOrder order, std::span<float> out);

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

}  // namespace dpreduce
