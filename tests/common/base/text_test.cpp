#include "common/base/text.hpp"

#include "tests/testing.hpp"

namespace dpreduce::text_test {

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

TEST(Utf8, NothingInQuotesOrShownReachesATerminalAsACommand) {
  EXPECT_EQ(in_quotes("Müller"), "\"Müller\"");
  EXPECT_EQ(in_quotes("\x1b[2J\n\xff"), "\"\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(in_quotes(std::string(61, 'x')), "\"" + std::string(60, 'x') + "...\"");
  EXPECT_EQ(shown_text("a b~", 4), "a b~");
  EXPECT_EQ(shown_text("a\n\x1b[2J\x7f\xc2\x9b", 100), "a??[2J???");
  EXPECT_EQ(shown_text(std::string(100, 'x'), 32), std::string(32, 'x'));
  EXPECT_EQ(shown_text("", 32), "");
}

const std::vector<std::string> kNames{"epsilon", "delta", "model", "mean", "calibrate", "convert", "compose"};

TEST(NearestName, CountsEditsAndFindsWhatWasMeantAndNothingThatIsFarFromAll) {
  EXPECT_EQ(nearest_name("epsilonn", kNames), "epsilon");
  EXPECT_EQ(nearest_name("modle", kNames), "model");
  EXPECT_EQ(nearest_name("Mean", kNames), "mean");
  EXPECT_EQ(nearest_name("cal", kNames), "calibrate");
  EXPECT_EQ(nearest_name("co", kNames), "") << "the beginning of more than one";
  for (const char* name : {"gaussian", "", "xy"}) EXPECT_EQ(nearest_name(name, kNames), "") << name;
  EXPECT_EQ(nearest_name("epsilon", {}), "");
  EXPECT_EQ(did_you_mean("modle", kNames), "; did you mean model?");
  EXPECT_EQ(did_you_mean("gaussian", kNames), "");
  const std::tuple<const char*, const char*, std::size_t> known[] = {
      {"", "", 0},           {"abc", "", 3},      {"", "ab", 2},           {"epsilonn", "epsilon", 1},
      {"modle", "model", 1}, {"Mean", "mean", 0}, {"kitten", "sitting", 3}};
  for (const auto& [first, second, edits] : known) EXPECT_EQ(edits_between(first, second), edits) << first;
}

TEST(RankPattern, IsFoundAndReplacedWhereverItStands) {
  EXPECT_EQ(with_rank("silo{rank}/x{rank}.npy", 12), "silo12/x12.npy");
  EXPECT_EQ(with_rank("{rank}", 0), "0");
  EXPECT_EQ(with_rank("{Rank}{ran}k}", 3), "{Rank}{ran}k}");
  EXPECT_EQ(with_rank("", 3), "");
  EXPECT_TRUE(has_rank("a{rank}"));
  EXPECT_FALSE(has_rank("a{rank"));
  EXPECT_TRUE(has_rank(std::vector<std::string>{"a", "{rank}b"}));
  EXPECT_FALSE(has_rank(std::vector<std::string>{}));
}

}  // namespace dpreduce::text_test
