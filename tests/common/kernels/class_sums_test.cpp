#include "common/kernels/class_sums.hpp"

#include "tests/common/kernels/test_matrix.hpp"

namespace dpreduce::class_sums_test {

std::vector<std::int32_t> random_labels(std::size_t n, int classes, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::uniform_int_distribution<std::int32_t> label(-1, classes - 1);
  std::vector<std::int32_t> labels(n);
  for (std::int32_t& value : labels) value = label(bits);
  return labels;
}

void add_plainly(const TestMatrix& rows, const std::vector<std::int32_t>& labels, TestSums& sums) {
  for (std::size_t row = 0; row < rows.rows; ++row) {
    if (labels[row] < 0) continue;
    for (std::size_t column = 0; column < rows.cols; ++column) {
      std::int64_t& sum = sums.view().row(static_cast<std::size_t>(labels[row]))[column];
      sum = ring_sum(sum, rows.values[row * rows.stride + column]);
    }
  }
}

TEST(ClassSums, ARowOfSeveralClassesAddsToEach) {
  const std::vector<std::int16_t> rows{1, 2, 30, 40, 500, 600};
  const std::vector<std::int32_t> labels{0, 2, -1, -1, 1, 2};
  std::vector<std::int64_t> sums{1000, 1000, 2000, 2000, 3000, 3000};
  accumulate_class_sums({rows.data(), 3, 2, 2}, labels, {sums.data(), 3, 2, 2});
  EXPECT_THAT(sums, ElementsAre(1001, 1002, 2500, 2600, 3501, 3602));
}

TEST(ClassSums, EqualThePlainLoopForAllShapes) {
  for (const std::size_t n : {0, 1, 4, 5, 300}) {
    for (const std::size_t d : {0, 1, 31, 33, 1023, 1024, 1025, 2100}) {
      for (const int classes : {1, 3, 50}) {
        const TestMatrix rows = random_matrix(n, d, d % 3, n + d);
        const std::vector<std::int32_t> labels = random_labels(n, classes, n);
        TestSums actual(static_cast<std::size_t>(classes), d, 2);
        TestSums expected = actual;
        accumulate_class_sums(rows.view(), labels, actual.view());
        add_plainly(rows, labels, expected);
        EXPECT_TRUE(actual == expected) << n << " x " << d << ", " << classes << " classes";
      }
    }
  }
}

// A chunk's int32 sums at their extreme, and past a chunk.
TEST(ClassSums, ManyExtremeRowsAreExact) {
  for (const int value : {32767, -32768}) {
    for (const std::size_t n : {65534, 65535, 65536, 140000}) {
      const std::vector<std::int16_t> rows(n * 3, static_cast<std::int16_t>(value));
      const std::vector<std::int32_t> labels(n, 1);
      std::vector<std::int64_t> sums(6);
      accumulate_class_sums({rows.data(), n, 3, 3}, labels, {sums.data(), 2, 3, 3}, 2);
      const std::int64_t sum = value * static_cast<std::int64_t>(n);
      EXPECT_THAT(sums, ElementsAre(0, 0, 0, sum, sum, sum));
    }
  }
}

TEST(ClassSums, AnySplitAndAnyNumberOfThreadsGiveTheSameBits) {
  const TestMatrix rows = random_matrix(1000, 1100, 0, 5);
  const std::vector<std::int32_t> labels = random_labels(1000, 7, 6);
  TestSums expected(7, 1100, 0);
  const TestSums start = expected;
  accumulate_class_sums(rows.view(), labels, expected.view());
  for (const unsigned threads : {1U, 2U, 5U}) {
    TestSums sums = start;
    std::size_t begin = 0;
    for (const std::size_t end : {0, 1, 6, 500, 1000}) {
      accumulate_class_sums(rows.view(begin, end), std::span(labels).subspan(begin, end - begin), sums.view(), threads);
      begin = end;
    }
    EXPECT_TRUE(sums == expected) << threads << " threads";
  }
}

TEST(ClassSums, BrokenPreconditionsAreRejectedBeforeAnythingIsWritten) {
  const TestMatrix rows = random_matrix(3, 4, 0, 9);
  TestSums sums(2, 4, 0);
  const TestSums before = sums;
  const std::vector<std::int32_t> labels{0, 1, 0};
  const std::vector<std::int32_t> beyond{0, 0, 2};
  TestSums narrow(2, 3, 0);
  Int16View overlapping = rows.view();
  overlapping.stride = 3;
  Int64View overlapping_sums = sums.view();
  overlapping_sums.stride = 3;
  const auto expect_refused = [&](const Int16View& of, std::span<const std::int32_t> with, const Int64View& into,
                                  unsigned threads = 1) {
    EXPECT_THROW(accumulate_class_sums(of, with, into, threads), std::logic_error);
  };
  expect_refused(rows.view(), std::span(labels).first(2), sums.view());
  expect_refused(rows.view(), labels, narrow.view());
  expect_refused(rows.view(), beyond, sums.view());
  expect_refused(overlapping, labels, sums.view());
  expect_refused(rows.view(), labels, overlapping_sums);
  expect_refused(rows.view(), labels, sums.view(), 0);
  for (const std::vector<std::int32_t>& pairs :
       {std::vector<std::int32_t>{0, 1, 1, 0, 0, 1}, {0, 1, 1, 1, 0, 1}, {0, 1, -1, 1, 0, 1}}) {
    expect_refused(rows.view(), pairs, sums.view());
  }
  EXPECT_TRUE(sums == before);
}

}  // namespace dpreduce::class_sums_test
