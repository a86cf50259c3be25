// Figures of releases without noise are the exact ones; of noised ones they have intervals.
#include <nlohmann/json.hpp>

#include "tests/testing.hpp"
#include "worker/metrics/calibration.hpp"
#include "worker/metrics/estimates.hpp"
#include "worker/metrics/metric_entry.hpp"
#include "worker/metrics/score_curve.hpp"

namespace dpreduce::private_figures_test {

using M = EvaluationMetric;

using Blocks = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

Release release_of(Blocks blocks, double sigma) {
  std::vector<ReleasedBlock> released;
  for (auto& [name, values] : blocks) released.emplace_back(name, std::move(values), sigma);
  return Release(std::move(released));
}

nlohmann::json figures_of(const EvaluationTerms& terms, Blocks blocks, double sigma) {
  return private_figures({release_of(std::move(blocks), sigma)}, terms, 0.95);
}

double number(const nlohmann::json& figure, const char* member) {
  return figure.at(member).get<double>();
}

int holds(const Estimate& figure, double truth) {
  return figure.low <= truth && truth <= figure.high ? 1 : 0;
}

TEST(PrivateFigures, AccuracyTakesBothOfItsNoisedVersions) {
  const EvaluationTerms terms{.metrics = {M::kAccuracy, M::kRecall}, .classes = 2};
  const nlohmann::json figures =
      figures_of(terms, {{"totals", {9000, 1000}}, {"by_class", {4600, 400, 4400, 600}}}, 10.0);
  EXPECT_NEAR(number(figures["accuracy"], "value"), 0.9, 1e-9);
  // Variances 100 and 200 of the same counts.
  EXPECT_NEAR(number(figures["accuracy"], "noise"), std::hypot(0.9, 0.1) * std::sqrt(100.0 * 200.0 / 300.0) / 10000,
              1e-9);
  EXPECT_NEAR(number(figures["recall"][0], "value"), 0.92, 1e-3);
  EXPECT_NEAR(number(figures["recall"][1], "value"), 0.88, 1e-3);
  EXPECT_NEAR(number(figures["balanced_accuracy"], "value"), 0.9, 1e-3);
  const nlohmann::json loud = figures_of(terms, {{"totals", {9000, 1000}}, {"by_class", {46, 4, 44, 6}}}, 200.0);
  EXPECT_TRUE(loud["balanced_accuracy"]["value"].is_null());
  const auto below = [](const nlohmann::json& figure) { return number(figure, "value") - number(figure, "low"); };
  EXPECT_NEAR(below(figures["balanced_accuracy"]),
              std::hypot(below(figures["recall"][0]), below(figures["recall"][1])) / 2,
              1e-5);  // their biases are small
}

// How many of 1,000 intervals of balanced accuracy hold it: of rows in classes of these shares, with these recalls.
int balanced_intervals_that_hold(int rows, const std::vector<double>& shares, const std::vector<double>& recalls,
                                 double sigma) {
  std::mt19937_64 engine(57);
  std::normal_distribution<double> noise(0.0, sigma);
  std::discrete_distribution<std::size_t> label(shares.begin(), shares.end());
  const double truth = std::accumulate(recalls.begin(), recalls.end(), 0.0) / static_cast<double>(recalls.size());
  int held = 0;
  for (int run = 0; run < 1000; ++run) {
    std::vector<double> counts(2 * shares.size(), 0.0);
    for (int row = 0; row < rows; ++row) {
      const std::size_t c = label(engine);
      ++counts[2 * c + (std::bernoulli_distribution(recalls[c])(engine) ? 0 : 1)];
    }
    std::vector<std::int64_t> noised;
    for (const double count : counts) noised.push_back(std::llround(count + noise(engine)));
    const nlohmann::json told = figures_of({.metrics = {M::kRecall}, .classes = shares.size()}, {{"by_class", noised}},
                                           sigma)["balanced_accuracy"];
    held += number(told, "low") <= truth && truth <= number(told, "high") ? 1 : 0;
  }
  return held;
}

// Classes of 5 %, and of equal sizes. A line whose intervals hold in 94 % of all runs falls below 91 % of 1,000 once in
// 30,000 draws. Intervals of one deviation to both sides held in 83 to 89 % of the lines of few rows. Of ten classes
// with twenty rows each, and noise of up to a quarter of that, the biases of recalls add up: by variances alone 78 %
// held.
TEST(PrivateFigures, TheIntervalOfBalancedAccuracyHoldsTheTruth) {
  for (const double sigma : {0.7, 4.0, 27.0}) {
    EXPECT_GE(balanced_intervals_that_hold(200, {0.05, 0.95}, {0.7, 0.95}, sigma), 910) << sigma;
    EXPECT_GE(balanced_intervals_that_hold(1000, {0.05, 0.95}, {0.7, 0.95}, sigma), 910) << sigma;
    EXPECT_GE(balanced_intervals_that_hold(1000, {0.05, 0.95}, {0.95, 0.99}, sigma), 910) << sigma;
    EXPECT_GE(balanced_intervals_that_hold(200, {0.5, 0.5}, {0.9, 0.8}, sigma), 910) << sigma;
  }
  std::vector<double> recalls(10, 0.933);
  recalls[1] = 0.691;
  for (const double sigma : {0.7, 1.0, 5.3}) {
    EXPECT_GE(balanced_intervals_that_hold(200, std::vector(10, 0.1), recalls, sigma), 910) << sigma << ", of ten";
  }
}

// Of rows that are wrong in the place of right ones the mean recall is the rest to 1, and so are the ends.
TEST(PrivateFigures, TheIntervalOfBalancedAccuracyIsMirroredWithItsRows) {
  const EvaluationTerms terms{.metrics = {M::kRecall}, .classes = 2};
  const auto balanced = [&](std::vector<std::int64_t> by_class) {
    return figures_of(terms, {{"by_class", std::move(by_class)}}, 2.0)["balanced_accuracy"];
  };
  const nlohmann::json one = balanced({18, 4, 150, 30});
  const nlohmann::json other = balanced({4, 18, 30, 150});
  ASSERT_GT(number(one, "high") - number(one, "low"), 0.15);
  EXPECT_NEAR(number(other, "value"), 1.0 - number(one, "value"), 1e-6);
  EXPECT_NEAR(number(other, "low"), 1.0 - number(one, "high"), 1e-6);
  EXPECT_NEAR(number(other, "high"), 1.0 - number(one, "low"), 1e-6);
}

TEST(PrivateFigures, OfTwoModelsTheDifferenceHasAnIntervalAndASign) {
  const EvaluationTerms terms{.metrics = {M::kAccuracy}, .classes = 2, .has_pair = true};
  const nlohmann::json figures = figures_of(terms, {{"pairs", {7000, 1500, 1000, 500}}}, 4.0);
  EXPECT_NEAR(number(figures["accuracy"], "value"), 0.8, 1e-3);
  EXPECT_NEAR(number(figures["accuracy_b"], "value"), 0.85, 1e-3);
  EXPECT_NEAR(number(figures["difference"], "value"), 0.05, 1e-12);
  EXPECT_NEAR(number(figures["difference"], "noise"), 4.0 * std::sqrt(2.01) / 10000, 1e-9);
  EXPECT_NEAR(estimate_difference({7000, 1500, 1000, 500}, 4.0, 0.95).deviation, std::sqrt((0.25 - 0.0025) / 10000),
              1e-4);
  EXPECT_GT(number(figures["difference"], "b_is_better"), 0.999);
  const nlohmann::json alike = figures_of(terms, {{"pairs", {70, 11, 11, 8}}}, 4.0);
  EXPECT_EQ(number(alike["difference"], "b_is_better"), 0.5);
}

// Two models whose accuracies differ by .03, by noise and sampling: in 95 of 100 runs the interval holds that.
TEST(PrivateFigures, TheIntervalOfADifferenceHoldsTheTruth) {
  std::mt19937_64 engine(38);
  for (const double sigma : {1.0, 15.0}) {
    std::normal_distribution<double> noise(0.0, sigma);
    int held = 0;
    for (int run = 0; run < 2000; ++run) {
      std::vector<double> counts(4, 0.0);
      std::discrete_distribution<std::size_t> cell({0.8, 0.08, 0.05, 0.07});
      for (int row = 0; row < 1000; ++row) ++counts[cell(engine)];
      for (double& count : counts) count += noise(engine);
      held += holds(estimate_difference(counts, sigma, 0.95), 0.03);
    }
    EXPECT_NEAR(held / 2000.0, 0.95, 0.015) << sigma;
  }
}

// One row in a hundred tells two models apart. Where chance shows k of them among 100 rows, the interval holds .01 for
// all but few k; by a share of k / 100 it would be a point for k = 0, in 37 of 100 runs.
TEST(PrivateFigures, TheIntervalOfADifferenceHoldsTheTruthOfModelsThatSeemAlike) {
  double held = 0.0;
  for (int k = 0; k <= 100; ++k) {
    const double chance = std::exp(std::lgamma(101.0) - std::lgamma(k + 1.0) - std::lgamma(101.0 - k) +
                                   k * std::log(0.01) + (100 - k) * std::log(0.99));
    held += chance * holds(estimate_difference({100.0 - k, static_cast<double>(k), 0.0, 0.0}, 0.0, 0.95), 0.01);
  }
  EXPECT_GE(held, 0.95);
}

// With three groups each interval holds with probability .95^(1/3), so that all three do with .95.
TEST(PrivateFigures, OfGroupsTheLargestGapHasAnIntervalThatAllOfThemAllow) {
  const EvaluationTerms terms{.metrics = {M::kAccuracy}, .classes = 2, .groups = 3};
  const nlohmann::json figures =
      figures_of(terms, {{"totals", {8000, 2000}}, {"by_group", {3600, 400, 2800, 700, 1600, 900}}}, 4.0);
  ASSERT_EQ(figures["by_group"].size(), 3U);
  EXPECT_NEAR(number(figures["by_group"][1], "value"), 0.8, 1e-3);
  const Estimate best = estimate_share({3600, 400, 4}, std::cbrt(0.95));
  const Estimate worst = estimate_share({1600, 900, 4}, std::cbrt(0.95));
  EXPECT_NEAR(number(figures["largest_gap"], "low"), best.low - worst.high, 1e-9);
  EXPECT_NEAR(number(figures["largest_gap"], "high"), best.high - worst.low, 1e-9);
  EXPECT_NEAR(number(figures["largest_gap"], "value"), 0.9 - 0.64, 1e-9);
  EXPECT_NEAR(number(figures["largest_gap"], "noise"), std::hypot(best.noise, worst.noise), 1e-12);
  const Estimate none = estimate_largest_gap({{90, 10, 2}, {91, 9, 2}}, 0.95);
  EXPECT_EQ(none.low, 0.0);
  EXPECT_TRUE(estimate_largest_gap({{90, 10, 20}, {1, 1, 20}}, 0.95).is_uninformative());
}

TEST(PrivateFigures, F1IsOfTheShareOfClassesInBothSetsAndLossesAreMeansOverNoisedRows) {
  nlohmann::json figures = figures_of({.metrics = {M::kF1}, .classes = 2, .most_labels = 2, .most_predicted = 2},
                                      {{"sets", {6000, 2000}}, {"sets_by_class", {4000, 1000, 2000, 1000}}}, 2.0);
  EXPECT_NEAR(number(figures["micro_f1"], "value"), 12.0 / 14.0, 1e-9);
  EXPECT_NEAR(number(figures["f1"][0], "value"), 8.0 / 9.0, 1e-9);
  EXPECT_LT(number(figures["f1"][1], "low"), 0.8);
  EXPECT_GT(number(figures["f1"][1], "high"), 0.8);
  figures = figures_of({.metrics = {M::kBrier, M::kLogLoss}, .classes = 10, .has_probabilities = true},
                       {{"totals", {700, 300}}, {"log_loss", {8192000}}, {"brier", {3276800}}}, 2.0);
  EXPECT_NEAR(number(figures["log_loss"], "value"), 0.25 * std::log(100.0), 1e-9);
  EXPECT_NEAR(number(figures["brier"], "value"), 0.1 * 2.0, 1e-9);
  EXPECT_FALSE(figures.contains("accuracy"));
}

TEST(PrivateFigures, TheAreaUnderTheCurveOfHistogramsCountsTiesHalf) {
  EXPECT_EQ(estimate_auc({0, 0, 100}, {100, 100, 0}, 0.0, 0.95).value, 1.0);
  EXPECT_EQ(estimate_auc({10, 10, 10}, {10, 10, 10}, 0.0, 0.95).value, 0.5);
  EXPECT_NEAR(estimate_auc({10, 30, 60}, {50, 30, 20}, 0.0, 0.95).value, (10 * 25 + 30 * 65 + 60 * 90) / 10000.0,
              1e-12);
  const Estimate noised = estimate_auc({10, 30, 60}, {500, 300, 200}, 3.0, 0.95);
  EXPECT_NEAR(noised.noise, 3.0 * std::hypot(0.01, 0.001), 1e-9);
  EXPECT_LT(noised.low, noised.value);
}

// Positives that noise hides are taken to be as many as it may hide: its standard deviation in all bins, and one.
TEST(PrivateFigures, TheNoiseOfAnAreaIsThatOfAsManyPositivesAsNoiseHides) {
  const std::vector<double> negatives{250.0, 250.0, 250.0, 250.0};
  const double hidden = 10.0 * 2.0 + 1.0;
  for (const double positive : {-8.0, 0.0, 4.0}) {
    const Estimate area = estimate_auc(std::vector<double>(4, positive), negatives, 10.0, 0.95);
    EXPECT_NEAR(area.noise, 10.0 * std::sqrt(4.0 / 3.0) * std::hypot(1.0 / hidden, 1.0 / 1000.0), 1e-12);
  }
}

TEST(PrivateFigures, TheAreaUnderTheCurveOfRarePositivesIsAShareOfTheirSums) {
  const Estimate some = estimate_auc(NoisedCounts{40, 10, 5.3}, NoisedNegatives{950, 5.3, 16}, 0.95);
  EXPECT_NEAR(some.value, 0.8, 1e-12);
  EXPECT_NEAR(some.noise, std::hypot(5.3 * std::hypot(0.8, 0.2) / 50, 5.3 * 4 / std::sqrt(3.0) / 950), 1e-12);
  EXPECT_LT(some.noise, 0.12);
  EXPECT_TRUE(estimate_auc(NoisedCounts{2, 1, 5.3}, NoisedNegatives{950, 5.3, 16}, 0.95).is_uninformative());
}

// Scores are N(0, 1) of negatives and N(1, 1) of positives, whose area is 0.7602, in log-odds.
TEST(PrivateFigures, TheIntervalOfAnAreaHoldsTheTruth) {
  constexpr double kArea = 0.7602499;
  constexpr std::size_t kBins = 16;
  std::mt19937_64 engine(38);
  std::normal_distribution<double> normal;
  for (const double sigma : {0.5, 5.0}) {
    int held = 0;
    for (int run = 0; run < 1000; ++run) {
      const auto bin_of = [&](double mean) { return score_bin(1.0 / (1.0 + std::exp(-mean - normal(engine))), kBins); };
      std::vector<double> negatives(kBins, 0.0);
      for (int row = 0; row < 950; ++row) ++negatives[bin_of(-0.5)];
      for (double& count : negatives) count += sigma * normal(engine);
      const double all = std::accumulate(negatives.begin(), negatives.end(), 0.0);
      const std::vector<double> curve = curve_of_negatives(negatives);
      NoisedCounts sums{sigma * normal(engine), sigma * normal(engine), sigma};
      for (int row = 0; row < 50; ++row) {
        const double above = curve[bin_of(0.5)];
        sums.right += above;
        sums.wrong += 1.0 - above;
      }
      held += holds(estimate_auc(sums, NoisedNegatives{all, sigma, kBins}, 0.95), kArea);
    }
    EXPECT_GE(held, 925) << sigma;
    EXPECT_LE(held, 985) << sigma;
  }
}

// Of a calibrated model noise alone would tell an error of 0.8 of its deviation in every bin.
TEST(PrivateFigures, TheCalibrationErrorIsFreeOfTheBiasOfNoise) {
  std::mt19937_64 engine(38);
  std::normal_distribution<double> normal;
  for (const double error : {0.0, 0.02, 0.1}) {
    double mean = 0.0;
    int held = 0;
    constexpr int kRuns = 1000;
    for (int run = 0; run < kRuns; ++run) {
      std::vector<double> gaps;
      std::vector<double> rows;
      for (std::size_t bin = 0; bin < kCalibrationBins; ++bin) {
        const double p = (static_cast<double>(bin) + 0.5) / kCalibrationBins;
        rows.push_back(500.0);
        gaps.push_back((bin % 2 == 0 ? 500.0 : -500.0) * error +
                       normal(engine) * std::hypot(12.0, std::sqrt(500 * p * (1 - p))));
      }
      const Estimate estimate = estimate_calibration_error(gaps, 12.0, rows, 7500.0, 0.95);
      mean += estimate.value / kRuns;
      held += holds(estimate, error);
      EXPECT_LE(estimate.low, estimate.value);
      EXPECT_GE(estimate.high, estimate.value);
    }
    EXPECT_NEAR(mean, error, 0.009) << error;
    EXPECT_GE(held, 940) << error;
  }
}

// 100 positives and 9,900 others: from bin 20 of 32 on 40 and 60, so F1 is 80 / (100 + 100); no other bin is as good. A
// bin whose rows are all noise is passed over, though it has more positives than rows.
TEST(PrivateFigures, TheBestThresholdOfARareClassIsThatOfTheLargestF1) {
  std::vector<std::int64_t> scores(64, 0);
  const auto put = [&](std::size_t bin, std::int64_t positives, std::int64_t negatives) {
    scores[2 * bin] = positives;
    scores[2 * bin + 1] = negatives;
  };
  put(4, 30, 9000);
  put(14, 30, 840);
  put(20, 40, 60);
  put(30, 9, -12);
  put(31, -9, 12);
  const EvaluationTerms terms{.metrics = {M::kRoc}, .classes = 2, .has_probabilities = true, .has_odds = true};
  const nlohmann::json best = figures_of(terms, {{"scores", scores}}, 4.0)["best_f1"];
  const double threshold = lower_edge_of_bin(20, 32);
  EXPECT_NEAR(best["value"].get<double>(), 0.4, 1e-9);
  EXPECT_LT(best["low"], 0.35);
  EXPECT_GT(best["high"], 0.45);
  EXPECT_EQ(best["class"], 1);
  EXPECT_NEAR(best["threshold"].get<double>(), threshold, 1e-12);
  EXPECT_NEAR(best["weight"].get<double>(), (1.0 - threshold) / threshold, 1e-12);
  EvaluationTerms without_odds = terms;
  without_odds.has_odds = false;
  const nlohmann::json of_sigmoids = figures_of(without_odds, {{"scores", scores}}, 4.0)["best_f1"];
  EXPECT_EQ(of_sigmoids["threshold"], best["threshold"]);
  EXPECT_FALSE(of_sigmoids.contains("weight")) << "export would refuse it";
  EvaluationTerms of_three = terms;
  of_three.classes = 3;
  EXPECT_FALSE(figures_of(of_three, {{"scores", scores}}, 4.0).contains("best_f1"));
  EXPECT_FALSE(figures_of(terms, {{"scores", scores}}, 2000.0).contains("best_f1"))
      << "no bin has more rows than noise";
}

TEST(PrivateFigures, InJsonEveryFigureHasItsInterval) {
  EvaluationTerms terms{.metrics = {}, .classes = 2, .top_k = 1, .has_probabilities = true};
  for (const auto& [spelling, metric] : spellings<M>) {
    if (metric != M::kF1) terms.metrics.push_back(metric);
  }
  const Release release = release_of({{"totals", {90, 10}},
                                      {"by_class", {45, 5, 45, 5}},
                                      {"by_prediction", {45, 5, 45, 5}},
                                      {"confusion", {45, 5, 5, 45}},
                                      {"top_k", {90, 10}},
                                      {"calibration", std::vector<std::int64_t>(2 * kCalibrationBins, 3)},
                                      {"calibration_gaps", std::vector<std::int64_t>(kCalibrationBins, kLossUnits)},
                                      {"scores", std::vector<std::int64_t>(32, 30)},
                                      {"log_loss", {900000}},
                                      {"brier", {900000}}},
                                     1.0);
  const Release positives = release_of({{"above_negatives", {40 * kLossUnits, 10 * kLossUnits}}}, 32768.0);
  const nlohmann::json json = private_figures({release, positives}, terms, 0.9);
  EXPECT_EQ(json["roc"]["points"].size(), 15U);
  EXPECT_NEAR(json["roc"]["auc"]["value"].get<double>(), 0.5, 1e-9);
  EXPECT_NEAR(json["auc"]["value"].get<double>(), 0.8, 1e-9);
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
  EXPECT_NEAR(json["confusion"]["low"][1][0].get<double>(), 5.0 - 1.6449 * std::sqrt(7.0), 1e-3);
  EXPECT_NEAR(json["confusion"]["high"][0][0].get<double>(), 45.0 + 1.6449 * std::sqrt(47.0), 1e-3);
  EXPECT_TRUE(json["calibration_error"].contains("high"));
  EXPECT_EQ(json["calibration"].size(), kCalibrationBins);
  const nlohmann::json nothing = figures_of({.metrics = {M::kAccuracy}, .classes = 2}, {{"totals", {3, -2}}}, 50.0);
  EXPECT_TRUE(nothing["accuracy"]["value"].is_null());
  EXPECT_THAT(nothing["accuracy"]["note"].get<std::string>(), HasSubstr("too little data"));
}

}  // namespace dpreduce::private_figures_test
