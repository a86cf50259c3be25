#include "common/data/element_conversion.hpp"

#include "common/data/memory_array.hpp"
#include "tests/common/data/array_reads.hpp"

namespace dpreduce::element_conversion_test {

// The value of a half by its definition.
double half_value(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const double sign = half & 0x8000 ? -1.0 : 1.0;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(HalfFloat, EveryHalfBecomesTheFloatOfTheSameValueAndComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if ((half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(half_to_float(float_to_half(value)))) << bits;
      continue;
    }
    const double infinity = half & 0x8000 ? -INFINITY : INFINITY;
    ASSERT_EQ(value, (half & 0x7c00) == 0x7c00 ? infinity : half_value(half)) << bits;
    ASSERT_EQ(std::signbit(value), (half & 0x8000) != 0) << bits;
    ASSERT_EQ(float_to_half(value), half) << bits;
  }
}

TEST(HalfFloat, BetweenTwoHalvesTheNearestIsTakenAndTiesGoToEven) {
  for (std::uint16_t half = 0; half < 0x7bff; ++half) {
    const float low = half_to_float(half);
    const float high = half_to_float(static_cast<std::uint16_t>(half + 1));
    const float middle = (low + high) / 2;
    const std::uint16_t even = half % 2 == 0 ? half : static_cast<std::uint16_t>(half + 1);
    ASSERT_EQ(float_to_half(middle), even) << half;
    ASSERT_EQ(float_to_half(std::nextafterf(middle, low)), half) << half;
    ASSERT_EQ(float_to_half(std::nextafterf(middle, high)), half + 1) << half;
    ASSERT_EQ(float_to_half(-middle), even | 0x8000) << half;
  }
  EXPECT_EQ(float_to_half(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::max()), 0x7c00);
}

// Types and byte orders: NpyArray.FeaturesOfEachTypeByteOrderAndVersionAreRead.
TEST(ElementConversion, FeaturesBecomeTheNearestFloat) {
  std::vector<float> out(5);
  const std::string stored = element_bytes(std::vector<double>{-1.5, 1.0 + 0x1p-30, 1e39, -1e39, NAN});
  convert_features(as_bytes_of(stored), DType::kFloat64, ByteOrder::kLittle, out);
  EXPECT_THAT(out, ElementsAre(-1.5f, 1.0f, INFINITY, -INFINITY, testing::IsNan()));
}

template <typename Integer>
void expect_integers_work(DType dtype) {
  const std::vector<Integer> integers{0, 9, 100, std::numeric_limits<Integer>::min(),
                                      std::numeric_limits<Integer>::max()};
  for (const ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    std::vector<std::int64_t> out(integers.size());
    convert_integers(as_bytes_of(element_bytes(integers, order)), dtype, order, out);
    EXPECT_EQ(out, std::vector<std::int64_t>(integers.begin(), integers.end())) << to_string(dtype);
  }
}

TEST(ElementConversion, IntegersOfEachWidthAndByteOrderKeepTheirValue) {
  expect_integers_work<std::int8_t>(DType::kInt8);
  expect_integers_work<std::int16_t>(DType::kInt16);
  expect_integers_work<std::int32_t>(DType::kInt32);
  expect_integers_work<std::int64_t>(DType::kInt64);
  expect_integers_work<std::uint8_t>(DType::kUint8);
  expect_integers_work<std::uint16_t>(DType::kUint16);
  expect_integers_work<std::uint32_t>(DType::kUint32);
  expect_integers_work<std::uint64_t>(DType::kUint64);
  expect_integers_work<std::uint8_t>(DType::kBool);
}

template <typename Integer>
void expect_bad_label(Integer value, const std::string& shown) {
  const std::vector<Integer> labels = {0, value};
  MemoryArray array(array_view(labels), "y");
  expect_bad_input([&] { all_labels(array, 0x7fffffff); }, {"y: row 1 has label " + shown + ", outside 0 to"});
}

TEST(ElementConversion, LabelsThatAreNoIndexAreNamedByTheirValue) {
  expect_bad_label<std::int8_t>(-1, "-1");
  expect_bad_label<std::int16_t>(-32768, "-32768");
  expect_bad_label<std::int32_t>(-2, "-2");
  expect_bad_label<std::int64_t>(std::numeric_limits<std::int64_t>::min(), "-9223372036854775808");
  expect_bad_label<std::int64_t>(0x100000000, "4294967296");  // not cut down to 0
  expect_bad_label<std::uint32_t>(0xffffffff, "4294967295");
  expect_bad_label<std::uint64_t>(~std::uint64_t{0}, "18446744073709551615");
}

TEST(ElementConversion, PreconditionsAreChecked) {
  std::vector<float> features(2);
  std::vector<std::int64_t> integers(1);
  const std::string text("abcd");
  const auto four = as_bytes_of(text);
  for (const DType dtype : {DType::kFloat32, DType::kInt16}) {
    EXPECT_THROW(convert_features(four, dtype, ByteOrder::kLittle, features), std::logic_error);
  }
  for (const DType dtype : {DType::kFloat32, DType::kInt16, DType::kBytes}) {
    EXPECT_THROW(convert_integers(four, dtype, ByteOrder::kLittle, integers), std::logic_error);
  }
}

const std::vector<float> kFive{0.5F, -1.0F, 2.0F, 3.0F, 65504.0F};

TEST(StoredFloats, NativeFloatsAreNotCopiedUnlessTheyAreMisaligned) {
  std::vector<float> scratch;
  const std::span<const float> floats = StoredFloats(kFive).decoded(1, 3, scratch);
  EXPECT_EQ(floats.data(), kFive.data() + 1);
  EXPECT_EQ(floats.size(), 3);
  EXPECT_TRUE(scratch.empty());
  const std::string bytes = "x" + element_bytes(kFive);
  EXPECT_EQ(decoded_floats({as_bytes_of(bytes).subspan(1), DType::kFloat32, ByteOrder::kLittle}, 0, 5), kFive);
}

TEST(StoredFloats, HalvesAreDecodedWhereTheyAreWanted) {
  const std::vector<std::uint16_t> halves{0x3800, 0xbc00, 0x4000, 0x4200, 0x7bff};
  const StoredFloats floats(std::as_bytes(std::span(halves)), DType::kFloat16, kNativeByteOrder);
  EXPECT_EQ(floats.size(), 5);
  EXPECT_THAT(decoded_floats(floats, 3, 2), ElementsAre(3.0F, 65504.0F));
  EXPECT_THAT(decoded_floats(floats, 0, 1), ElementsAre(0.5F));
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
  const auto bytes = std::as_bytes(std::span(kFive));
  EXPECT_THROW(StoredFloats(kFive).decoded(4, 2, scratch), std::logic_error);
  EXPECT_THROW(StoredFloats(kFive).decoded(6, 0, scratch), std::logic_error);
  EXPECT_THROW(StoredFloats(bytes.first(6), DType::kFloat32, kNativeByteOrder), std::logic_error);
  EXPECT_THROW(StoredFloats(bytes, DType::kInt32, kNativeByteOrder), std::logic_error);
}

TEST(DType, ShapesPrintAsPythonTuples) {
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape{10}), "(10,)");
  EXPECT_EQ(to_string(Shape{60000, 784}), "(60000, 784)");
}

