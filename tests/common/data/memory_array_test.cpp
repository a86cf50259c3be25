#include "common/data/memory_array.hpp"

#include "common/base/input_file.hpp"
#include "common/data/worker_rows.hpp"
#include "tests/common/data/array_reads.hpp"
#include "tests/testing.hpp"

namespace dpreduce::memory_array_test {

TEST(ArrayView, KnowsTypeAndRowsOfWhatItLooksAt) {
  const std::array<double, 6> doubles{};
  EXPECT_EQ(array_view(doubles, 3).dtype, DType::kFloat64);
  EXPECT_EQ(array_view(doubles, 3).rows, 2U);
  EXPECT_EQ(array_view(std::span<const float>(), 4).rows, 0U);
  const auto dtype_of_view = [](const auto& elements) { return array_view(elements).dtype; };
  EXPECT_EQ(dtype_of_view(std::vector<std::int8_t>(3)), DType::kInt8);
  EXPECT_EQ(dtype_of_view(std::vector<std::uint16_t>(3)), DType::kUint16);
  EXPECT_EQ(dtype_of_view(std::vector<std::int32_t>(3)), DType::kInt32);
  EXPECT_EQ(dtype_of_view(std::vector<std::uint64_t>(3)), DType::kUint64);
  EXPECT_EQ(dtype_of_view(std::array<bool, 2>{}), DType::kBool);
  EXPECT_THROW(array_view(doubles, 4), UsageError) << "no whole rows";
  EXPECT_THROW(array_view(doubles, 0), UsageError);
}

template <typename Elements>
concept CanBeViewed = requires(Elements&& elements) {
  array_view(std::forward<Elements>(elements));
};

TEST(ArrayView, LooksAtNothingThatDiesWithTheStatement) {
  static_assert(CanBeViewed<std::vector<float>&> && CanBeViewed<const std::vector<float>&>);
  static_assert(CanBeViewed<std::span<const float>>);
  static_assert(!CanBeViewed<std::vector<float>> && !CanBeViewed<std::array<float, 2>>);
}

TEST(MemoryArray, IsReadWhereItLies) {
  const std::vector<float> floats{1, 2, 3, 4, 5, 6};
  MemoryArray array(array_view(floats, 2), "x");
  EXPECT_EQ(array.shape(), (Shape{3, 2}));
  std::vector<float> scratch;
  const StoredFloats in_place = array.features_in_place(1, 2);
  EXPECT_EQ(in_place.decoded(0, 4, scratch).data(), floats.data() + 2);
  EXPECT_TRUE(scratch.empty());
  EXPECT_THROW(array.features_in_place(2, 2), std::logic_error);
}

// 70 x 3, element (r, a) = 10 r + a.
std::vector<float> counted_rows() {
  std::vector<float> floats;
  for (int row = 0; row < 70; ++row) {
    for (int column = 0; column < 3; ++column) floats.push_back(static_cast<float>(10 * row + column));
  }
  return floats;
}

// A view of elements that lie column after column.
ArrayView by_columns(std::span<const float> elements, std::size_t rows) {
  ArrayView view = array_view(elements, elements.size() / rows);
  view.row_stride = sizeof(float);
  view.column_stride = static_cast<std::ptrdiff_t>(rows * sizeof(float));
  return view;
}

ArrayView backwards(ArrayView view) {
  view.first += static_cast<std::ptrdiff_t>(view.rows - 1) * view.row_stride;
  view.row_stride *= -1;
  return view;
}

TEST(MemoryArray, RowsAreReadAlongAnyStrides) {
  const std::vector<float> rows = counted_rows();
  std::vector<float> columns(rows.size());
  for (std::size_t row = 0; row < 70; ++row) {
    for (std::size_t column = 0; column < 3; ++column) columns[column * 70 + row] = rows[row * 3 + column];
  }
  const ArrayView fortran = by_columns(columns, 70);
  EXPECT_FALSE(fortran.is_c_order());
  MemoryArray by_column(fortran, "x");
  EXPECT_TRUE(by_column.features_in_place(0, 70).empty());
  EXPECT_EQ(all_features(by_column), rows);
  EXPECT_THAT(some_features(by_column, 68, 2), ElementsAre(680, 681, 682, 690, 691, 692));

  MemoryArray reversed(backwards(array_view(rows, 3)), "x");
  EXPECT_THAT(some_features(reversed, 1, 2), ElementsAre(680, 681, 682, 670, 671, 672));

  ArrayView every_second = array_view(rows, 3);
  every_second.columns = 2;
  every_second.column_stride *= 2;
  MemoryArray outer(every_second, "x");
  EXPECT_THAT(some_features(outer, 1, 2), ElementsAre(10, 12, 20, 22));

  ArrayView one_row = array_view(rows, 3);
  one_row.row_stride = 0;
  one_row.rows = 5;
  MemoryArray repeated(one_row, "x");
  EXPECT_THAT(some_features(repeated, 3, 2), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(MemoryArray, OneColumnOrRowIsInCOrderWhateverTheOtherStride) {
  const std::vector<float> floats{1, 2, 3, 4};
  ArrayView column = array_view(floats);
  column.column_stride = 400;
  EXPECT_TRUE(column.is_c_order());
  ArrayView row = array_view(floats, 4);
  row.row_stride = -8;
  EXPECT_TRUE(row.is_c_order());
}

TEST(MemoryArray, LabelsMayLieApart) {
  const std::vector<std::int16_t> labels{0, 7, 1, 7, 2, 7};
  ArrayView view = array_view(labels);
  view.rows = 3;
  view.row_stride *= 2;
  MemoryArray array(view, "y");
  EXPECT_THAT(all_labels(array, 3), ElementsAre(0, 1, 2));
}

TEST(MemoryArray, ElementsMayBeOfTheOtherByteOrder) {
  const std::array<std::uint8_t, 4> one{0x3F, 0x80, 0, 0};  // 1.0F, the high byte first
  ArrayView view = rows_in_c_order(std::as_bytes(std::span(one)), DType::kFloat32, 1);
  view.byte_order = ByteOrder::kBig;
  MemoryArray array(view, "x");
  EXPECT_THAT(all_features(array), ElementsAre(1.0F));
}

TEST(MemoryArray, IsTheSameAsOneWhoseMemoryItOverlaps) {
  const std::vector<float> floats(12);
  const MemoryArray all(array_view(floats, 3), "all");
  const MemoryArray last(backwards(array_view(std::span(floats).last(6), 3)), "last");
  const MemoryArray first(array_view(std::span(floats).first(6), 3), "first");
  EXPECT_TRUE(is_same_array(all.identity(), all.identity()));
  EXPECT_TRUE(is_same_array(all.identity(), last.identity()));
  EXPECT_TRUE(is_same_array(first.identity(), all.identity()));
  EXPECT_FALSE(is_same_array(first.identity(), last.identity()));
  const MemoryArray none(array_view(std::span(floats).first(0), 3), "none");
  EXPECT_FALSE(is_same_array(none.identity(), all.identity()));
}

TEST(MemoryArray, OfAMappedFileIsTheSameInEveryMapping) {
  const TemporaryFolder folder;
  write_bytes(folder / "rows", std::string(3 * 4096, '\0'));
  const MappedFile one(folder / "rows");
  const MappedFile other(folder / "rows");
  const auto rows_of = [](const MappedFile& file, std::size_t first, std::size_t bytes) {
    return MemoryArray(rows_in_c_order(file.bytes().subspan(first, bytes), DType::kFloat32, 2), "rows").identity();
  };
  EXPECT_TRUE(is_same_array(rows_of(one, 0, 4096), rows_of(other, 2048, 8192)));
  EXPECT_FALSE(is_same_array(rows_of(one, 0, 4096), rows_of(other, 4096, 4096)));
}

TEST(MemoryArray, MakesRowsOfAWorker) {
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> y{2, 0, 1};
  WorkerRows rows = WorkerRows::in_memory(array_view(x, 2), array_view(y), "x", "y");
  EXPECT_EQ(rows.range().count, 3U);
  EXPECT_EQ(rows.where(1), "x: row 1");
  EXPECT_EQ(rows.where_labels(2), "y: row 2");
  std::vector<std::int32_t> labels(3);
  rows.labels().read_labels(0, 3, 3, labels);
  EXPECT_THAT(labels, ElementsAre(2, 0, 1));
  rows.keep({1});
  std::vector<float> features(2);
  rows.features().read_features(0, 1, features);
  EXPECT_THAT(features, ElementsAre(3, 4));
  EXPECT_THROW(WorkerRows::in_memory(array_view(x, 3), array_view(y), "x", "y"), BadInput);
  EXPECT_THROW(WorkerRows::in_memory(array_view(y), array_view(y), "x", "y"), BadInput);
}

}  // namespace dpreduce::memory_array_test
