// Figures of releases without noise are the exact ones; of noised ones they have intervals.
#include "evaluate/private_figures.hpp"

#include <algorithm>
#include <cmath>
#include <random>

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
  const PrivateFigures loud =
      private_figures(release_of({{"totals", {9000, 1000}}, {"by_class", {46, 4, 44, 6}}}, 200.0), terms, 0.95);
  EXPECT_TRUE(loud.balanced_accuracy->says_nothing());
  EXPECT_NEAR(figures.balanced_accuracy->deviation,
              std::hypot(figures.recall[0].deviation, figures.recall[1].deviation) / 2, 1e-12);
}

TEST(PrivateFigures, OfTwoModelsTheDifferenceHasAnIntervalAndASign) {
  const EvaluationTerms terms{.metrics = {M::kAccuracy}, .classes = 2, .has_pair = true};
  const PrivateFigures figures = private_figures(release_of({{"pairs", {7000, 1500, 1000, 500}}}, 4.0), terms, 0.95);
  EXPECT_NEAR(figures.accuracy->value, 0.8, 1e-3);
  EXPECT_NEAR(figures.pair->accuracy_of_second.value, 0.85, 1e-3);
  EXPECT_NEAR(figures.pair->difference.value, 0.05, 1e-12);
  EXPECT_NEAR(figures.pair->difference.noise, 4.0 * std::sqrt(2.01) / 10000, 1e-9);
  EXPECT_NEAR(figures.pair->difference.deviation, std::sqrt((0.25 - 0.0025) / 10000), 1e-4);
  EXPECT_GT(figures.pair->second_is_better, 0.999);
  const PrivateFigures alike = private_figures(release_of({{"pairs", {70, 11, 11, 8}}}, 4.0), terms, 0.95);
  EXPECT_EQ(alike.pair->second_is_better, 0.5);
}

// Two models of equal accuracy, by noise and sampling: in 95 of 100 runs the interval holds 0.
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
      const Estimate difference = estimate_difference(counts, sigma, 0.95);
      held += difference.low <= 0.03 && 0.03 <= difference.high ? 1 : 0;
    }
    EXPECT_NEAR(held / 2000.0, 0.95, 0.015) << sigma;
  }
}

TEST(PrivateFigures, OfGroupsTheLargestGapHasAnIntervalThatAllOfThemAllow) {
  const EvaluationTerms terms{.metrics = {M::kAccuracy}, .classes = 2, .groups = 3};
  const PrivateFigures figures = private_figures(
      release_of({{"totals", {8000, 2000}}, {"by_group", {3600, 400, 2800, 700, 1600, 900}}}, 4.0), terms, 0.95);
  ASSERT_EQ(figures.by_group.size(), 3U);
  EXPECT_NEAR(figures.by_group[1].value, 0.8, 1e-3);
  EXPECT_NEAR(figures.largest_gap->value, 0.26, 1e-3);
  EXPECT_LT(figures.largest_gap->low, 0.25);
  EXPECT_GT(figures.largest_gap->low, 0.22);
  EXPECT_LT(figures.largest_gap->high, 0.30);
  const Estimate none = estimate_largest_gap({{90, 10, 2}, {91, 9, 2}}, 0.95);
  EXPECT_EQ(none.low, 0.0);
  EXPECT_TRUE(estimate_largest_gap({{90, 10, 20}, {1, 1, 20}}, 0.95).says_nothing());
}

