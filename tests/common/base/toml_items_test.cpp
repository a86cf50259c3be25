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

// Sections, dotted keys and inline tables are all one.
TEST(TomlItems, ComeInTheOrderOfTheText) {
  std::vector<std::string> told;
  for (const TomlItem& item : toml_items("z = 1\na = 2\nfit = { epsilon = 1 }\nsweep.seeds = 2\n[audit]\ny = 3\n"
                                         "[privacy.calibrate]\nb = 4\n")) {
    told.push_back(fmt::format("{}: {} of {}", item.line, item.key, fmt::join(item.section, ".")));
  }
  EXPECT_THAT(told, ElementsAre("1: z of ", "2: a of ", "3: epsilon of fit", "4: seeds of sweep", "6: y of audit",
                                "8: b of privacy.calibrate"));
  EXPECT_THAT(toml_items("# nothing\n"), IsEmpty());
}

TEST(TomlItems, NumbersAreDecimalHoweverTheyAreWrittenAndArraysMayHaveSeveralLines) {
  std::vector<std::string> values;
  for (const TomlItem& item : toml_items("rows = 1_000\nhex = 0x10\nepsilon = 0.1\nmu = 1e-3\nd = true\n")) {
    values.insert(values.end(), item.values.begin(), item.values.end());
  }
  EXPECT_THAT(values, ElementsAre("1000", "16", "0.1", "0.001", "true"));
  const std::vector<TomlItem> items = toml_items("x = [\n  'a#1.npy',  # the first\n  \"b\\u00e9.npy\",\n]\n");
  ASSERT_EQ(items.size(), 1U);
  EXPECT_THAT(items[0].values, ElementsAre("a#1.npy", "b\xc3\xa9.npy"));
}

TEST(TomlItems, WhatIsNoTomlAndDatesAndNestedArraysAreRefusedByTheirLine) {
  const std::pair<const char*, std::size_t> texts[] = {{"epsilon = 0.5\ndelta = 1e-6\nepsilon = 5\n", 3},
                                                       {"a = 1\nb = \n", 2},
                                                       {"a = 1\n\n[fit\n", 3},
                                                       {"a = unquoted\n", 1},
                                                       {"a = 1\nb = 1979-05-27\n", 2},
                                                       {"a = [[1], [2]]\n", 1},
                                                       {"[[fit]]\nb = 1\n", 1}};
  for (const auto& [text, line] : texts) EXPECT_EQ(line_of_error(text), line) << text;
}

}  // namespace dpreduce::toml_items_test
