// Matrices for the kernel tests: what lies between the columns and the stride must be neither read nor written.
#pragma once

#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/matrix_view.hpp"
#include "tests/common/kernels/reference_kernel.hpp"
#include "tests/testing.hpp"

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

inline TestMatrix constant_matrix(std::size_t rows, std::size_t cols, std::size_t gap, int value) {
  return {rows, cols, gap, [=](std::size_t, std::size_t) { return static_cast<std::int16_t>(value); }};
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

/// The sums A^T B, A^T A and A B^T of a kernel are those of the reference.
inline void expect_product_equals_reference(const IntegerKernel& kernel, const TestMatrix& a, const TestMatrix& b,
                                            unsigned threads = 1) {
  TestSums actual(a.cols, b.cols, 3);
  TestSums expected = actual;
  kernel.accumulate_product(a.view(), b.view(), actual.view(), threads);
  ReferenceKernel().accumulate_product(a.view(), b.view(), expected.view());
  EXPECT_TRUE(actual == expected) << "product " << a.rows << " x " << a.cols << " by " << b.cols;
}
inline void expect_gram_equals_reference(const IntegerKernel& kernel, const TestMatrix& a, unsigned threads = 1) {
  TestSums actual(a.cols, a.cols, 3);
  TestSums expected = actual;
  kernel.accumulate_gram(a.view(), actual.view(), threads);
  ReferenceKernel().accumulate_gram(a.view(), expected.view());
  EXPECT_TRUE(actual == expected) << "gram " << a.rows << " x " << a.cols;
}
inline void expect_row_products_equal_reference(const IntegerKernel& kernel, const TestMatrix& a, const TestMatrix& b,
                                                unsigned threads = 1) {
  TestSums actual(a.rows, b.rows, 3);
  TestSums expected = actual;
  kernel.accumulate_row_products(a.view(), b.view(), actual.view(), threads);
  ReferenceKernel().accumulate_row_products(a.view(), b.view(), expected.view());
  EXPECT_TRUE(actual == expected) << "row products " << a.rows << " by " << b.rows << ", " << a.cols << " columns";
}

inline std::vector<const IntegerKernel*> kernels_to_test() {
  std::vector<const IntegerKernel*> kernels;
  for (const IntegerKernel& kernel : supported_kernels()) kernels.push_back(&kernel);
  return kernels;
}

inline std::string kernel_name(const testing::TestParamInfo<const IntegerKernel*>& parameter) {
  std::string name(parameter.param->name());
  std::erase(name, '-');
  return name;
}

}  // namespace dpreduce
