#include "common/data/memory_array.hpp"

#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "common/data/worker_rows.hpp"

namespace dpreduce {
namespace {

using testing::ElementsAre;

TEST(ArrayView, KnowsTypeAndRowsOfWhatItLooksAt) {
  const std::array<double, 6> doubles{};
  EXPECT_EQ(array_view(doubles, 3).dtype, DType::kFloat64);
  EXPECT_EQ(array_view(doubles, 3).rows(), 2U);
  EXPECT_EQ(array_view(std::span<const float>(), 4).rows(), 0U);
  const auto dtype_of_view = [](const auto& elements) { return array_view(elements).dtype; };
  EXPECT_EQ(dtype_of_view(std::vector<std::int8_t>(3)), DType::kInt8);
  EXPECT_EQ(dtype_of_view(std::vector<std::uint16_t>(3)), DType::kUint16);
  EXPECT_EQ(dtype_of_view(std::vector<std::int32_t>(3)), DType::kInt32);
  EXPECT_EQ(dtype_of_view(std::vector<std::uint64_t>(3)), DType::kUint64);
  EXPECT_EQ(dtype_of_view(std::array<bool, 2>{}), DType::kBool);
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

TEST(ArrayView, ElementsThatAreNoWholeRowsAreRefused) {
  const std::vector<float> elements(7);
  EXPECT_THROW(array_view(elements, 3), UsageError);
  EXPECT_THROW(array_view(elements, 0), UsageError);
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

TEST(MemoryArray, DoublesAreRoundedToFloats) {
  const std::vector<double> doubles{0.1, 1e300};
  MemoryArray array(array_view(doubles, 2), "x");
  std::vector<float> features(2);
  array.read_features(0, 1, features);
  EXPECT_THAT(features, ElementsAre(0.1F, std::numeric_limits<float>::infinity()));
}

TEST(MemoryArray, IsNoOtherArray) {
  const std::vector<float> floats(4);
  const MemoryArray first(array_view(std::span(floats).first(2), 2), "first");
  const MemoryArray second(array_view(std::span(floats).last(2), 2), "second");
  EXPECT_TRUE(is_same_array(first.identity(), first.identity()));
  EXPECT_FALSE(is_same_array(first.identity(), second.identity()));
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

}  // namespace
}  // namespace dpreduce
