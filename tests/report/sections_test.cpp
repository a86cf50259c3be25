// Text of facts and tables within the width of a terminal.
#include "report/sections.hpp"

#include <algorithm>
#include <sstream>

#include "tests/testing.hpp"

namespace dpreduce::sections_test {

constexpr std::size_t kUnbounded = std::string::npos;

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(TextOfFacts, StaysInItsColumn) {
  const Facts facts{{"not covered", "running times, file sizes, and the memory of the machines"},
                    {"", "other releases"}};
  EXPECT_EQ(text_of(facts, 3, 40),
            "not covered running times, file sizes,\n"
            "            and the memory of the\n"
            "            machines\n"
            "            other releases\n");
  EXPECT_EQ(text_of(facts, 3, kUnbounded),
            "not covered running times, file sizes, and the memory of the machines\n            other releases\n");
}

Table table_of_releases() {
  Table table{.caption = "releases", .columns = {"block", "noise, standard deviation", "why"}};
  table.add({"gram", figure(131068.0), "sums of products of features"});
  table.add({"gradient of all rounds", figure(2.25), "a direction"});
  return table;
}

TEST(TextOfTable, BreaksHeadingsAndTextsAndNoNumbers) {
  EXPECT_EQ(text_of(table_of_releases(), 3, 50),
            "releases\n"
            "  block                   noise,   why\n"
            "                        standard\n"
            "                       deviation\n"
            "  gram                    131068   sums of\n"
            "                                   products of\n"
            "                                   features\n"
            "  gradient of               2.25   a direction\n"
            "  all rounds\n");
}

TEST(TextOfTable, IsWithinTheTerminalWhereItsNumbersAre) {
  for (const std::size_t columns : {50U, 60U, 70U})
    EXPECT_LE(longest_line(text_of(table_of_releases(), 3, columns)), columns);
  EXPECT_EQ(text_of(table_of_releases(), 3, kUnbounded),
            "releases\n"
            "  block                    noise, standard deviation   why\n"
            "  gram                                        131068   sums of products of features\n"
            "  gradient of all rounds                        2.25   a direction\n");
}

}  // namespace dpreduce::sections_test
