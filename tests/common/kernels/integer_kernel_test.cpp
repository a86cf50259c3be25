#include "common/kernels/integer_kernel.hpp"

#include "tests/common/kernels/test_matrix.hpp"

namespace dpreduce::integer_kernel_test {

class KernelTest : public ::testing::TestWithParam<const IntegerKernel*> {
 protected:
  static const IntegerKernel& kernel() { return *GetParam(); }
};

// Around every vector, tile, panel and stripe size of every kernel.
constexpr std::size_t kColumnCounts[] = {0, 1, 3, 4, 5, 8, 9, 16, 17, 24, 25, 31, 33, 47, 48, 49, 64, 65, 97};
constexpr std::size_t kRowCounts[] = {0, 1, 2, 3, 15, 16, 17, 35};

TEST(ReferenceKernel, MultipliesByHand) {
  // A^T B with A = (1 2; 3 4; -5 6), B = (7; -8; 9).
  const std::vector<std::int16_t> a{1, 2, 3, 4, -5, 6};
  const std::vector<std::int16_t> b{7, -8, 9};
  std::vector<std::int64_t> c{100, 200};
  ReferenceKernel().accumulate_product({a.data(), 3, 2, 2}, {b.data(), 3, 1, 1}, {c.data(), 2, 1, 1});
  EXPECT_THAT(c, ElementsAre(100 + 7 - 24 - 45, 200 + 14 - 32 + 54));
  // A A^T of the first two rows.
  std::vector<std::int64_t> g(4);
  ReferenceKernel().accumulate_row_products({a.data(), 2, 2, 2}, {a.data(), 2, 2, 2}, {g.data(), 2, 2, 2});
  EXPECT_THAT(g, ElementsAre(5, 11, 11, 25));
}

TEST_P(KernelTest, ProductsOfAllSmallShapesEqualTheReference) {
  for (const std::size_t n : kRowCounts) {
    for (const std::size_t p : kColumnCounts) {
      for (const std::size_t q : kColumnCounts) {
        expect_product_equals_reference(kernel(), random_matrix(n, p, p % 3, n + p),
                                        random_matrix(n, q, q % 4, n + q + 1000));
      }
    }
  }
}

TEST_P(KernelTest, GramsOfAllSmallShapesEqualTheReferenceAndLeaveTheLowerTriangle) {
  for (const std::size_t n : kRowCounts) {
    for (const std::size_t p : kColumnCounts) expect_gram_equals_reference(kernel(), random_matrix(n, p, p % 3, n + p));
  }
}

TEST_P(KernelTest, RowProductsOfAllSmallShapesEqualTheReference) {
  for (const std::size_t d : kColumnCounts) {
    for (const std::size_t n : kColumnCounts) {
      for (const std::size_t m : {0, 1, 10, 50}) {
        expect_row_products_equal_reference(kernel(), random_matrix(n, d, d % 3, n + d),
                                            random_matrix(m, d, d % 4, m + d + 1000));
      }
    }
  }
}

TEST_P(KernelTest, ProductsDeeperThanABlockEqualTheReference) {
  for (const std::size_t n : {2047, 2048, 2049, 4097}) {
    const TestMatrix a = random_matrix(n, 21, 2, n, 600);
    expect_product_equals_reference(kernel(), a, random_matrix(n, 19, 1, n + 1, 600));
    expect_gram_equals_reference(kernel(), a);
    expect_row_products_equal_reference(kernel(), random_matrix(9, n, 1, n, 600), random_matrix(18, n, 0, n + 1, 600));
  }
}

TEST_P(KernelTest, ProductsWiderThanAColumnRangeEqualTheReference) {
  const TestMatrix wide = random_matrix(3, 4096 + 19, 1, 5);
  const TestMatrix narrow = random_matrix(3, 5, 1, 6);
  expect_product_equals_reference(kernel(), wide, narrow);
  expect_product_equals_reference(kernel(), narrow, wide);
  expect_row_products_equal_reference(kernel(), random_matrix(4096 + 19, 3, 1, 7), random_matrix(5, 3, 1, 8));
}

TEST_P(KernelTest, GramWiderThanAColumnRangeIsTheOuterProductOfItsRow) {
  const std::size_t d = 4096 + 5;
  const TestMatrix row = random_matrix(1, d, 0, 9);
  std::vector<std::int64_t> c(d * d);
  kernel().accumulate_gram(row.view(), {c.data(), d, d, d});
  std::size_t wrong = 0;
  for (std::size_t a = 0; a < d; ++a) {
    for (std::size_t b = 0; b < d; ++b) {
      const std::int64_t expected = a <= b ? std::int64_t{row.values[a]} * row.values[b] : 0;
      wrong += c[a * d + b] != expected;
    }
  }
  EXPECT_EQ(wrong, 0U);
}

TEST_P(KernelTest, ExtremeValuesAreExact) {
  constexpr std::size_t n = 67;
  const auto signs = [](std::size_t by_row, std::size_t by_column) {
    return [=](std::size_t row, std::size_t column) {
      return static_cast<std::int16_t>((by_row * row + by_column * column) % 2 == 0 ? 32767 : -32767);
    };
  };
  const TestMatrix all[] = {constant_matrix(n, 50, 0, 32767),
                            constant_matrix(n, 50, 0, -32767),
                            {n, 50, 0, signs(1, 0)},
                            {n, 50, 0, signs(0, 1)}};
  for (const TestMatrix& a : all) {
    expect_gram_equals_reference(kernel(), a);
    for (const TestMatrix& b : all) {
      expect_product_equals_reference(kernel(), a, b);
      expect_row_products_equal_reference(kernel(), a, b);
    }
  }
}

TEST_P(KernelTest, OneHugeColumnIsExact) {
  for (const std::size_t huge : {0, 20, 99}) {
    const TestMatrix small = random_matrix(500, 100, 0, 3, 30);
    const TestMatrix a(500, 100, 1, [&](std::size_t row, std::size_t column) {
      return column == huge ? std::int16_t{32767} : small.values[row * 100 + column];
    });
    expect_gram_equals_reference(kernel(), a);
    expect_product_equals_reference(kernel(), a, small);
    expect_product_equals_reference(kernel(), small, a);
  }
}

// Every sum of such columns meets the Cauchy-Schwarz bound with equality: n value^2 passes 2^31 within the n tried, and
// the last rows before that are where a cut one pair too late would show.
TEST_P(KernelTest, EqualColumnsAtTheEnergyBoundAreExact) {
  for (const int value : {181, 724, 1023, 1448, 2896, 8191, 8192, 11585, 16383, 16384, 23170, 32766, 32767}) {
    for (const int sign : {1, -1}) {
      for (const std::size_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 127, 129, 1024, 1100, 2048}) {
        SCOPED_TRACE(sign * value);
        expect_product_equals_reference(kernel(), constant_matrix(n, 17, 0, value),
                                        constant_matrix(n, 3, 0, sign * value));
      }
    }
  }
}

