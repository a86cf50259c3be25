
#include "common/data/element_conversion.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::stored_names_test {

std::string text_of(const std::string& element, DType dtype, ByteOrder order = ByteOrder::kLittle) {
  std::string buffer;
  return std::string(stored_name(as_bytes_of(element), dtype, order, buffer));
}

TEST(StoredNames, BytesEndBeforeTheZerosThatFillThemUp) {
  EXPECT_EQ(text_of(std::string("cat\0\0", 5), DType::kBytes), "cat");
  EXPECT_EQ(text_of(std::string("a\0b\0", 4), DType::kBytes), std::string("a\0b", 3));
  EXPECT_EQ(text_of(std::string(3, '\0'), DType::kBytes), "");
  EXPECT_EQ(text_of("caf\xe9", DType::kBytes), "caf\xe9");  // no UTF-8, so no class
}

TEST(StoredNames, CodePointsOfEitherByteOrderBecomeUtf8) {
  const std::vector<std::uint32_t> points = {'c', 0xe9, 0x732b, 0x1f600, 0, 0};
  const std::string expected = "c\xc3\xa9\xe7\x8c\xab\xf0\x9f\x98\x80";
  EXPECT_EQ(text_of(element_bytes(points, ByteOrder::kLittle), DType::kUnicode), expected);
  EXPECT_EQ(text_of(element_bytes(points, ByteOrder::kBig), DType::kUnicode, ByteOrder::kBig), expected);
  EXPECT_EQ(text_of(element_bytes(std::vector<std::uint32_t>{0xd800, 0x110000}, ByteOrder::kLittle), DType::kUnicode),
            "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(StoredNames, NumbersAreNoNames) {
  EXPECT_THROW(text_of("abcd", DType::kInt32), std::logic_error);
  EXPECT_THROW(text_of("abc", DType::kUnicode), std::logic_error);
}

}  // namespace dpreduce::stored_names_test