TEST(PrivateFigures, F1IsOfTheShareOfClassesInBothSets) {
  const EvaluationTerms terms{.metrics = {M::kF1}, .classes = 2, .most_labels = 2, .most_predicted = 2};
  const PrivateFigures figures = private_figures(
      release_of({{"sets", {6000, 2000}}, {"sets_by_class", {4000, 1000, 2000, 1000}}}, 2.0), terms, 0.95);
  EXPECT_NEAR(figures.micro_f1->value, 12.0 / 14.0, 1e-9);
  EXPECT_NEAR(figures.f1[0].value, 8.0 / 9.0, 1e-9);
  EXPECT_LT(figures.f1[1].low, 0.8);
  EXPECT_GT(figures.f1[1].high, 0.8);
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

// Few positives: noise is that of sums over them, not of bins.
TEST(PrivateFigures, TheAreaUnderTheCurveOfRarePositivesIsAShareOfTheirSums) {
  const Estimate some = estimate_auc(NoisedCounts{40, 10, 5.3}, NoisedNegatives{950, 5.3, 16}, 0.95);
  EXPECT_NEAR(some.value, 0.8, 1e-12);
  EXPECT_NEAR(some.noise, std::hypot(5.3 * std::hypot(0.8, 0.2) / 50, 5.3 * 4 / std::sqrt(3.0) / 950), 1e-12);
  EXPECT_LT(some.noise, 0.12);
  EXPECT_TRUE(estimate_auc(NoisedCounts{2, 1, 5.3}, NoisedNegatives{950, 5.3, 16}, 0.95).says_nothing());
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
      double all = 0.0;
      for (const double count : negatives) all += count;
      std::vector<double> curve;
      double below = 0.0;
      for (const double count : negatives) {
        curve.push_back(std::clamp((below + count / 2) / all, 0.0, 1.0));
        below += count;
      }
      NoisedCounts sums{sigma * normal(engine), sigma * normal(engine), sigma};
      for (int row = 0; row < 50; ++row) {
        const double above = curve[bin_of(0.5)];
        sums.right += above;
        sums.wrong += 1.0 - above;
      }
      const Estimate area = estimate_auc(sums, NoisedNegatives{all, sigma, kBins}, 0.95);
      held += area.low <= kArea && kArea <= area.high ? 1 : 0;
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
      held += estimate.low <= error && error <= estimate.high ? 1 : 0;
      EXPECT_LE(estimate.low, estimate.value);
      EXPECT_GE(estimate.high, estimate.value);
    }
    EXPECT_NEAR(mean, error, 0.009) << error;
    EXPECT_GE(held, 940) << error;
  }
}

// Blocks with the noise that each of them is released with.
struct NoisedBlock {
  std::string name;
  std::vector<double> exact;
  double sigma;
};

Release noised(const std::vector<NoisedBlock>& blocks, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  std::vector<ReleasedBlock> released;
  for (const NoisedBlock& block : blocks) {
    std::vector<std::int64_t> values;
    for (const double value : block.exact) values.push_back(std::llround(value + block.sigma * normal(engine)));
    released.emplace_back(block.name, std::move(values), block.sigma);
  }
  return Release(std::move(released));
}

using NamedEstimates = std::vector<std::pair<std::string, Estimate>>;

NamedEstimates estimates_of(const PrivateFigures& figures) {
  NamedEstimates all;
  for (const auto& [name, figure] :
       {std::pair{"accuracy", &figures.accuracy}, std::pair{"balanced accuracy", &figures.balanced_accuracy},
        std::pair{"top k", &figures.top_k}, std::pair{"log loss", &figures.log_loss},
        std::pair{"Brier", &figures.brier}, std::pair{"micro F1", &figures.micro_f1},
        std::pair{"calibration error", &figures.calibration_error}, std::pair{"AUC", &figures.auc}}) {
    if (*figure) all.emplace_back(name, **figure);
  }
  for (const auto& [name, several] : {std::pair{"group", &figures.by_group}, std::pair{"recall", &figures.recall},
                                      std::pair{"precision", &figures.precision}, std::pair{"F1", &figures.f1}}) {
    for (const Estimate& one : *several) all.emplace_back(name, one);
  }
  if (figures.pair) {
    all.emplace_back("second", figures.pair->accuracy_of_second);
    all.emplace_back("difference", figures.pair->difference);
  }
  return all;
}

// The same rows, noised afresh 1,000 times: how far each figure moves is the noise that it tells. A standard deviation
// of so many draws is known to 2.2 %; false alarm below 1e-5 a figure.
void expect_noise(const EvaluationTerms& terms, const std::vector<NoisedBlock>& blocks, double rows_alike = 1.0,
                  const std::optional<NoisedBlock>& positives = {}) {
  constexpr int kDraws = 1000;
  std::mt19937_64 engine(56);
  NamedEstimates told;
  std::vector<double> sums;
  std::vector<double> squares;
  std::vector<double> noise;
  for (int draw = 0; draw < kDraws; ++draw) {
    PrivateFigures figures = private_figures(noised(blocks, engine), terms, 0.95, rows_alike);
    if (positives) add_positives(figures, noised({*positives}, engine), rows_alike);
    told = estimates_of(figures);
    for (std::vector<double>* sum : {&sums, &squares, &noise}) sum->resize(told.size(), 0.0);
    for (std::size_t e = 0; e < told.size(); ++e) {
      sums[e] += told[e].second.value / kDraws;
      squares[e] += std::pow(told[e].second.value, 2) / kDraws;
      noise[e] += told[e].second.noise / kDraws;
    }
  }
  ASSERT_FALSE(told.empty());
  for (std::size_t e = 0; e < told.size(); ++e) {
    const double moved = std::sqrt(squares[e] - sums[e] * sums[e]);
    EXPECT_NEAR(noise[e] / moved, 1.0, 0.1) << told[e].first << ", number " << e;
  }
}

