// Matrices for the kernel tests: what lies between the columns and the stride must be neither read nor written.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "common/kernels/matrix_view.hpp"

namespace dpreduce {

/// Gaps hold -32768, which a kernel rejects when it reads it.
struct TestMatrix {
  TestMatrix(std::size_t row_count, std::size_t col_count, std::size_t gap,
             const std::function<std::int16_t(std::size_t, std::size_t)>& value)
      : rows(row_count),
        cols(col_count),
        stride(col_count + gap),
        values(row_count * (col_count + gap), std::numeric_limits<std::int16_t>::min()) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < cols; ++column) values[row * stride + column] = value(row, column);
    }
  }

  Int16View view() const { return {values.data(), rows, cols, stride}; }
  /// Rows [begin, end).
  Int16View view(std::size_t begin, std::size_t end) const {
    return {values.data() + begin * stride, end - begin, cols, stride};
  }

  std::size_t rows;
  std::size_t cols;
  std::size_t stride;
  std::vector<std::int16_t> values;
};

inline TestMatrix random_matrix(std::size_t rows, std::size_t cols, std::size_t gap, std::uint64_t seed,
                                int limit = 32767) {
  std::mt19937_64 bits(seed);
  std::uniform_int_distribution<int> value(-limit, limit);
  return {rows, cols, gap, [&](std::size_t, std::size_t) { return static_cast<std::int16_t>(value(bits)); }};
}

/// Sums that start from arbitrary values near the ends of int64, so that they wrap, and whose gaps are compared too.
struct TestSums {
  TestSums(std::size_t row_count, std::size_t col_count, std::size_t gap)
      : rows(row_count), cols(col_count), stride(col_count + gap), values(rows * stride) {
    for (std::size_t index = 0; index < values.size(); ++index) {
      const auto offset = static_cast<std::int64_t>(index);
      values[index] = index % 3 == 0   ? std::numeric_limits<std::int64_t>::max() - offset
                      : index % 3 == 1 ? std::numeric_limits<std::int64_t>::min() + offset
                                       : offset;
    }
  }

  Int64View view() { return {values.data(), rows, cols, stride}; }
  bool operator==(const TestSums& other) const { return values == other.values; }

  std::size_t rows;
  std::size_t cols;
  std::size_t stride;
  std::vector<std::int64_t> values;
};

}  // namespace dpreduce
