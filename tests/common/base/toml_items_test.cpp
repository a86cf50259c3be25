#include "common/base/toml_items.hpp"

#include "tests/testing.hpp"

namespace dpreduce::toml_items_test {

std::size_t line_of_error(const std::string& text) {
  try {
    toml_items(text);
  } catch (const TomlError& error) {
    return error.line();
  }
  return 0;
}

TEST(TomlItems, ComeInTheOrderOfTheText) {
  const std::vector<TomlItem> items = toml_items("z = 1\na = 2\n[fit]\ny = 3\n[privacy.calibrate]\nb = 4\n");
  ASSERT_EQ(items.size(), 4U);
  EXPECT_EQ(items[0].key, "z");
  EXPECT_EQ(items[1].key, "a");
  EXPECT_EQ(items[2].key, "y");
  EXPECT_THAT(items[0].section, IsEmpty());
  EXPECT_THAT(items[2].section, ElementsAre("fit"));
  EXPECT_THAT(items[3].section, ElementsAre("privacy", "calibrate"));
  EXPECT_EQ(items[3].line, 6U);
  EXPECT_THAT(toml_items("# nothing\n"), IsEmpty());
}

TEST(TomlItems, ArraysMayHaveSeveralLinesAndComments) {
  const std::vector<TomlItem> items = toml_items("x = [\n  'a#1.npy',  # the first\n  \"b\\u00e9.npy\",\n]\n");
  ASSERT_EQ(items.size(), 1U);
  EXPECT_THAT(items[0].values, ElementsAre("a#1.npy", "b\xc3\xa9.npy"));
}

TEST(TomlItems, NumbersAreDecimalHoweverTheyAreWritten) {
  const std::vector<TomlItem> items = toml_items("rows = 1_000\nhex = 0x10\nepsilon = 0.1\nmu = 1e-3\nd = true\n");
  ASSERT_EQ(items.size(), 5U);
  const std::vector<std::string> expected = {"1000", "16", "0.1", "0.001", "true"};
  for (std::size_t item = 0; item < 5; ++item) EXPECT_THAT(items[item].values, ElementsAre(expected[item]));
}

TEST(TomlItems, InlineTablesAndDottedKeysAreSections) {
  const std::vector<TomlItem> items = toml_items("fit = { epsilon = 1 }\nsweep.seeds = 2\n");
  ASSERT_EQ(items.size(), 2U);
  EXPECT_THAT(items[0].section, ElementsAre("fit"));
  EXPECT_THAT(items[1].section, ElementsAre("sweep"));
  EXPECT_EQ(items[1].key, "seeds");
}

TEST(TomlItems, WhatIsNoTomlIsRefusedByItsLine) {
  EXPECT_EQ(line_of_error("epsilon = 0.5\ndelta = 1e-6\nepsilon = 5\n"), 3U) << "a key that is there twice";
  EXPECT_EQ(line_of_error("a = 1\nb = \n"), 2U);
  EXPECT_EQ(line_of_error("a = 1\n\n[fit\n"), 3U);
  EXPECT_EQ(line_of_error("a = unquoted\n"), 1U);
}

TEST(TomlItems, DatesAndNestedArraysAreRefused) {
  EXPECT_EQ(line_of_error("a = 1\nb = 1979-05-27\n"), 2U);
  EXPECT_EQ(line_of_error("a = [[1], [2]]\n"), 1U);
  EXPECT_EQ(line_of_error("[[fit]]\nb = 1\n"), 1U);
}

}  // namespace dpreduce::toml_items_test
