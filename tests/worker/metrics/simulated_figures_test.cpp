// What figures say of their own noise, against releases that are drawn again and again, and sums that are made apart.
#include <nlohmann/json.hpp>

#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"
#include "worker/metrics/calibration.hpp"
#include "worker/metrics/estimates.hpp"
#include "worker/metrics/score_curve.hpp"

namespace dpreduce::simulated_figures_test {

using M = EvaluationMetric;

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

// Value and noise of each figure but the largest gap, which noise moves less where groups are alike.
struct NamedFigure {
  std::string name;
  double value;
  double noise;
};

std::vector<NamedFigure> named(const nlohmann::json& figures) {
  std::vector<NamedFigure> all;
  for (const auto& [name, told] : figures.items()) {
    if (name == "largest_gap") continue;
    for (const nlohmann::json& one : told.is_array() ? told : nlohmann::json::array({told})) {
      all.push_back({name, one.at("value").get<double>(), one.at("noise").get<double>()});
    }
  }
  return all;
}

bool holds(const nlohmann::json& figure, double truth) {
  return figure.at("low").get<double>() <= truth && truth <= figure.at("high").get<double>();
}

// The same rows, noised afresh 1,000 times: how far each figure moves is the noise that it tells. A standard deviation
// of so many draws is known to 2.2 %; false alarm below 1e-5 a figure.
void expect_noise(const EvaluationTerms& terms, const std::vector<NoisedBlock>& blocks, double rows_alike = 1.0,
                  const std::optional<NoisedBlock>& positives = {}) {
  std::mt19937_64 engine(56);
  std::vector<NamedFigure> told;
  std::vector<DrawnMoments> values;
  std::vector<DrawnMoments> noises;
  for (int draw = 0; draw < 1000; ++draw) {
    std::vector<Release> releases{noised(blocks, engine)};
    if (positives) releases.push_back(noised({*positives}, engine));
    told = named(private_figures(releases, terms, 0.95, rows_alike));
    values.resize(told.size());
    noises.resize(told.size());
    for (std::size_t e = 0; e < told.size(); ++e) {
      values[e].add(told[e].value);
      noises[e].add(told[e].noise);
    }
  }
  ASSERT_FALSE(told.empty());
  for (std::size_t e = 0; e < told.size(); ++e) {
    EXPECT_NEAR(noises[e].mean() / values[e].deviation(), 1.0, 0.1) << told[e].name << ", number " << e;
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
    DrawnMoments values;
    DrawnMoments noises;
    for (int draw = 0; draw < 2000; ++draw) {
      std::vector<double> noised_positives = positives;
      std::vector<double> noised_negatives(kBins, 2000.0);
      for (double& count : noised_positives) count += 4.0 * normal(engine);
      for (double& count : noised_negatives) count += 4.0 * normal(engine);
      const Estimate area = estimate_auc(noised_positives, noised_negatives, 4.0, 0.95);
      values.add(area.value);
      noises.add(area.noise);
    }
    const double told = noises.mean() / values.deviation();
    EXPECT_GT(told, 0.92) << is_apart;
    EXPECT_LT(told, is_apart ? 1.12 : 2.3) << is_apart;  // 2 where the curve is the diagonal
  }
}

// Pairs within a bin count half. Log-odds N(1, 1) and N(-1, 1), whose area is .921, in bins without noise.
TEST(PrivateFigures, BinsOfScoresHideLittleOfTheArea) {
  for (const auto& [rows, most] : {std::pair{0.0, 1e-3}, {20000.0, 3e-4}}) {
    const std::size_t bins = score_bins_for(rows);
    std::vector<double> positives(bins, 0.0);
    std::vector<double> negatives(bins, 0.0);
    constexpr double kStep = 1e-3;
    for (double z = -7.0; z < 7.0; z += kStep) {
      const std::size_t bin = score_bin(1.0 / (1.0 + std::exp(-z)), bins);
      positives[bin] += 1e6 * std::exp(-0.5 * (z - 1.0) * (z - 1.0));
      negatives[bin] += 1e6 * std::exp(-0.5 * (z + 1.0) * (z + 1.0));
    }
    EXPECT_NEAR(estimate_auc(positives, negatives, 1e-3, 0.95).value, 0.5 * std::erfc(-1.0), most) << bins;
  }
}

// Of a threshold the shares above and below are sums of many bins: no less noise is told than there is.
TEST(PrivateFigures, TheNoiseOfAPointOfTheCurveIsNoLessThanThatOfItsBins) {
  std::mt19937_64 engine(59);
  const EvaluationTerms terms{.metrics = {M::kRoc}, .classes = 2, .has_probabilities = true};
  const NoisedBlock block{"scores", std::vector<double>(2 * terms.score_bins, 20000.0), 100.0};
  std::vector<DrawnMoments> values(terms.score_bins - 1);
  std::vector<DrawnMoments> noises(terms.score_bins - 1);
  for (int draw = 0; draw < 1000; ++draw) {
    const nlohmann::json figures = private_figures({noised({block}, engine)}, terms, 0.95);
    for (std::size_t point = 0; point < values.size(); ++point) {
      const nlohmann::json& told = figures["roc"]["points"][point]["true_positive_rate"];
      values[point].add(told["value"].get<double>());
      noises[point].add(told["noise"].get<double>());
    }
  }
  for (std::size_t point = 0; point < values.size(); ++point) {
    EXPECT_NEAR(values[point].mean(), 1.0 - static_cast<double>(point + 1) / 16.0, 1e-3);
    const double ratio = noises[point].mean() / values[point].deviation();
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
    held += holds(private_figures({release}, terms, 0.95)["micro_f1"], truth) ? 1 : 0;
  }
  EXPECT_GE(held, 0.93 * kRuns);
}

// Two targets of unlike scales and errors, in units of the release.
TEST(PrivateFigures, OfNumbersEachTargetHasItsOwnSumsNoiseAndScale) {
  const EvaluationTerms terms{.metrics = {M::kR2, M::kRmse}, .classes = 2, .has_targets = true};
  const auto with_errors = [](double noise) {
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
    add("errors", {400, 900}, noise);
    add("error_fourths", {50, 200}, 1e-9);
    return Release(std::move(blocks));
  };
  const std::vector<double> scales{10.0, 3.0};
  const nlohmann::json figures = private_figures({with_errors(5.0)}, terms, 0.95, 1.0, scales);
  ASSERT_EQ(figures["rmse_by_target"].size(), 2U);
  const auto expect_figure = [&](const char* figure, const char* member, double first, double second) {
    EXPECT_NEAR(figures[figure][0][member].get<double>(), first, 1e-6) << figure << " " << member;
    EXPECT_NEAR(figures[figure][1][member].get<double>(), second, 1e-6) << figure << " " << member;
  };
  expect_figure("rmse_by_target", "value", 10.0 * 0.2, 3.0 * 0.3);
  expect_figure("r2_by_target", "value", 1.0 - 0.04 / (0.09 - 0.01), 1.0 - 0.09 / (0.25 - 0.09));
  expect_figure("rmse_by_target", "noise", 10.0 * 5.0 / 10000.0 / (2.0 * 0.2), 3.0 * 5.0 / 10000.0 / (2.0 * 0.3));
  // An interval that is wide beside 1, and not beside the largest scale, says something.
  const nlohmann::json rmse = private_figures({with_errors(200.0)}, terms, 0.95, 1.0, scales)["rmse"];
  EXPECT_GT(rmse["high"].get<double>() - rmse["low"].get<double>(), 1.0);
  EXPECT_FALSE(rmse["value"].is_null());
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
      held += holds(private_figures({noised({block}, engine)}, terms, 0.95)["balanced_accuracy"], 0.71) ? 1 : 0;
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
  const auto deviation_of = [](std::size_t bin) {
    const double p = (static_cast<double>(bin) + 0.5) / 4.0;
    return std::sqrt(8.0 * 8.0 + 1000.0 * p * (1.0 - p));
  };
  for (const std::vector<double>& gaps : {std::vector{0.0, 0.0, 0.0, 0.0}, std::vector{10.0, -15.0, 20.0, -5.0},
                                          std::vector{200.0, -150.0, 12.0, 90.0}}) {
    double low = 0.0;
    double high = 0.0;
    double variance = 0.0;
    double raw = 0.0;
    for (std::size_t bin = 0; bin < 4; ++bin) {
      const double v = deviation_of(bin);
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
      const double off = 1000.0 * (e + step);
      double expected = 4.0 * off;
      for (std::size_t bin = 0; bin < 4; ++bin) expected += bias_by_sum(off, deviation_of(bin));
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
  const nlohmann::json told = private_figures({release}, terms, 0.95)["calibration_error"];
  const auto bins = static_cast<double>(kCalibrationBins);
  EXPECT_NEAR(told["noise"].get<double>(), 20.0 * std::sqrt(bins) / (2.0 * 10.0 * std::sqrt(bins)), 1e-9);
}

}  // namespace dpreduce::simulated_figures_test
