#include "common/data/memory_array.hpp"

#include "common/base/input_file.hpp"
#include "common/data/worker_rows.hpp"
#include "tests/common/data/array_reads.hpp"

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
  const std::vector<float> floats = counted(6);
  MemoryArray array(array_view(floats, 2), "x");
  EXPECT_EQ(array.shape(), (Shape{3, 2}));
  std::vector<float> scratch;
  EXPECT_EQ(array.features_in_place(1, 2).decoded(0, 4, scratch).data(), floats.data() + 2);
  EXPECT_TRUE(scratch.empty());
  EXPECT_THROW(array.features_in_place(2, 2), std::logic_error);
}

ArrayView backwards(ArrayView view) {
  view.first += static_cast<std::ptrdiff_t>(view.rows - 1) * view.row_stride;
  view.row_stride *= -1;
  return view;
}

TEST(MemoryArray, RowsAreReadAlongAnyStrides) {
  const std::vector<float> rows = counted(70 * 3);
  std::vector<float> columns(rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) columns[at % 3 * 70 + at / 3] = rows[at];
  ArrayView fortran = array_view(columns, 3);
  fortran.row_stride = sizeof(float);
  fortran.column_stride = 70 * sizeof(float);
  EXPECT_FALSE(fortran.is_c_order());
  MemoryArray by_column(fortran, "x");
  EXPECT_TRUE(by_column.features_in_place(0, 70).empty());
  EXPECT_EQ(all_features(by_column), rows);
  const auto some = [](const ArrayView& view, std::uint64_t first) {
    MemoryArray array(view, "x");
    return some_features(array, first, 2);
  };
  EXPECT_THAT(some(fortran, 68), ElementsAre(204, 205, 206, 207, 208, 209));
  EXPECT_THAT(some(backwards(array_view(rows, 3)), 1), ElementsAre(204, 205, 206, 201, 202, 203));
  ArrayView outer = array_view(rows, 3);
  outer.columns = 2;
  outer.column_stride *= 2;
  EXPECT_THAT(some(outer, 1), ElementsAre(3, 5, 6, 8));
  ArrayView one_row = array_view(rows, 3);
  one_row.row_stride = 0;
  one_row.rows = 5;
  EXPECT_THAT(some(one_row, 3), ElementsAre(0, 1, 2, 0, 1, 2));
  const std::vector<std::int16_t> labels{0, 7, 1, 7, 2, 7};
  ArrayView apart = array_view(labels, 2);
  apart.columns = 1;
  MemoryArray every_second(apart, "y");
  EXPECT_THAT(all_labels(every_second, 3), ElementsAre(0, 1, 2));
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
  const std::vector<float> x = counted(6, 1.0F);
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
