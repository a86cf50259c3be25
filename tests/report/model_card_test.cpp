// What a card says beside the words of privacy explain; tests/python/models_elsewhere_test.py has the rest.
#include "report/model_card.hpp"

#include "common/base/error.hpp"
#include "tests/report/page/page_documents.hpp"
#include "tests/testing.hpp"

namespace dpreduce::model_card_test {

using nlohmann::json;

// Of two classes, tested on rows of its own.
json report_of_mean() {
  return json::parse(R"({
    "version": "0.1.0", "method": "mean", "private": true, "classes": 2, "input_dim": 3, "normalize": "l2",
    "clip_norm": 1.0, "center": "dp", "model": "m.safetensors", "class_names": ["well", "ill_*"],
    "privacy": {"epsilon": 2.0, "delta": 1e-05, "mu": 0.5, "rho": 0.125, "adjacency": "add-remove", "accountant": "gdp",
      "releases": [{"name": "class_sums", "release": "class_means", "coordinates": 6, "sensitivity": 32767.0,
                    "sigma": 131068.0, "mu": 0.25}], "selections": []},
    "test": {"accuracy": 0.953125, "balanced_accuracy": 0.9515, "rows": 6400, "per_class": [0.96875, null],
             "per_class_precision": [0.9, 0.91], "per_class_support": [3307, 3093], "note": "about the test rows"}
  })");
}

// A choice alone, which is pure.
json report_of_choice() {
  json report = report_of_mean();
  report["method"] = "public";
  report["privacy"].update({{"delta", 0.0}, {"mu", 1.25}, {"rho", 0.5}});
  report["privacy"]["releases"] = json::array();
  report["privacy"]["selections"] = {{{"name", "prototypes"}, {"epsilon", 2.0}, {"candidates", 10}}};
  return report;
}

// Of persons, among silos that add shares of the noise.
json report_of_silos() {
  json report = report_of_mean();
  report["privacy"].update({{"unit", "person"}, {"rows_per_person", 3}, {"silos_per_person", 2}});
  report["silos"] = {{"identities", "roster"}, {"colluding", 1}, {"noise", {{"source", "distributed"}}}};
  return report;
}

std::string card_of(const json& report, bool has_report = true,
                    const std::optional<ReportedRun>& evaluation = std::nullopt) {
  const auto classes = report["classes"].get<std::size_t>();
  std::vector<std::string> names = report["class_names"].get<std::vector<std::string>>();
  if (names.size() != classes) names.clear();
  const ClassifierParts parts{
      .method = report["method"],
      .privacy = PrivacyStatement{2.0, 1e-5, 0.5, 0.125, Adjacency::kAddRemove},
      .preprocessing = {.input_dim = 3, .normalize = Normalize::kL2, .clip_norm = 1.0, .center = {}},
      .classes = classes,
      .weights = std::vector<double>(3 * classes),
      .bias = std::vector<double>(classes),
      .cosine_head = {},
      .class_names = names};
  return model_card(Classifier(parts), "m.safetensors",
                    has_report ? std::optional(reported_run(report, "r.json")) : std::nullopt, evaluation);
}

TEST(ModelCard, AFaultOfTheEvaluationIsThatOfItsReport) {
  json evaluation = evaluation_of_model();
  evaluation["metrics"]["confusion"]["counts"][0][0] = json::array();
  expect_refusal<BadInput>([&] { card_of(report_of_mean(), true, reported_run(evaluation, "e.json")); },
                           {"e.json: 'metrics.confusion.counts'"});
}

TEST(ModelCard, SaysHowReleasesAddUpAndWhatFloatingPointAndTimesTell) {
  EXPECT_THAT(card_of(report_of_mean()),
              AllOf(HasSubstr("### How releases add up\n\n- releases add up in Gaussian DP"),
                    HasSubstr("other releases about the same records, whose costs add up"),
                    HasSubstr("### Floating point and times"), HasSubstr("noise is a Gaussian rounded exactly"),
                    HasSubstr("times in the ledger are whole minutes"), Not(HasSubstr("drawn exactly"))));
  EXPECT_THAT(card_of(report_of_choice()),
              AllOf(HasSubstr("private choices alone, whose epsilons add up"),
                    HasSubstr("drawn exactly from integer utilities"), Not(HasSubstr("real Gaussian"))));
}

