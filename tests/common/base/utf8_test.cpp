#include "common/base/utf8.hpp"

#include "tests/testing.hpp"

namespace dpreduce::utf8_test {

TEST(Utf8, CodePointsOfEachLengthComeBack) {
  std::string text;
  const std::vector<char32_t> points = {1, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
  for (const char32_t point : points) append_code_point(point, text);
  EXPECT_EQ(text.size(), 1u + 1 + 2 + 2 + 3 + 3 + 3 + 3 + 4 + 4);
  EXPECT_TRUE(is_utf8(text));
  std::string_view rest = text;
  for (const char32_t point : points) EXPECT_EQ(take_code_point(rest), point);
  EXPECT_TRUE(rest.empty());
}

TEST(Utf8, WhatIsNoTextIsFound) {
  EXPECT_TRUE(is_utf8(""));
  for (const std::string bytes :
       {"\xff", "\x80", "a\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x9f\x98"}) {
    EXPECT_FALSE(is_utf8(bytes)) << bytes.size();
    std::string_view rest = bytes;
    std::size_t bad = 0;
    while (!rest.empty()) bad += take_code_point(rest) == kReplacementCharacter ? 1 : 0;
    EXPECT_GE(bad, 1u);
  }
  std::string text;
  append_code_point(0xd800, text);
  append_code_point(0x110000, text);
  EXPECT_EQ(text, "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Utf8, NothingInQuotesReachesATerminalAsACommand) {
  EXPECT_EQ(in_quotes("Müller"), "\"Müller\"");
  EXPECT_EQ(in_quotes("\x1b[2J\n\xff"), "\"\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(in_quotes(std::string(61, 'x')), "\"" + std::string(60, 'x') + "...\"");
}

}  // namespace dpreduce::utf8_test