TEST(PrivateFigures, TheNoiseThatIsToldIsHowFarNoiseMovesThem) {
  constexpr double kUnits = static_cast<double>(kLossUnits);
  EvaluationTerms terms{.metrics = {M::kAccuracy, M::kRecall, M::kPrecision, M::kTopK, M::kLogLoss, M::kBrier},
                        .classes = 3,
                        .top_k = 2,
                        .has_probabilities = true,
                        .groups = 2};
  const std::vector<NoisedBlock> blocks{{"totals", {240000, 60000}, 900},
                                        {"by_group", {140000, 60000, 70000, 30000}, 800},
                                        {"by_class", {45000, 5000, 72000, 28000, 123000, 27000}, 700},
                                        {"by_prediction", {45000, 15000, 72000, 8000, 123000, 37000}, 600},
                                        {"top_k", {270000, 30000}, 1000},
                                        {"log_loss", {60000 * kUnits}, 3000 * kUnits},
                                        {"brier", {45000 * kUnits}, 50 * kUnits}};
  expect_noise(terms, blocks);
  std::vector<NoisedBlock> of_persons = blocks;
  for (NoisedBlock& block : of_persons) {
    for (double& value : block.exact) value *= 4.0;
    block.sigma *= 4.0;
  }
  expect_noise(terms, of_persons, 4.0);

  terms = {.metrics = {M::kAccuracy}, .classes = 3, .has_pair = true};
  expect_noise(terms, {{"pairs", {150000, 60000, 20000, 40000}, 900}});
  terms = {.metrics = {M::kF1}, .classes = 2, .most_labels = 2, .most_predicted = 2};
  expect_noise(terms, {{"sets", {400000, 100000}, 2000}, {"sets_by_class", {300000, 40000, 100000, 60000}, 900}});
}

TEST(PrivateFigures, TheNoiseOfCalibrationErrorsAndAreasIsHowFarNoiseMovesThem) {
  constexpr double kUnits = static_cast<double>(kLossUnits);
  EvaluationTerms terms{.metrics = {M::kCalibration}, .classes = 2, .has_probabilities = true};
  std::vector<double> table;
  std::vector<double> gaps;
  for (std::size_t bin = 0; bin < kCalibrationBins; ++bin) {
    table.insert(table.end(), {10000, 10000});
    gaps.push_back((bin % 2 == 0 ? 1000 : -1000) * kUnits);
  }
  expect_noise(terms, {{"calibration", table, 20}, {"calibration_gaps", gaps, 100 * kUnits}});

  // The noise of negatives is in the curve that positives are summed along, and so not in a fresh draw of these sums.
  terms = {.metrics = {M::kAuc}, .classes = 2, .has_probabilities = true};
  expect_noise(terms, {{"negatives", std::vector<double>(16, 1e6), 1}}, 1.0,
               NoisedBlock{"above_negatives", {40000 * kUnits, 10000 * kUnits}, 500 * kUnits});
}

// Positives in the highest bin, negatives in all: then noise moves the area as far as it is told, and less elsewhere.
TEST(PrivateFigures, TheNoiseOfTheAreaOfHistogramsIsTheMostThatNoiseMovesIt) {
  std::mt19937_64 engine(57);
  std::normal_distribution<double> normal;
  constexpr std::size_t kBins = 64;
  for (const bool is_apart : {true, false}) {
    std::vector<double> positives(kBins, is_apart ? 0.0 : 200.0);
    if (is_apart) positives.back() = kBins * 200.0;
    double sum = 0.0;
    double squares = 0.0;
    double noise = 0.0;
    constexpr int kDraws = 2000;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<double> noised_positives = positives;
      std::vector<double> noised_negatives(kBins, 2000.0);
      for (double& count : noised_positives) count += 4.0 * normal(engine);
      for (double& count : noised_negatives) count += 4.0 * normal(engine);
      const Estimate area = estimate_auc(noised_positives, noised_negatives, 4.0, 0.95);
      sum += area.value / kDraws;
      squares += area.value * area.value / kDraws;
      noise += area.noise / kDraws;
    }
    const double told = noise / std::sqrt(squares - sum * sum);
    EXPECT_GT(told, 0.92) << is_apart;
    EXPECT_LT(told, is_apart ? 1.12 : 2.3) << is_apart;  // 2 where the curve is the diagonal
  }
}