TEST_P(KernelTest, LatticeRowsAreExact) {
  for (const std::size_t d : {8, 40, 100}) {
    const int limit = static_cast<int>(32767 / std::sqrt(static_cast<double>(d)));
    expect_gram_equals_reference(kernel(), random_matrix(3001, d, 0, d, limit));
  }
}

TEST_P(KernelTest, AnyNumberOfThreadsGivesTheSameBits) {
  const TestMatrix a = random_matrix(2100, 120, 1, 41, 3000);
  const TestMatrix b = random_matrix(2100, 70, 0, 42, 3000);
  const TestMatrix rows = random_matrix(35, 120, 1, 43, 3000);
  for (const unsigned threads : {1U, 2U, 3U, 7U}) {
    expect_gram_equals_reference(kernel(), a, threads);
    expect_product_equals_reference(kernel(), a, b, threads);
    expect_row_products_equal_reference(kernel(), rows, a, threads);
  }
}

TEST_P(KernelTest, TheLowestInt16IsRejected) {
  for (const unsigned threads : {1U, 3U}) {
    for (const std::size_t bad_row : {0, 20, 36}) {
      for (const std::size_t bad_column : {0, 33, 64}) {
        const TestMatrix good = random_matrix(37, 65, 0, 51);
        TestMatrix bad = good;
        bad.values[bad_row * 65 + bad_column] = std::numeric_limits<std::int16_t>::min();
        TestSums by_columns(65, 65, 0);
        EXPECT_THROW(kernel().accumulate_gram(bad.view(), by_columns.view(), threads), std::logic_error);
        EXPECT_THROW(kernel().accumulate_product(good.view(), bad.view(), by_columns.view(), threads),
                     std::logic_error);
        TestSums by_rows(37, 37, 0);
        EXPECT_THROW(kernel().accumulate_row_products(bad.view(), good.view(), by_rows.view(), threads),
                     std::logic_error);
      }
    }
  }
}

