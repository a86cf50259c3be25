// Text of facts and tables within the width of a terminal.
#include "report/sections.hpp"

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

TEST(TextOfSection, HasFactsAndSentencesUnderItsTitleAndNoFoldedTable) {
  Table folded = table_of_releases();
  folded.summary = "All releases";
  const Section section{"Spent",
                        {Facts{{"epsilon", at_most(1.0)}}, folded, Words{{}, {"as if about the same records"}}}};
  EXPECT_EQ(text_of(section), "Spent\nepsilon    1\nas if about the same records\n");
  EXPECT_EQ(text_of(Section{"Spent", {folded, Facts{}}}), "");
}

// Captions and headings may hold names of files and classes, as cells do.
TEST(MarkdownOfSection, EscapesAllThatMayBeANameAndSaysOnlyHowLongAFoldedTableIs) {
  Table table{.caption = "of <b>", .columns = {"class", "as *ill*|"}};
  table.add({"well\n# x", figure(3.0)});
  Table folded = table;
  folded.summary = "All of <b>";
  const Section section{"Counts", {Alarm{"a *weak* guarantee"}, table, folded, Words{"Why", {"for _all_"}}}, "exact"};
  EXPECT_EQ(markdown_of(section),
            "## Counts\n\n**Outside of the guarantee**: exact.\n\n**a \\*weak\\* guarantee**\n\nof \\<b\\>:\n\n"
            "| class | as \\*ill\\*\\| |\n| --- | --- |\n| well\ufffd\\# x | 3 |\n\n"
            "All of \\<b\\> are in the report (1 lines).\n\n### Why\n\n- for \\_all\\_\n\n");
  EXPECT_EQ(markdown_of(Section{"Counts", {Chart{}, Words{}}, "exact"}), "");
}

}  // namespace dpreduce::sections_test
