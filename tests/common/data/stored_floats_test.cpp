#include "common/data/stored_floats.hpp"

#include "tests/testing.hpp"

namespace dpreduce::stored_floats_test {

const std::vector<float> kFive{0.5F, -1.0F, 2.0F, 3.0F, 65504.0F};

TEST(StoredFloats, NativeFloatsAreNotCopied) {
  std::vector<float> scratch;
  const StoredFloats floats(kFive);
  EXPECT_EQ(floats.size(), 5);
  EXPECT_EQ(floats.decoded(1, 3, scratch).data(), kFive.data() + 1);
  EXPECT_EQ(floats.decoded(1, 3, scratch).size(), 3);
  EXPECT_TRUE(scratch.empty());
}

TEST(StoredFloats, MisalignedFloatsAreCopied) {
  std::vector<std::byte> bytes(1 + sizeof(float) * kFive.size());
  const auto source = std::as_bytes(std::span(kFive));
  std::copy(source.begin(), source.end(), bytes.begin() + 1);
  std::vector<float> scratch;
  const auto decoded =
      StoredFloats(std::span(bytes).subspan(1), DType::kFloat32, kNativeByteOrder).decoded(0, 5, scratch);
  EXPECT_EQ(std::vector<float>(decoded.begin(), decoded.end()), kFive);
}

TEST(StoredFloats, HalvesAreDecodedWhereTheyAreWanted) {
  const std::vector<std::uint16_t> halves{0x3800, 0xbc00, 0x4000, 0x4200, 0x7bff};
  const StoredFloats floats(std::as_bytes(std::span(halves)), DType::kFloat16, kNativeByteOrder);
  EXPECT_EQ(floats.size(), 5);
  std::vector<float> scratch;
  const auto decoded = floats.decoded(3, 2, scratch);
  EXPECT_EQ(std::vector<float>(decoded.begin(), decoded.end()), (std::vector<float>{3.0F, 65504.0F}));
  EXPECT_EQ(floats.decoded(0, 1, scratch).front(), 0.5F);
}

// Rows of several pages, of one, and none.
TEST(StoredFloats, AdviceReadsAndChangesNothing) {
  const std::vector<float> floats(5000, 1.5F);
  for (const std::size_t count : {0U, 1U, 1024U, 5000U}) {
    const StoredFloats some = std::span<const float>(floats).first(count);
    some.prefetch_pages();
    some.prefetch(1, 3);
    EXPECT_EQ(some.size(), count);
  }
  StoredFloats().prefetch_pages();
  EXPECT_EQ(floats, std::vector<float>(5000, 1.5F));
}

TEST(StoredFloats, WhatDoesNotExistIsRefused) {
  std::vector<float> scratch;
  EXPECT_THROW(StoredFloats(kFive).decoded(4, 2, scratch), std::logic_error);
  EXPECT_THROW(StoredFloats(kFive).decoded(6, 0, scratch), std::logic_error);
  EXPECT_THROW(StoredFloats(std::as_bytes(std::span(kFive)).first(6), DType::kFloat32, kNativeByteOrder),
               std::logic_error);
  EXPECT_THROW(StoredFloats(std::as_bytes(std::span(kFive)), DType::kInt32, kNativeByteOrder), std::logic_error);
}

}  // namespace dpreduce::stored_floats_test