// Of a threshold the shares above and below are sums of many bins: no less noise is told than there is.
TEST(PrivateFigures, TheNoiseOfAPointOfTheCurveIsNoLessThanThatOfItsBins) {
  std::mt19937_64 engine(59);
  const EvaluationTerms terms{.metrics = {M::kRoc}, .classes = 2, .has_probabilities = true};
  const NoisedBlock block{"scores", std::vector<double>(2 * terms.score_bins, 20000.0), 100.0};
  constexpr int kDraws = 1000;
  std::vector<double> sums(terms.score_bins - 1, 0.0);
  std::vector<double> squares = sums;
  std::vector<double> noise = sums;
  for (int draw = 0; draw < kDraws; ++draw) {
    const PrivateFigures figures = private_figures(noised({block}, engine), terms, 0.95);
    for (std::size_t point = 0; point < sums.size(); ++point) {
      const Estimate& told = figures.roc[point].true_positives;
      sums[point] += told.value / kDraws;
      squares[point] += told.value * told.value / kDraws;
      noise[point] += told.noise / kDraws;
    }
  }
  for (std::size_t point = 0; point < sums.size(); ++point) {
    EXPECT_NEAR(sums[point], 1.0 - static_cast<double>(point + 1) / 16.0, 1e-3);
    const double ratio = noise[point] / std::sqrt(squares[point] - sums[point] * sums[point]);
    EXPECT_GT(ratio, 0.92) << point;
    EXPECT_LT(ratio, 4.0) << point;
  }
}

// All classes of a row are right or wrong together: so few independent rows there are. 95 of 100 intervals hold the
// truth, or more; standard error .6 %.
TEST(PrivateFigures, TheIntervalOfMicroF1HoldsTheTruthOfRowsWhoseClassesErrTogether) {
  std::mt19937_64 engine(60);
  const EvaluationTerms terms{.metrics = {M::kF1}, .classes = 5, .most_labels = 2, .most_predicted = 2};
  constexpr double kRight = 0.7;  // of rows: 2 classes in both sets; of the others 4 in one
  const double truth = 2.0 * 2.0 * kRight / (2.0 * 2.0 * kRight + 4.0 * (1.0 - kRight));
  int held = 0;
  constexpr int kRuns = 1200;
  for (int run = 0; run < kRuns; ++run) {
    const auto right = static_cast<double>(std::binomial_distribution<long>(2000, kRight)(engine));
    const Release release = noised({{"sets", {2.0 * right, 4.0 * (2000.0 - right)}, 10.0},
                                    {"sets_by_class", std::vector<double>(10, 800.0), 10.0}},
                                   engine);
    const Estimate told = *private_figures(release, terms, 0.95).micro_f1;
    held += told.low <= truth && truth <= told.high ? 1 : 0;
  }
  EXPECT_GE(held, 0.93 * kRuns);
}

// With three groups each interval holds with probability .95^(1/3), so that all three do with .95.
TEST(PrivateFigures, TheLargestGapIsOfIntervalsThatHoldTogether) {
  const std::vector<NoisedCounts> groups{{3600, 400, 4}, {2800, 700, 4}, {1600, 900, 4}};
  const double each = std::cbrt(0.95);
  const Estimate best = estimate_share(groups[0], each);
  const Estimate worst = estimate_share(groups[2], each);
  const Estimate gap = estimate_largest_gap(groups, 0.95);
  EXPECT_NEAR(gap.low, best.low - worst.high, 1e-9);
  EXPECT_NEAR(gap.high, best.high - worst.low, 1e-9);
  EXPECT_NEAR(gap.value, 0.9 - 0.64, 1e-9);
  EXPECT_NEAR(gap.noise, std::hypot(best.noise, worst.noise), 1e-12);
}

