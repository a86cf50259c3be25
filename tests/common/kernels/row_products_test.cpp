// Products that pack nothing large, by every kernel: around each tile, stripe and block, and at the bounds of int32.
#include "common/kernels/packed_panels.hpp"
#include "tests/common/kernels/test_matrix.hpp"

namespace dpreduce::row_products_test {

class RowProductsTest : public ::testing::TestWithParam<const IntegerKernel*> {};

TEST_P(RowProductsTest, DotsOfLongRowsEqualTheReference) {
  for (const std::size_t d : {127, 128, 129, 255, 256, 257, 300, 511, 513}) {
    for (const std::size_t n : {1, 2, 3, 4, 49}) {
      for (const std::size_t m : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 25, 129}) {
        expect_row_products_equal_reference(*GetParam(), random_matrix(n, d, d % 3, n + d),
                                            random_matrix(m, d, d % 4, m + d + 1000, 900));
      }
    }
  }
}

TEST_P(RowProductsTest, DotsLongerThanARangeEqualTheReference) {
  for (const std::size_t d : {8191, 8192, 8193, 8500}) {
    for (const int limit : {20, 700, 32767}) {
      expect_row_products_equal_reference(*GetParam(), random_matrix(7, d, 1, d, limit),
                                          random_matrix(10, d, 0, d + 1, 32767));
    }
  }
}

// Every lane of such rows meets the Cauchy-Schwarz bound with equality.
TEST_P(RowProductsTest, DotsOfEqualRowsAtTheEnergyBoundAreExact) {
  for (const int value : {181, 724, 1023, 1448, 2896, 8191, 8192, 11585, 16383, 16384, 23170, 32766, 32767}) {
    for (const int sign : {1, -1}) {
      for (const std::size_t d : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1296, 2050}) {
        SCOPED_TRACE(sign * value);
        expect_row_products_equal_reference(*GetParam(), constant_matrix(4, d, 1, value),
                                            constant_matrix(9, d, 1, sign * value));
      }
    }
  }
}

// One value has all of a row's energy: its lane alone comes near the bound.
TEST_P(RowProductsTest, DotsOfRowsWithOneHugeValueAreExact) {
  const TestMatrix b = random_matrix(10, 600, 0, 2);
  for (const std::size_t huge : {0, 31, 32, 300, 599}) {
    const TestMatrix small = random_matrix(5, 600, 0, 3, 200);
    const TestMatrix a(5, 600, 1, [&](std::size_t row, std::size_t column) {
      return column == huge ? std::int16_t{-32767} : small.values[row * 600 + column];
    });
    expect_row_products_equal_reference(*GetParam(), a, b);
    expect_row_products_equal_reference(*GetParam(), b, a);
  }
}

TEST_P(RowProductsTest, OuterProductsOfAllSmallShapesEqualTheReference) {
  for (const std::size_t n : {1, 2, 63, 64, 65, 131}) {
    for (std::size_t p = 1; p <= 65; p += p < 26 ? 1 : 13) {
      for (const std::size_t q : {1, 7, 15, 16, 17, 31, 32, 33, 70}) {
        expect_product_equals_reference(*GetParam(), random_matrix(n, p, p % 3, n + p),
                                        random_matrix(n, q, q % 4, n + q + 1000, 900));
      }
    }
  }
}

TEST_P(RowProductsTest, OuterProductsDeeperThanABlockEqualTheReference) {
  for (const std::size_t n : {255, 256, 257, 513, 2051}) {
    for (const int limit : {20, 700, 32767}) {
      for (const unsigned threads : {1U, 3U}) {
        expect_product_equals_reference(*GetParam(), random_matrix(n, 10, 1, n, limit), random_matrix(n, 75, 0, n + 1),
                                        threads);
      }
    }
  }
}

TEST_P(RowProductsTest, OuterProductsAtTheEnergyBoundAreExact) {
  for (const int value : {181, 1023, 1448, 8191, 8192, 16384, 23170, 32767}) {
    for (const std::size_t n : {1, 2, 3, 15, 16, 17, 63, 64, 65, 129, 255, 256, 257, 600}) {
      expect_product_equals_reference(*GetParam(), constant_matrix(n, 5, 1, -value), constant_matrix(n, 33, 1, value));
    }
  }
}

TEST_P(RowProductsTest, AnyNumberOfThreadsGivesTheSameBits) {
  const TestMatrix a = random_matrix(301, 700, 1, 41, 3000);
  const TestMatrix b = random_matrix(21, 700, 0, 42, 3000);
  const TestMatrix r = random_matrix(301, 21, 0, 43, 3000);
  for (const unsigned threads : {1U, 2U, 3U, 7U}) {
    expect_row_products_equal_reference(*GetParam(), a, b, threads);
    expect_product_equals_reference(*GetParam(), r, a, threads);
  }
}