TEST(ModelCard, HasTheCommandThatTriesToRefuteThePromise) {
  EXPECT_THAT(card_of(report_of_mean()),
              HasSubstr("\ndpreduce audit --method mean --epsilon 2 --delta 1e-05 --adjacency add-remove\n"));
  EXPECT_THAT(card_of(report_of_choice()), HasSubstr("--method public --epsilon 2 --adjacency"));
  EXPECT_THAT(card_of(report_of_silos()), HasSubstr("--rows-per-person 3\n"));
  json seeded = report_of_mean();
  seeded["private"] = false;
  seeded["privacy"]["forfeited_by"] = {"seed"};
  EXPECT_THAT(card_of(seeded), AllOf(Not(HasSubstr("dpreduce audit")), Not(HasSubstr("### How releases add up"))));
}

TEST(ModelCard, HasTheFiguresOfEachClassAndNoCountUnlessTheyAreAboutTrainingRows) {
  EXPECT_THAT(card_of(report_of_mean()),
              AllOf(HasSubstr("**Outside of the guarantee**"), HasSubstr("| class | recall | precision |"),
                    HasSubstr("| well | 0.969 | 0.900 |"), HasSubstr("| ill\\_\\* | none | 0.910 |"),
                    Not(HasSubstr("3307")), Not(HasSubstr("6400"))));
  json report = report_of_mean();
  report["test"]["rows_are_training_rows"] = true;
  EXPECT_THAT(card_of(report), AllOf(Not(HasSubstr("class by class")), Not(HasSubstr("0.969"))));
}

TEST(ModelCard, OfManyClassesItHasTheWorst) {
  json report = report_of_mean();
  report["classes"] = 300;
  report["class_names"] = json::array();
  report["test"] = {{"per_class", json::array()}};
  for (int c = 0; c < 300; ++c) report["test"]["per_class"].push_back(c == 250 ? 0.125 : 0.5 + c / 1000.0);
  EXPECT_THAT(card_of(report),
              AllOf(HasSubstr("The 100 of 300 classes with the lowest recall:\n"), HasSubstr("| 250 | 0.125 |"),
                    HasSubstr("| 98 | 0.598 |"), Not(HasSubstr("| 99 | "))));
}

TEST(ModelCard, WithoutAReportSaysWhatTheModelPromises) {
  EXPECT_THAT(card_of(report_of_mean(), false),
              AllOf(HasSubstr("| epsilon | 2 |"), HasSubstr("an attacker who knows all other records"),
                    HasSubstr("### The rest\n\n- what was released"), Not(HasSubstr("dpreduce audit"))));
}

TEST(ModelCard, OfNoisedFiguresOfManyClassesItHasTheNumber) {
  json report = report_of_mean();
  report["classes"] = 30;
  report["class_names"] = json::array();
  report["test"] = {{"level", 0.95}, {"metrics", {{"recall", json::array()}}}};
  for (int c = 0; c < 30; ++c) {
    report["test"]["metrics"]["recall"].push_back(
        {{"class", c}, {"value", 0.5}, {"low", 0.25}, {"high", 0.75}, {"noise", 0.125}});
  }
  EXPECT_THAT(card_of(report), AllOf(HasSubstr("All figures of recall are in the report (30 lines).\n"),
                                     Not(HasSubstr("| 29 |")), Not(HasSubstr("Outside of the guarantee"))));
}

// Whether data are anonymous, or a law is met, is not for a program to say.
TEST(ModelCard, ClaimsNothingOfLaws) {
  for (const json& report : {report_of_mean(), report_of_choice(), report_of_silos()}) {
    std::string text = card_of(report);
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const char* word : {"anonym", "gdpr", "hipaa", "complian", "legal", "de-identif", "guarantees privacy"}) {
      EXPECT_THAT(text, Not(HasSubstr(word)));
    }
  }
}

}  // namespace dpreduce::model_card_test
