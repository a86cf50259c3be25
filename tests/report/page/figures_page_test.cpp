// What a page shows of figures that have noise.
#include "common/base/error.hpp"
#include "report/document_sections.hpp"
#include "tests/report/page/page_documents.hpp"
#include "tests/testing.hpp"

namespace dpreduce::figures_page_test {

using nlohmann::json;

TEST(Page, DrawsSharesOverSharesInASquareWithItsDiagonal) {
  const std::string page = page_of_report(evaluation_of_model());
  expect_shown(page, {"\"diagonal\":\"blind guessing\"", "\"diagonal\":\"a calibrated model\""});
  EXPECT_EQ(count_of(page, "\"band\":\"its interval\""), 2u);
}

TEST(Page, SaysWhichOfTwoModelsIsBetterAndHowProbablyThatIs) {
  json report = evaluation_of_model();
  report["model_names"] = {"old", "new"};
  report["metrics"]["accuracy_b"] = report["metrics"]["accuracy"];
  report["metrics"]["difference"] =
      json{{"value", 0.01}, {"low", -0.02}, {"high", 0.04}, {"noise", 0.01}, {"b_is_better", 0.84}};
  const std::string page = page_of_report(report);
  expect_shown(page, {"<h1>old and new</h1>", "<p>With probability 84.0 % new is better than old.", "accuracy of old",
                      "accuracy of new", "new less old", "<data value=\"-0.02\">-2.0 %</data>",
                      "<data value=\"0.04\">+4.0 %</data>", "<data value=\"0.0078125\">0.79 %</data>"});
}

TEST(Page, FiguresWithNoiseArePublicEachWithItsInterval) {
  for (const json& report : {report_with_told(), evaluation_of_model()}) {
    const std::string page = page_of_report(report, Audience::kPublic);
    expect_shown(page, {"81.2 %", "78.1 %", "84.4 %", "1.25", "Recall, each with its interval", ">well</bdi>",
                        ">ill</bdi>", "too little data", "<table data-intervals=\"of one kind\">",
                        "<table data-intervals=\"of several kinds\">", "Calibration", "ROC curve", "71.9 %",
                        "Confusion", "as ill", ">40<"});
    expect_hidden(page, {"section class=\"owners\"", "value=\"-4"});  // no count below 0
  }
  EXPECT_THAT(page_of_report(evaluation_of_model()), HasSubstr("How good a model is, epsilon 2"));
}

TEST(Page, FiguresOfNumbersHaveNoScaleOfSharesAndAreToldOfEachTarget) {
  json report = evaluation_of_model();
  report.erase("class_names");
  report["metrics"] = json::parse(R"({"r2": {"value": 0.5, "low": -0.25, "high": 0.75, "noise": 0.125},
    "r2_by_target": [{"target": 0, "value": 0.625, "low": 0.5, "high": 0.75, "noise": 0.125},
                     {"target": 1, "value": 0.375, "low": -1.0, "high": 0.75, "noise": 0.125}],
    "rmse_by_target": [{"target": 0, "value": 1250.5, "low": 0.0, "high": 27103.4, "noise": 250.0},
                       {"target": 1, "value": 1.25e-06, "low": 1e-06, "high": 1.5e-06, "noise": 1e-07}]})");
  const PageDocument document = fit_of(report);
  const std::string page = page_of_one(document, Audience::kPublic);
  EXPECT_THAT(page, HasSubstr("<caption>R^2 by target, each with its interval</caption>"));
  const std::string card = markdown_of(test_section(*document.run, JsonFields(report, "r.json"), false));
  EXPECT_THAT(card, AllOf(HasSubstr("RMSE by target, each with its interval:\n"),
                          HasSubstr("| target 0 | 1250.5 | 0 | 27103.4 | 250 |"),
                          HasSubstr("| target 1 | 1.25e-06 | 1e-06 | 1.5e-06 | 1e-07 |")));
}

TEST(Page, SideBySideThePublicSeesAccuraciesWithNoiseAndNoExactOnes) {
  const std::vector documents{fit_of(small_report()), fit_of(report_with_told())};
  const std::string page = page_of(documents, Audience::kPublic);
  EXPECT_THAT(page, HasSubstr("81.2 %"));
  EXPECT_THAT(page, Not(HasSubstr("95.3 %")));
  EXPECT_THAT(page_of(documents), HasSubstr("95.3 %"));
}

TEST(Page, FiguresWithNoiseOfASeedAreForTheOwnerAndRefusedOutsideOfTheirRange) {
  json report = evaluation_of_model();
  report["private"] = false;
  report["privacy"]["forfeited_by"] = {"seed"};
  EXPECT_THAT(page_of_report(report), HasSubstr("81.2 %"));
  EXPECT_THAT(page_of_report(report, Audience::kPublic), Not(HasSubstr("81.2 %")));
  report["metrics"]["accuracy"]["high"] = 1.5;
  EXPECT_THROW(fit_of(report), BadInput);
  report["metrics"]["accuracy"].erase("high");
  EXPECT_THROW(fit_of(report), BadInput);
}

}  // namespace dpreduce::figures_page_test