// Two targets of unlike scales and errors, in units of the release.
TEST(PrivateFigures, OfNumbersEachTargetHasItsOwnSumsNoiseAndScale) {
  const EvaluationTerms terms{.metrics = {M::kR2, M::kRmse}, .classes = 2, .has_targets = true};
  std::vector<ReleasedBlock> blocks;
  const auto add = [&](const char* name, const std::vector<double>& rows, double sigma) {
    std::vector<std::int64_t> values;
    for (const double value : rows) values.push_back(std::llround(value * static_cast<double>(kLossUnits)));
    blocks.emplace_back(name, std::move(values), sigma * static_cast<double>(kLossUnits));
  };
  blocks.emplace_back("rows", std::vector<std::int64_t>{10000}, 1e-9);
  add("targets", {1000, -3000}, 1e-9);
  add("squares", {900, 2500}, 1e-9);
  add("cubes", {100, -900}, 1e-9);
  add("fourths", {200, 1200}, 1e-9);
  add("errors", {400, 900}, 5.0);
  add("error_fourths", {50, 200}, 1e-9);
  const Release release(std::move(blocks));
  const std::vector<double> scales{10.0, 3.0};
  const PrivateFigures figures = private_figures_of_numbers(release, terms, 0.95, 1.0, scales);
  ASSERT_EQ(figures.by_target.size(), 2U);
  EXPECT_NEAR(figures.by_target[0].rmse.value, 10.0 * 0.2, 1e-6);
  EXPECT_NEAR(figures.by_target[1].rmse.value, 3.0 * 0.3, 1e-6);
  EXPECT_NEAR(figures.by_target[0].r2.value, 1.0 - 0.04 / (0.09 - 0.01), 1e-6);
  EXPECT_NEAR(figures.by_target[1].r2.value, 1.0 - 0.09 / (0.25 - 0.09), 1e-6);
  EXPECT_NEAR(figures.by_target[0].rmse.noise, 10.0 * 5.0 / 10000.0 / (2.0 * 0.2), 1e-6);
  EXPECT_NEAR(figures.by_target[1].rmse.noise, 3.0 * 5.0 / 10000.0 / (2.0 * 0.3), 1e-6);
  EXPECT_EQ(figures.largest_rmse, 10.0);
}

// Five classes of unlike sizes, by noise and sampling: in 95 of 100 runs the interval holds the mean of their recalls.
// Standard error .6 % of 1,500 runs; false alarm below 1e-4.
TEST(PrivateFigures, TheIntervalOfBalancedAccuracyHoldsTheTruth) {
  std::mt19937_64 engine(58);
  const EvaluationTerms terms{.metrics = {M::kRecall}, .classes = 5};
  const std::vector<long> sizes{20000, 12000, 6000, 3000, 30000};
  const std::vector<double> recalls{0.9, 0.8, 0.6, 0.5, 0.75};
  for (const double sigma : {5.0, 60.0}) {
    int held = 0;
    constexpr int kRuns = 1500;
    for (int run = 0; run < kRuns; ++run) {
      NoisedBlock block{"by_class", {}, sigma};
      for (std::size_t c = 0; c < sizes.size(); ++c) {
        const long right = std::binomial_distribution<long>(sizes[c], recalls[c])(engine);
        block.exact.push_back(static_cast<double>(right));
        block.exact.push_back(static_cast<double>(sizes[c] - right));
      }
      const Estimate told = *private_figures(noised({block}, engine), terms, 0.95).balanced_accuracy;
      held += told.low <= 0.71 && 0.71 <= told.high ? 1 : 0;
    }
    EXPECT_GE(held, 0.925 * kRuns) << sigma;
    EXPECT_LE(held, 0.975 * kRuns) << sigma;
  }
}

// The mean of |d + e| - |d|, e ~ N(0, v^2), by the sum over a fine grid of e.
double bias_by_sum(double d, double v) {
  double sum = 0.0;
  double mass = 0.0;
  for (int step = -4000; step <= 4000; ++step) {
    const double z = step / 500.0;
    sum += std::exp(-0.5 * z * z) * (std::abs(d + v * z) - std::abs(d));
    mass += std::exp(-0.5 * z * z);
  }
  return sum / mass;
}