TEST(DType, ByteSizeIsTheProductOfExtentsAndElementSizeOrRefused) {
  EXPECT_EQ(byte_size({3, 4}, DType::kFloat32, 4, "x"), 48u);
  EXPECT_EQ(byte_size({3, 0, 7}, DType::kFloat64, 8, "x"), 0u);
  EXPECT_EQ(byte_size({}, DType::kInt8, 1, "x"), 1u);
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 62;
  EXPECT_EQ(byte_size({kHuge}, DType::kInt8, 1, "x"), kHuge);
  expect_bad_input([] { byte_size({kHuge, 2}, DType::kInt8, 1, "x.npy"); }, {"x.npy", "2^63"});
  expect_bad_input([] { byte_size({0, kHuge, kHuge}, DType::kInt8, 1, "x.npy"); }, {"x.npy"});
  expect_bad_input([] { byte_size({kHuge / 2}, DType::kFloat64, 8, "x.npy"); }, {"float64"});
}

std::string text_of(const std::string& element, DType dtype, ByteOrder order = ByteOrder::kLittle) {
  std::string buffer;
  return std::string(stored_name(as_bytes_of(element), dtype, order, buffer));
}

TEST(StoredNames, BytesEndBeforeTheZerosThatFillThemUp) {
  EXPECT_EQ(text_of(std::string("cat\0\0", 5), DType::kBytes), "cat");
  EXPECT_EQ(text_of(std::string("a\0b\0", 4), DType::kBytes), std::string("a\0b", 3));
  EXPECT_EQ(text_of(std::string(3, '\0'), DType::kBytes), "");
  EXPECT_EQ(text_of("caf\xe9", DType::kBytes), "caf\xe9");  // no UTF-8, so no class
  EXPECT_THROW(text_of("abcd", DType::kInt32), std::logic_error);
  EXPECT_THROW(text_of("abc", DType::kUnicode), std::logic_error);
}

TEST(StoredNames, CodePointsOfEitherByteOrderBecomeUtf8) {
  const std::vector<std::uint32_t> points = {'c', 0xe9, 0x732b, 0x1f600, 0, 0};
  const std::string expected = "c\xc3\xa9\xe7\x8c\xab\xf0\x9f\x98\x80";
  EXPECT_EQ(text_of(element_bytes(points, ByteOrder::kLittle), DType::kUnicode), expected);
  EXPECT_EQ(text_of(element_bytes(points, ByteOrder::kBig), DType::kUnicode, ByteOrder::kBig), expected);
  EXPECT_EQ(text_of(element_bytes(std::vector<std::uint32_t>{0xd800, 0x110000}, ByteOrder::kLittle), DType::kUnicode),
            "\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace dpreduce::element_conversion_test
