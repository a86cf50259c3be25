// What terminals, cards and pages say of the coefficients of a regression.
#include "common/base/error.hpp"
#include "report/document_sections.hpp"
#include "tests/report/page/page_documents.hpp"
#include "tests/testing.hpp"

namespace dpreduce::coefficients_test {

using nlohmann::json;

json report_of_numbers() {
  json report = small_report();
  for (const char* of_classes : {"classes", "test", "silos"}) report.erase(of_classes);
  report["targets"] = 1;
  report["clip_norm"] = 2.5;
  report["coefficients"] = json::parse(R"({"columns": 3, "level": 0.95, "about": "population",
    "targets": [{"target": 0, "intercept": 17287.25, "range_low": -50000, "range_high": 250000}],
    "largest": [{"target": 0, "column": 0, "name": "size <m>", "coefficient": 903.5, "over_range": 162630.25, "low": 880.25, "high": 925.5,
                 "range_low": 20, "range_high": 200},
                {"target": 0, "column": 1, "name": "age", "coefficient": -1200.75, "over_range": -96060, "low": -1300.5, "high": -1100.5,
                 "range_low": 0, "range_high": 80},
                {"target": 0, "column": 2, "name": "rooms", "coefficient": 0.5, "over_range": 3.5, "low": -2, "high": 3,
                 "range_low": 1, "range_high": 8}]})");
  return report;
}

std::string page_with(const json& report, Audience audience = Audience::kPublic) {
  return page_of_report(report, audience);
}

std::string text_with(const json& report) {
  return text_of(coefficients_section(JsonFields(report, "r.json")));
}

TEST(Coefficients, ArePublicWithIntervalsRangesAndUnitsOnThePage) {
  expect_shown(page_with(report_of_numbers()),
               {"<h3 id=\"document-1-2-title\">The coefficients", "<table data-intervals=\"of several kinds\">",
                "<caption>Coefficients, in units of the target per unit of the column</caption>",
                "<bdi>size &lt;m&gt;</bdi>", "<data value=\"162630.25\">162,630</data>",
                "<data value=\"-1200.75\">-1,201</data>", "<data value=\"17287.25\">17,287</data>", "probability 95 %",
                "least squares in the population", "one variance about their regression", ">range from</th>"});
}

TEST(Coefficients, AreTheSameInTextAndInMarkdown) {
  const Section section = coefficients_section(JsonFields(report_of_numbers(), "r.json"));
  EXPECT_THAT(text_of(section), AllOf(HasSubstr("a prediction is the intercept plus each coefficient times its column"),
                                      HasSubstr("size <m>"), HasSubstr("-1200.75"), HasSubstr("17287.2")));
  EXPECT_THAT(markdown_of(section), AllOf(HasSubstr("## The coefficients\n\n- a prediction is"),
                                          HasSubstr("| age | -1200.75 | -1300.5 | -1100.5 | -96060 | 0 | 80 |"),
                                          HasSubstr("Targets:\n\n| target | intercept | range from | range to |\n")));
}

TEST(Coefficients, NamesOfColumnsBreakNoLineAndTellATerminalNothing) {
  json report = report_of_numbers();
  for (json& one : report["coefficients"]["largest"])
    one["name"] = "a|\n\nPrivacy\n=======\n\x1b[2J\xc2\x9b\xe2\x80\xae";
  const Section section = coefficients_section(JsonFields(report, "r.json"));
  for (const std::string& text : {markdown_of(section), text_of(section), page_with(report)}) {
    EXPECT_THAT(text, AllOf(HasSubstr("Privacy"), Not(HasSubstr("\x1b")), Not(HasSubstr("\xc2\x9b")),
                            Not(HasSubstr("\xe2\x80\xae"))));
  }
  EXPECT_THAT(markdown_of(section) + text_of(section), Not(HasSubstr("\nPrivacy")));
}

TEST(Coefficients, OfManyColumnsAndTargetsTheLargestAreNamedAndIntervalsThatAreAboutTheRowsSaySo) {
  json report = report_of_numbers();
  report["targets"] = 2;
  report["coefficients"]["columns"] = 300;
  EXPECT_THAT(text_with(report), AllOf(HasSubstr("3 of 600 coefficients are listed"), HasSubstr("target")));
  report["coefficients"]["about"] = "these rows";
  EXPECT_THAT(text_with(report), AllOf(HasSubstr("least squares on these rows"), Not(HasSubstr("population"))));
}

TEST(Coefficients, WhereThereAreNoIntervalsOrNoneOfColumnsItIsSaidWhy) {
  json report = report_of_numbers();
  json& told = report["coefficients"];
  told.erase("level");
  told["why"] = "too much noise";
  for (json& one : told["largest"]) {
    for (const char* member : {"low", "high", "over_range", "range_low", "range_high"}) one.erase(member);
  }
  EXPECT_THAT(text_with(report), AllOf(HasSubstr("no intervals: too much noise\n"), Not(HasSubstr("over the"))));
  EXPECT_FALSE(has(page_with(report), "data-intervals=\"of several"));
  told = {{"why", "rows are of one length"}};
  EXPECT_EQ(text_with(report), "The coefficients\nno coefficients of columns: rows are of one length\n");
  report.erase("coefficients");
  EXPECT_EQ(text_with(report), "");
}

TEST(Coefficients, OfARunThatIsNotPrivateTheyAreForTheOwner) {
  json report = report_of_numbers();
  report["private"] = false;
  report["privacy"]["forfeited_by"] = {"seed"};
  EXPECT_FALSE(has(page_with(report), "The coefficients"));
  EXPECT_TRUE(has(page_with(report, Audience::kOwner), "The coefficients"));
}

TEST(Coefficients, AreRefusedWhereTheyAreNoNumbers) {
  json report = report_of_numbers();
  report["coefficients"]["largest"][0]["low"] = "880";
  EXPECT_THROW(page_with(report), BadInput);
}

}  // namespace dpreduce::coefficients_test
