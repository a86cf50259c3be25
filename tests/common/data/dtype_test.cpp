#include "common/data/element_conversion.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::dtype_test {

TEST(DType, ShapesPrintAsPythonTuples) {
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape{10}), "(10,)");
  EXPECT_EQ(to_string(Shape{60000, 784}), "(60000, 784)");
}

TEST(DType, ByteSizeIsTheProductOfExtentsAndElementSize) {
  EXPECT_EQ(byte_size({3, 4}, DType::kFloat32, "x"), 48u);
  EXPECT_EQ(byte_size({3, 0, 7}, DType::kFloat64, "x"), 0u);
  EXPECT_EQ(byte_size({}, DType::kInt8, "x"), 1u);
  EXPECT_EQ(byte_size({std::uint64_t{1} << 62}, DType::kInt8, "x"), std::uint64_t{1} << 62);
}

TEST(DType, ByteSizeRefusesOverflowEvenBesideAnExtentOfZero) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 62;
  expect_bad_input([] { byte_size({kHuge, 2}, DType::kInt8, "x.npy"); }, {"x.npy", "2^63"});
  expect_bad_input([] { byte_size({0, kHuge, kHuge}, DType::kInt8, "x.npy"); }, {"x.npy"});
  expect_bad_input([] { byte_size({kHuge / 2}, DType::kFloat64, "x.npy"); }, {"float64"});
}

}  // namespace dpreduce::dtype_test