TEST_P(KernelTest, MismatchedShapesBrokenViewsAndZeroThreadsAreRejected) {
  const TestMatrix a = random_matrix(4, 3, 0, 61);
  const TestMatrix b = random_matrix(5, 3, 0, 62);
  const TestMatrix narrow = random_matrix(5, 2, 0, 63);
  TestSums c(3, 3, 0);
  TestSums wrong(3, 4, 0);
  Int16View overlapping = a.view();
  overlapping.stride = 2;
  Int64View overlapping_sums = c.view();
  overlapping_sums.stride = 1;
  EXPECT_THROW(kernel().accumulate_product(a.view(), b.view(), c.view()), std::logic_error);
  EXPECT_THROW(kernel().accumulate_product(a.view(), a.view(), wrong.view()), std::logic_error);
  EXPECT_THROW(kernel().accumulate_gram(a.view(), wrong.view()), std::logic_error);
  EXPECT_THROW(kernel().accumulate_row_products(a.view(), narrow.view(), c.view()), std::logic_error);
  EXPECT_THROW(kernel().accumulate_row_products(a.view(), b.view(), c.view()), std::logic_error);
  EXPECT_THROW(kernel().accumulate_gram(overlapping, c.view()), std::logic_error);
  EXPECT_THROW(kernel().accumulate_product(a.view(), overlapping, c.view()), std::logic_error);
  EXPECT_THROW(kernel().accumulate_gram(a.view(), overlapping_sums), std::logic_error);
  EXPECT_THROW(kernel().accumulate_gram({nullptr, 4, 3, 3}, c.view()), std::logic_error);
  EXPECT_THROW(kernel().row_factors(overlapping), std::logic_error);
  const auto factors = kernel().row_factors(b.view());
  EXPECT_THROW(factors->accumulate(narrow.view(), c.view()), std::logic_error);
  EXPECT_THROW(factors->accumulate(a.view(), c.view()), std::logic_error);
  TestSums by_rows(4, 4, 0);
  EXPECT_THROW(kernel().accumulate_gram(a.view(), c.view(), 0), std::logic_error) << "no threads";
  EXPECT_THROW(kernel().accumulate_product(a.view(), a.view(), c.view(), 0), std::logic_error);
  EXPECT_THROW(kernel().accumulate_row_products(a.view(), a.view(), by_rows.view(), 0), std::logic_error);
}

INSTANTIATE_TEST_SUITE_P(Supported, KernelTest, ::testing::ValuesIn(kernels_to_test()), kernel_name);

TEST(KernelChoice, IsByNameOrTheLastAndOthersAreRejectedWithTheChoices) {
  EXPECT_EQ(supported_kernels().front().name(), "portable");
  EXPECT_EQ(&select_kernel(), &supported_kernels().back());
  EXPECT_EQ(&select_kernel("auto"), &supported_kernels().back());
  for (const IntegerKernel& kernel : supported_kernels()) EXPECT_EQ(&select_kernel(kernel.name()), &kernel);
  expect_refusal<UsageError>([] { select_kernel("mmx"); }, {"'mmx'", "auto, portable"});
  EXPECT_THROW(select_kernel(""), UsageError);
}

}  // namespace dpreduce::integer_kernel_test
