// Statistics of rows with numbers: refits are what a fit would have made, of whatever is asked for, and coefficients
// have intervals that hold as often as they say.
#include <nlohmann/json.hpp>

#include "tests/refit/released_rows.hpp"

namespace dpreduce::target_refit_test {

constexpr std::size_t kRows = 4000;
constexpr std::size_t kColumns = 3;
constexpr std::size_t kTargets = 2;
// Of each target, in units of columns from 10 to 30; the constant last.
constexpr double kSlopes[kTargets][kColumns + 1] = {{2.0, -1.0, 0.5, 40.0}, {0.0, 3.0, 1.0, -5.0}};
constexpr double kNoise = 8.0;

struct Numbers {
  explicit Numbers(unsigned seed) {
    std::mt19937_64 engine(seed);
    std::uniform_real_distribution<double> column(10.0, 30.0);
    std::normal_distribution<double> noise(0.0, kNoise);
    for (std::size_t row = 0; row < kRows; ++row) {
      double sums[kTargets] = {kSlopes[0][kColumns], kSlopes[1][kColumns]};
      for (std::size_t a = 0; a < kColumns; ++a) {
        x.push_back(static_cast<float>(column(engine)));
        for (std::size_t t = 0; t < kTargets; ++t) sums[t] += kSlopes[t][a] * double{x.back()};
      }
      for (const double sum : sums) y.push_back(sum + noise(engine));
    }
  }
  RowsInMemory all() const {
    return {.train_x = array_view(std::span(x), kColumns), .train_y = array_view(std::span(y), kTargets)};
  }
  std::vector<float> x{};
  std::vector<double> y{};
};

class TargetRefitTest : public testing::Test {
 protected:
  FitOptions options(const std::string& method, double mu, std::uint64_t seed = 5) const {
    FitOptions options = seeded_fit(method, folder_);
    options.data.classes = 0;
    options.data.train.has_targets = true;
    options.data.target_range = {-20.0, 120.0};
    options.rows.feature_range = {10.0, 30.0};
    options.privacy.budget.mu = mu;
    options.privacy.seed = seed;
    return options;
  }
  KeptStatistics released(const Numbers& rows, double mu, std::uint64_t seed = 5) const {
    FitOptions release = options(std::string(release_method.name), mu, seed);
    release.statistics = {StatisticKind::kGram};
    return released_by(release, rows.all());
  }
  const TemporaryFolder folder_;
};

TEST_F(TargetRefitTest, ARefitHasTheBytesOfTheFit) {
  const Numbers rows(1);
  EXPECT_EQ(to_bytes(refit(released(rows, 1.0), {}).classifier),
            to_bytes(fitted_run(options("ls", 1.0), rows.all()).classifier));
}

TEST_F(TargetRefitTest, OfLittleNoiseARegressionHasTheSlopesThatRowsHave) {
  const KeptStatistics statistics = released(Numbers(1), 300.0);
  const nlohmann::json told = intervals_json(statistics, {.lambda = 1e-3}, 1e-3, 0.95, {});
  EXPECT_EQ(told["units"], "raw");
  ASSERT_EQ(told["weights"].size(), kTargets);
  for (std::size_t t = 0; t < kTargets; ++t) {
    EXPECT_EQ(told["weights"][t]["target"], t);
    for (std::size_t a = 0; a <= kColumns; ++a) {
      EXPECT_NEAR(told["weights"][t]["estimates"][a].get<double>(), kSlopes[t][a], a < kColumns ? 0.12 : 3.0);
    }
  }
}

TEST_F(TargetRefitTest, OneTargetOrTwoFeaturesAreRegressedAsAlone) {
  const Numbers rows(1);
  const KeptStatistics statistics = released(rows, 30.0);
  const Classifier both = refit(statistics, {}).classifier;
  const Classifier second = refit(statistics, {.classes = {1}}).classifier;
  const std::vector<double> all = both.predict_scores(rows.x);
  const std::vector<double> own = second.predict_scores(rows.x);
  for (std::size_t row = 0; row < kRows; row += 500) EXPECT_NEAR(own[row], all[row * kTargets + 1], 1e-9);
  const std::vector<double> of_two = refit(statistics, {.features = {0, 2}}).classifier.parts().weights;
  ASSERT_EQ(of_two.size(), kTargets * kColumns);
  EXPECT_EQ(of_two[1], 0.0);
  EXPECT_NE(of_two[2], 0.0);
  EXPECT_LT(std::abs(refit(statistics, {.lambda = 1e6}).classifier.parts().weights[0]),
            0.5 * std::abs(both.parts().weights[0]));
}

// Of 4 coefficients of 2 targets in 60 data sets each: as many as 480 independent ones would not be further off than
// this, but for once in ten thousand, and they are dependent by fours.
TEST_F(TargetRefitTest, IntervalsOfCoefficientsHoldAsOftenAsTheySay) {
  for (const double mu : {0.5, 3.0}) {
    int held = 0;
    int all = 0;
    for (unsigned seed = 1; seed <= 60; ++seed) {
      const KeptStatistics statistics = released(Numbers(seed), mu, seed);
      const nlohmann::json told = intervals_json(statistics, {.lambda = 0.01}, 0.01, 0.95, {});
      for (std::size_t t = 0; t < kTargets; ++t) {
        const nlohmann::json& population = told["weights"][t]["population"];
        for (std::size_t a = 0; a <= kColumns; ++a) {
          const auto end = [&](const char* name) { return population[name][a].get<double>(); };
          held += end("low") <= kSlopes[t][a] && kSlopes[t][a] <= end("high") ? 1 : 0;
          ++all;
        }
      }
    }
    EXPECT_GE(held, all * 0.9) << mu;
    EXPECT_LE(held, all * 0.995) << mu;
  }
}

TEST_F(TargetRefitTest, PredictionsAreAboutWhatTheModelPredicts) {
  const Numbers rows(1);
  const KeptStatistics statistics = released(rows, 30.0);
  const Refit made = refit(statistics, {.lambda = 1.0});
  const std::span<const float> some = std::span(rows.x).first(20 * kColumns);
  const nlohmann::json told = intervals_json(statistics, {.lambda = 1.0}, *made.ridge, 0.95, some);
  const std::vector<double> predicted = made.classifier.predict_scores(some);
  for (std::size_t t = 0; t < kTargets; ++t) {
    for (std::size_t row = 0; row < 20; ++row) {
      EXPECT_NEAR(told["predictions"][t]["estimates"][row].get<double>(), predicted[row * kTargets + t], 0.1);
    }
  }
}

TEST_F(TargetRefitTest, WhatIsAboutClassesIsRefused) {
  const KeptStatistics statistics = released(Numbers(1), 1.0);
  for (const RefitOptions& about_classes :
       {RefitOptions{.method = RefitMethod::kMean}, RefitOptions{.chooses_ridge = true}, RefitOptions{.alpha = 1.0},
        RefitOptions{.select = 1}, RefitOptions{.components = 2}}) {
    expect_refusal<UsageError>([&] { refit(statistics, about_classes); }, {"numeric targets", "--lambda"});
  }
  expect_refusal<UsageError>([&] { refit(statistics, {.classes = {2}}); }, {"--classes-kept 2", "2 targets"});
  FitOptions release = options(std::string(release_method.name), 1.0);
  release.statistics = {StatisticKind::kGram, StatisticKind::kClassSums};
  expect_refusal<UsageError>([&] { fitted_run(release, Numbers(1).all()); },
                             {"--targets", "the only statistic is gram"});
}

}  // namespace dpreduce::target_refit_test