// To what was there for the rows from that one on.
void add_products(std::vector<std::int64_t>& sums, std::size_t first, const Int64View& products) {
  for (std::size_t row = 0; row < products.rows; ++row) {
    for (std::size_t j = 0; j < products.cols; ++j) sums[(first + row) * products.cols + j] += products.row(row)[j];
  }
}

std::vector<std::int64_t> reference_products(const TestMatrix& a, const TestMatrix& b) {
  std::vector<std::int64_t> products(a.rows * b.rows);
  ReferenceKernel().accumulate_row_products(a.view(), b.view(), {products.data(), a.rows, b.rows, b.rows});
  return products;
}

TEST_P(RowProductsTest, EveryRowIsVisitedOnceWithItsProducts) {
  for (const std::size_t d : {33, 256, 1296, 8193}) {
    for (const std::size_t n : {0, 1, 47, 48, 49, 1025}) {
      for (const std::size_t m : {1, 10, 130}) {
        if (d > 300 && n > 100) continue;
        const TestMatrix a = random_matrix(n, d, 1, n + d);
        const TestMatrix b = random_matrix(m, d, 0, m + d);
        const std::vector<std::int64_t> expected = reference_products(a, b);
        for (const unsigned threads : {1U, 3U}) {
          std::vector<std::int64_t> visited(n * m);
          ThreadTeam team(threads);
          GetParam()->row_factors(b.view())->visit(a.view(), team, [&](std::size_t first, const Int64View& products) {
            EXPECT_EQ(products.cols, m);
            add_products(visited, first, products);
          });
          EXPECT_EQ(visited, expected) << n << " by " << m << " rows, " << d << " columns";
        }
      }
    }
  }
}

// Of random rows, and of rows at the bound, whose energies are as large as they can be.
TEST_P(RowProductsTest, KnownEnergiesChangeNoBit) {
  for (const std::size_t n : {1, 63, 64, 65, 257, 400}) {
    for (const std::size_t d : {1, 16, 33, 300, 1297, 8200}) {
      if (d > 300 && n > 65) continue;
      for (const bool is_at_bound : {false, true}) {
        const TestMatrix rows = is_at_bound ? constant_matrix(n, d, 1, 32767) : random_matrix(n, d, 1, n + d, 900);
        const KnownEnergies energies = GetParam()->measure(rows.view(), 2);
        const Int16View known = energies.with(rows.view());
        const TestMatrix others = is_at_bound ? constant_matrix(9, d, 1, -32767) : random_matrix(9, d, 0, d, 32767);
        TestSums dots(n, 9, 1);
        TestSums expected_dots = dots;
        GetParam()->row_factors(others.view())->accumulate(known, dots.view());
        ReferenceKernel().accumulate_row_products(rows.view(), others.view(), expected_dots.view());
        EXPECT_TRUE(dots == expected_dots) << n << " rows, " << d << " columns";
        const TestMatrix residuals = is_at_bound ? constant_matrix(n, 5, 1, 32767) : random_matrix(n, 5, 0, n, 32767);
        TestSums outer(5, d, 1);
        TestSums expected_outer = outer;
        ReferenceKernel().accumulate_product(residuals.view(), rows.view(), expected_outer.view());
        for (std::size_t first = 0; first < n; first += 256) {  // as rounds take them
          const std::size_t count = std::min<std::size_t>(256, n - first);
          GetParam()->accumulate_product(residuals.view().part(first, count), known.part(first, count), outer.view());
        }
        EXPECT_TRUE(outer == expected_outer) << n << " rows, " << d << " columns";
      }
    }
  }
}

TEST_P(RowProductsTest, MeasuredEnergiesAreBounds) {
  for (const std::size_t n : {1, 64, 130}) {
    for (const std::size_t d : {1, 31, 32, 33, 100, 8300}) {
      const TestMatrix rows = random_matrix(n, d, 3, n + d);
      const KnownEnergies energies = GetParam()->measure(rows.view());
      std::vector<std::uint64_t> columns(energies.of_columns.size() * kEnergyColumns);
      for (std::size_t row = 0; row < n; ++row) {
        std::vector<std::uint64_t> lanes(d / 8192 * 16 + 16);
        for (std::size_t k = 0; k < d; ++k) {
          const int value = rows.view().row(row)[k];
          const auto square = static_cast<std::uint64_t>(value * value);
          lanes[k / 8192 * 16 + k % 32 / 2] += square;
          columns[row / kEnergyRows * rows.view().energies_per_stripe() * kEnergyColumns + k] += square;
        }
        EXPECT_GE(energies.of_rows[row] * std::uint64_t{1024}, *std::max_element(lanes.begin(), lanes.end()));
      }
      for (std::size_t column = 0; column < columns.size(); ++column) {
        EXPECT_GE(energies.of_columns[column / kEnergyColumns] * std::uint64_t{1024}, columns[column]);
      }
    }
  }
}

