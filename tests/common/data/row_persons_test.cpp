#include "common/data/row_units.hpp"
#include "tests/testing.hpp"

namespace dpreduce::row_persons_test {

TEST(PartOfPerson, IsInLowestTerms) {
  EXPECT_EQ(part_of_unit(7, 7), UnitPart{});
  EXPECT_EQ(part_of_unit(4, 12), (UnitPart{1, 3}));
  EXPECT_EQ(part_of_unit(6, 9), (UnitPart{2, 3}));
  EXPECT_EQ(part_of_unit(70000, 5 * 70000), (UnitPart{1, 5}));  // of a promise, whatever the number of rows
  EXPECT_EQ(part_of_unit(65535, 65536), (UnitPart{65535, 65536}));
  EXPECT_EQ(part_of_unit(0, 3), (UnitPart{0, 1}));
  EXPECT_THROW(part_of_unit(4, 3), std::logic_error);
}

// However large the numbers: parts of one person are at most 1 together, and lose less than their last digit.
TEST(PartOfPerson, PartsAreAtMostOneTogether) {
  std::mt19937_64 engine(3);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<std::uint64_t> here(1 + engine() % 5);
    for (std::uint64_t& rows : here) rows = 1 + (engine() >> (16 + engine() % 47));
    const std::uint64_t all = std::reduce(here.begin(), here.end());
    long double sum = 0.0L;
    for (const std::uint64_t rows : here) {
      const UnitPart part = part_of_unit(rows, all);
      EXPECT_LE(part.count, kMostCountOfPart);
      const long double exact = static_cast<long double>(rows) / static_cast<long double>(all);
      const long double value = static_cast<long double>(part.count) / part.of;
      EXPECT_LE(value, exact * (1.0L + 1e-18L));
      EXPECT_GE(value, exact * (1.0L - 0x1p-14L) - 0x1p-30L);
      sum += value;
    }
    EXPECT_LE(sum, 1.0L + 1e-17L);
  }
}

}  // namespace dpreduce::row_persons_test
