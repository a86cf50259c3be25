// Figures of releases without noise are the exact ones; of noised ones they have intervals.
#include "evaluate/private_figures.hpp"

#include <nlohmann/json.hpp>

#include "tests/testing.hpp"

namespace dpreduce::private_figures_test {

using M = EvaluationMetric;

Release release_of(std::vector<std::pair<std::string, std::vector<std::int64_t>>> blocks, double sigma) {
  std::vector<ReleasedBlock> released;
  for (auto& [name, values] : blocks) released.emplace_back(name, std::move(values), sigma);
  return Release(std::move(released));
}

TEST(PrivateFigures, AccuracyTakesBothOfItsNoisedVersions) {
  const EvaluationTerms terms{.metrics = {M::kAccuracy, M::kRecall}, .classes = 2};
  const Release release = release_of({{"totals", {9000, 1000}}, {"by_class", {4600, 400, 4400, 600}}}, 10.0);
  const PrivateFigures figures = private_figures(release, terms, 0.95);
  EXPECT_NEAR(figures.accuracy->value, 0.9, 1e-9);
  // Variances 100 and 200 of the same counts.
  EXPECT_NEAR(figures.accuracy->noise, std::hypot(0.9, 0.1) * std::sqrt(100.0 * 200.0 / 300.0) / 10000, 1e-9);
  EXPECT_NEAR(figures.recall[0].value, 0.92, 1e-3);
  EXPECT_NEAR(figures.recall[1].value, 0.88, 1e-3);
  EXPECT_NEAR(figures.balanced_accuracy->value, 0.9, 1e-3);
  EXPECT_NEAR(figures.balanced_accuracy->deviation,
              std::hypot(figures.recall[0].deviation, figures.recall[1].deviation) / 2, 1e-12);
}

TEST(PrivateFigures, LossesAreMeansOverNoisedRows) {
  const EvaluationTerms terms{.metrics = {M::kBrier, M::kLogLoss}, .classes = 10, .has_probabilities = true};
  const Release release = release_of({{"totals", {700, 300}}, {"log_loss", {8192000}}, {"brier", {3276800}}}, 2.0);
  const PrivateFigures figures = private_figures(release, terms, 0.95);
  EXPECT_NEAR(figures.log_loss->value, 0.25 * largest_log_loss(10), 1e-9);
  EXPECT_NEAR(figures.brier->value, 0.1 * 2.0, 1e-9);
  EXPECT_FALSE(figures.accuracy);
}

TEST(PrivateFigures, TheAreaUnderTheCurveOfHistogramsCountsTiesHalf) {
  const Estimate all = estimate_auc({0, 0, 100}, {100, 100, 0}, 0.0, 0.95);
  EXPECT_EQ(all.value, 1.0);
  EXPECT_EQ(estimate_auc({10, 10, 10}, {10, 10, 10}, 0.0, 0.95).value, 0.5);
  const Estimate some = estimate_auc({10, 30, 60}, {50, 30, 20}, 0.0, 0.95);
  EXPECT_NEAR(some.value, (10 * 25 + 30 * 65 + 60 * 90) / 10000.0, 1e-12);
  const Estimate noised = estimate_auc({10, 30, 60}, {500, 300, 200}, 3.0, 0.95);
  EXPECT_NEAR(noised.noise, 3.0 * std::hypot(0.01, 0.001), 1e-9);
  EXPECT_LT(noised.low, noised.value);
}

TEST(PrivateFigures, InJsonEveryFigureHasItsInterval) {
  EvaluationTerms terms;
  terms.metrics.clear();
  for (const auto& [spelling, metric] : spellings<M>) terms.metrics.push_back(metric);
  terms.classes = 2;
  terms.top_k = 1;
  terms.has_probabilities = true;
  const Release release = release_of({{"totals", {90, 10}},
                                      {"by_class", {45, 5, 45, 5}},
                                      {"by_prediction", {45, 5, 45, 5}},
                                      {"confusion", {45, 5, 5, 45}},
                                      {"top_k", {90, 10}},
                                      {"calibration", std::vector<std::int64_t>(2 * kCalibrationBins, 3)},
                                      {"scores", std::vector<std::int64_t>(2 * kScoreBins, 3)},
                                      {"log_loss", {900000}},
                                      {"brier", {900000}}},
                                     1.0);
  const nlohmann::json json = to_json(private_figures(release, terms, 0.9), terms);
  for (const char* name : {"accuracy", "balanced_accuracy", "top_k", "auc", "log_loss", "brier"}) {
    for (const char* member : {"value", "low", "high", "noise"}) {
      EXPECT_TRUE(json.at(name).contains(member)) << name << " " << member;
    }
    EXPECT_LE(json[name]["low"], json[name]["value"]) << name;
    EXPECT_GE(json[name]["high"], json[name]["value"]) << name;
  }
  EXPECT_EQ(json["recall"].size(), 2U);
  EXPECT_EQ(json["precision"][1]["class"], 1);
  EXPECT_EQ(json["confusion"]["counts"][1][0], 5.0);
  EXPECT_EQ(json["confusion"]["noise"], 1.0);
  EXPECT_EQ(json["calibration"].size(), kCalibrationBins);
  const Release loud = release_of({{"totals", {3, -2}}}, 50.0);
  const nlohmann::json nothing = to_json(private_figures(loud, {.metrics = {M::kAccuracy}, .classes = 2}, 0.95),
                                         {.metrics = {M::kAccuracy}, .classes = 2});
  EXPECT_TRUE(nothing["accuracy"]["value"].is_null());
  EXPECT_THAT(nothing["accuracy"]["note"].get<std::string>(), HasSubstr("too little data"));
}

}  // namespace dpreduce::private_figures_test