// The lower end is less the bias where a bin is not off, the upper one less that of what was released.
TEST(PrivateFigures, TheEndsOfTheCalibrationErrorAreLessTheirBias) {
  const std::vector<double> rows(4, 1000.0);
  for (const std::vector<double>& gaps : {std::vector{0.0, 0.0, 0.0, 0.0}, std::vector{10.0, -15.0, 20.0, -5.0},
                                          std::vector{200.0, -150.0, 12.0, 90.0}}) {
    double low = 0.0;
    double high = 0.0;
    double variance = 0.0;
    double raw = 0.0;
    for (std::size_t bin = 0; bin < 4; ++bin) {
      const double p = (static_cast<double>(bin) + 0.5) / 4.0;
      const double v = std::sqrt(8.0 * 8.0 + 1000.0 * p * (1.0 - p));
      const double d = std::abs(gaps[bin]);
      low += std::max(d - bias_by_sum(0.0, v), 0.0);
      high += d - bias_by_sum(d, v);
      variance += v * v;
      raw += d;
    }
    const double reach = 1.9599640 * std::sqrt(variance) / 4000.0;
    const Estimate told = estimate_calibration_error(gaps, 8.0, rows, 4000.0, 0.95);
    EXPECT_NEAR(told.low, std::max(low / 4000.0 - reach, 0.0), 1e-6);
    EXPECT_NEAR(told.high, std::max(high / 4000.0 + reach, 0.0), 1e-6);
    EXPECT_NEAR(told.deviation, std::sqrt(variance) / 4000.0, 1e-9);
    // The value is what gives so large a sum on average, where it is within the interval.
    double e = 0.0;
    for (double step = 0.5; step > 1e-7; step /= 2.0) {
      double expected = 0.0;
      for (std::size_t bin = 0; bin < 4; ++bin) {
        const double p = (static_cast<double>(bin) + 0.5) / 4.0;
        const double off = 1000.0 * (e + step);
        expected += off + bias_by_sum(off, std::sqrt(8.0 * 8.0 + 1000.0 * p * (1.0 - p)));
      }
      if (expected < raw) e += step;
    }
    EXPECT_NEAR(told.value, std::clamp(e, told.low, told.high), 1e-5);
  }
}

// Rows that noise hides are taken to be twice the noise of right ones, which the counts of all bins have together.
TEST(PrivateFigures, OfFewRowsTheCalibrationErrorIsOfAsManyAsNoiseHides) {
  const EvaluationTerms terms{.metrics = {M::kCalibration}, .classes = 2, .has_probabilities = true};
  const std::vector<std::int64_t> none(2 * kCalibrationBins, 0);
  const Release release({ReleasedBlock("calibration", none, 10.0),
                         ReleasedBlock("calibration_gaps", std::vector<std::int64_t>(kCalibrationBins, 0),
                                       20.0 * static_cast<double>(kLossUnits))});
  const Estimate told = *private_figures(release, terms, 0.95).calibration_error;
  const auto bins = static_cast<double>(kCalibrationBins);
  EXPECT_NEAR(told.noise, 20.0 * std::sqrt(bins) / (2.0 * 10.0 * std::sqrt(bins)), 1e-9);
}

TEST(PrivateFigures, InJsonEveryFigureHasItsInterval) {
  EvaluationTerms terms;
  terms.metrics.clear();
  for (const auto& [spelling, metric] : spellings<M>) {
    if (metric != M::kF1) terms.metrics.push_back(metric);
  }
  terms.classes = 2;
  terms.top_k = 1;
  terms.has_probabilities = true;
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
  PrivateFigures figures = private_figures(release, terms, 0.9);
  add_positives(figures, release_of({{"above_negatives", {40 * kLossUnits, 10 * kLossUnits}}}, 32768.0));
  const nlohmann::json json = to_json(figures, terms);
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
  const Release loud = release_of({{"totals", {3, -2}}}, 50.0);
  const nlohmann::json nothing = to_json(private_figures(loud, {.metrics = {M::kAccuracy}, .classes = 2}, 0.95),
                                         {.metrics = {M::kAccuracy}, .classes = 2});
  EXPECT_TRUE(nothing["accuracy"]["value"].is_null());
  EXPECT_THAT(nothing["accuracy"]["note"].get<std::string>(), HasSubstr("too little data"));
}

}  // namespace dpreduce::private_figures_test
