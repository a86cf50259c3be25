// Arrays of any bytes: refused with BadInput, or read without touching a byte outside them.
#pragma once

#include <memory>

#include "common/data/array_formats.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dpreduce {

/// The last rows of the array that `open` opens, as features or as labels: named ones, and those of class indices
/// alone.
template <typename Open>
void read_last_rows(const Open& open) {
  constexpr std::uint64_t kMaxRows = 64;
  constexpr std::uint64_t kMaxElements = 1 << 16;
  const auto read_labels = [](ArrayFile& array, std::uint64_t rows, const NamedClasses* names) {
    array.require_holds_labels(names);
    if (array.columns() > kMaxElements) return;
    std::vector<std::int32_t> labels(rows * (names == nullptr ? 1 : array.columns()));
    array.read_labels(array.rows() - rows, rows, 10, labels, names);
  };
  is_refused<BadInput>([&] {
    const std::unique_ptr<ArrayFile> array = open();
    const std::uint64_t rows = std::min(array->rows(), kMaxRows);
    if (!is_float(array->dtype())) {
      const NamedClasses names({"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
      is_refused<BadInput>([&] { read_labels(*array, rows, nullptr); });
      return read_labels(*array, rows, &names);
    }
    array->require_holds_features();
    if (array->columns() > kMaxElements) return;
    std::vector<float> features(rows * array->columns());
    array->read_features(array->rows() - rows, rows, features);
    if (const StoredFloats in_place = array->features_in_place(0, rows); !in_place.empty()) {
      std::vector<float> scratch;
      const auto floats = in_place.decoded(0, in_place.size(), scratch);
      std::vector<float> copy(floats.begin(), floats.end());
    }
  });
}

}  // namespace dpreduce
