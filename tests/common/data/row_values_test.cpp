#include "common/data/memory_array.hpp"
#include "tests/testing.hpp"

namespace dpreduce::row_values_test {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr double kLargestFloat = std::numeric_limits<float>::max();

std::optional<std::uint64_t> first_bad(const ArrayView& view) {
  return first_row_not_finite(view, 0, view.rows);
}

TEST(RowValues, FindTheFirstRowThatIsNotFinite) {
  std::vector<float> rows(300 * 40, 1.0F);
  EXPECT_FALSE(first_bad(array_view(rows, 40)));
  rows[17 * 40 + 39] = -kInf;
  rows[200 * 40] = std::numeric_limits<float>::quiet_NaN();
  const ArrayView view = array_view(rows, 40);
  EXPECT_EQ(first_bad(view), 17U);
  EXPECT_FALSE(first_row_not_finite(view, 0, 17));
  EXPECT_EQ(first_row_not_finite(view, 18, 282), 200U);
  EXPECT_FALSE(first_row_not_finite(view, 201, 99));
  EXPECT_FALSE(first_row_not_finite(view, 17, 0));
}

TEST(RowValues, LieAlongAnyStrides) {
  std::vector<float> elements(5000 * 6, 1.0F);
  ArrayView by_column = array_view(elements, 3);
  by_column.rows = 5000;
  by_column.row_stride = sizeof(float);
  by_column.column_stride = 5000 * sizeof(float);
  EXPECT_FALSE(first_bad(by_column));
  elements[2 * 5000 + 4999] = kInf;
  EXPECT_EQ(first_bad(by_column), 4999U);
  EXPECT_FALSE(first_row_not_finite(by_column, 0, 4999));

  ArrayView every_other = array_view(elements, 6);
  every_other.columns = 3;
  every_other.column_stride = 2 * sizeof(float);
  const std::uint64_t bad = (2 * 5000 + 4999) / 6;
  const bool is_looked_at = (2 * 5000 + 4999) % 6 % 2 == 0;
  EXPECT_EQ(first_bad(every_other), is_looked_at ? std::optional(bad) : std::nullopt);
  ArrayView the_others = every_other;
  the_others.first += sizeof(float);
  EXPECT_EQ(first_bad(the_others), is_looked_at ? std::nullopt : std::optional(bad));

  ArrayView backwards = by_column;
  backwards.first += 4999 * sizeof(float);
  backwards.row_stride = -backwards.row_stride;
  EXPECT_EQ(first_bad(backwards), 0U);
}

TEST(RowValues, AreLookedAtAsTheFloatsThatTheyBecome) {
  const double half_way = 0x1.ffffffp127;  // ties to even: to infinity
  std::vector<double> rows{kLargestFloat, -kLargestFloat, std::nextafter(half_way, 0.0), half_way};
  EXPECT_EQ(first_bad(array_view(rows)), 3U);
  EXPECT_EQ(static_cast<float>(half_way), kInf);
  EXPECT_EQ(static_cast<double>(static_cast<float>(rows[2])), kLargestFloat);
  rows[1] = -1e300;
  EXPECT_EQ(first_bad(array_view(rows)), 1U);
}

TEST(RowValues, MayBeHalvesAndOfTheOtherByteOrder) {
  std::vector<std::uint16_t> halves{0x7bff, 0xfbff, 0x7c00};  // 65504, -65504, infinity
  ArrayView view = array_view(halves);
  view.dtype = DType::kFloat16;
  EXPECT_EQ(first_bad(view), 2U);
  std::vector<std::uint32_t> floats{0x0000803f, 0x000080ff, 0x0000c07f};  // 1, -inf, NaN, byte-swapped
  view = array_view(floats);
  view.dtype = DType::kFloat32;
  view.byte_order = kNativeByteOrder == ByteOrder::kLittle ? ByteOrder::kBig : ByteOrder::kLittle;
  EXPECT_EQ(first_bad(view), 1U);
}

}  // namespace dpreduce::row_values_test