TEST_P(RowProductsTest, AVisitMayAskForProducts) {
  const TestMatrix a = random_matrix(100, 300, 1, 1);
  const TestMatrix b = random_matrix(9, 300, 0, 2);
  std::vector<std::int64_t> visited(100 * 9);
  const auto nothing = [](std::size_t, const Int64View&) {};
  ThreadTeam team(1);
  const auto factors = GetParam()->row_factors(b.view());
  factors->visit(a.view(), team, [&](std::size_t first, const Int64View& products) {
    ThreadTeam other(1);
    factors->visit(b.view(), other, nothing);
    add_products(visited, first, products);
  });
  EXPECT_EQ(visited, reference_products(a, b));
}

TEST_P(RowProductsTest, TheLowestInt16IsRejected) {
  const TestMatrix weights = random_matrix(5, 9000, 0, 51);
  for (const std::size_t bad_column : {0, 300, 8191, 8192, 8999}) {
    TestMatrix bad = random_matrix(52, 9000, 0, 52);
    bad.values[50 * 9000 + bad_column] = std::numeric_limits<std::int16_t>::min();
    TestSums dots(52, 5, 0);
    EXPECT_THROW(GetParam()->accumulate_row_products(bad.view(), weights.view(), dots.view()), std::logic_error);
    TestSums others(5, 52, 0);
    EXPECT_THROW(GetParam()->accumulate_row_products(weights.view(), bad.view(), others.view()), std::logic_error);
    TestSums outer(3, 9000, 0);
    const TestMatrix residuals = random_matrix(52, 3, 0, 53);
    EXPECT_THROW(GetParam()->accumulate_product(residuals.view(), bad.view(), outer.view()), std::logic_error);
    EXPECT_THROW(GetParam()->measure(bad.view()), std::logic_error);
  }
}

INSTANTIATE_TEST_SUITE_P(Supported, RowProductsTest, ::testing::ValuesIn(kernels_to_test()), kernel_name);

// No lane's sum of squares may be above what is measured, in units of 1024.
TEST(RowKernels, MeasureTheLargestLane) {
  for (const IntegerKernel& supported : supported_kernels()) {
    const MicroKernel& kernel = supported.micro();
    const std::size_t width = 2 * kernel.lanes;
    for (const std::size_t count : {1, 2, 5, 16, 31, 32, 33, 100, 500}) {
      const TestMatrix row = random_matrix(1, count, 3, count);
      std::vector<std::uint64_t> lanes(kernel.lanes);
      for (std::size_t k = 0; k < count; ++k) {
        lanes[k % width / 2] += static_cast<std::uint64_t>(row.values[k] * row.values[k]);
      }
      const std::uint64_t largest = *std::max_element(lanes.begin(), lanes.end());
      std::uint32_t whole = 0;
      const std::uint64_t units = kernel.measure_row(row.values.data(), count, 1024, &whole);
      EXPECT_EQ(units, whole);
      std::vector<std::uint32_t> stripes((count + 2 * width - 1) / (2 * width), 7);
      EXPECT_EQ(kernel.measure_row(row.values.data(), count, 2 * width, stripes.data()), units);
      EXPECT_LE(units, std::accumulate(stripes.begin(), stripes.end(), std::uint64_t{0}));
      for (std::size_t stripe = 0; stripe < stripes.size(); ++stripe) {
        const std::size_t first = stripe * 2 * width;
        std::uint32_t alone = 7;
        kernel.measure_row(row.values.data() + first, std::min(2 * width, count - first), 2 * width, &alone);
        EXPECT_EQ(stripes[stripe], alone);
      }
      EXPECT_GE(units * 1024, largest) << count;
      EXPECT_LE(units, largest / 1024 + (count + width - 1) / width) << count;
    }
    for (const std::size_t rows : {1, 2, 3, 64}) {
      for (std::size_t cols = 1; cols <= width; cols += 5) {
        const TestMatrix q = random_matrix(rows, cols, 3, rows + cols);
        std::uint64_t largest = 0;
        for (std::size_t column = 0; column < cols; ++column) {
          std::uint64_t energy = 0;
          for (std::size_t k = 0; k < rows; ++k) {
            energy += static_cast<std::uint64_t>(q.view().row(k)[column] * q.view().row(k)[column]);
          }
          largest = std::max(largest, energy);
        }
        const std::uint64_t units = kernel.measure_columns(q.view());
        EXPECT_GE(units * 1024, largest);
        EXPECT_LE(units, largest / 1024 + (rows + 1) / 2);
      }
    }
  }
}

}  // namespace dpreduce::row_products_test
