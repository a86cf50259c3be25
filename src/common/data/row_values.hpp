// Whether features in memory are numbers, before anything is done with them.
#pragma once

#include <cstdint>
#include <optional>

#include "common/data/memory_array.hpp"

namespace dpreduce {

/// The first of the rows first_row .. first_row + count - 1 with an element that no finite float is nearest to: NaN,
/// infinity, or a double of 2^128 - 2^103 or more. Elements are walked in the order in which they lie.
/// Preconditions: the rows exist; the elements are floats.
std::optional<std::uint64_t> first_row_not_finite(const ArrayView& view, std::uint64_t first_row, std::uint64_t count);

}  // namespace dpreduce
