// Raw tables by the defaults: columns in units of their own are found and scaled, columns of one size stay as they are.
#include "tests/fit/fitted_rows.hpp"

namespace dpreduce::few_columns_test {

constexpr std::size_t kTraining = 8000;
constexpr std::size_t kTest = 2000;
constexpr std::size_t kColumns = 4;

// Age, income, sex and body mass index, and what they decide beside chance; the last rows are test rows.
struct Table {
  std::vector<float> x{};
  std::vector<std::int64_t> y{};
  std::vector<double> numbers{};

  std::span<const float> test_x() const { return std::span(x).subspan(kTraining * kColumns); }
  RowsInMemory training() const { return training_of(y); }
  template <typename Label>
  RowsInMemory training_of(const std::vector<Label>& of_rows) const {
    return first_rows(kTraining, x, kColumns, of_rows);
  }
};

// Each column about its middle and in its own unit, or all in the first one's.
Table table_of(bool has_units) {
  std::mt19937_64 engine(5);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Table table;
  for (std::size_t row = 0; row < kTraining + kTest; ++row) {
    const double age = std::sqrt(12.0) * (uniform(engine) - 0.5);
    const double income = normal(engine);
    const double sex = uniform(engine) < 0.5 ? -1.0 : 1.0;
    const double mass = normal(engine);
    const std::array middles{age, income, sex, mass};
    const std::array units{50.0 + 18.0 * age, 30000.0 * std::exp(0.6 * income), 0.5 + 0.5 * sex, 26.0 + 4.0 * mass};
    for (const double entry : has_units ? units : middles) table.x.push_back(static_cast<float>(entry));
    const double value = 1.2 * age - 1.2 * income + 0.8 * sex + 1.2 * mass;
    table.y.push_back(value + 0.5 * normal(engine) > 0.0 ? 1 : 0);
    table.numbers.push_back(100.0 + value + 0.5 * normal(engine));
  }
  return table;
}

FitOptions options_of() {
  FitOptions options;
  options.data.classes = 2;
  options.privacy = {.budget = {{.epsilon = 1.0, .delta = 1e-6}}, .seed = 3};
  options.machine.threads = 1;
  return options;
}

FitOptions options_of_targets() {
  FitOptions options = options_of();
  options.data.classes = 0;
  options.data.train.has_targets = true;
  return options;
}

double accuracy(const Classifier& classifier, const Table& table) {
  return accuracy_of(classifier, table.test_x(), std::span(table.y).subspan(kTraining));
}

double left_over(const Classifier& classifier, const Table& table) {
  return share_left(classifier, table.test_x(), std::span(table.numbers).subspan(kTraining), 100.0);
}

TEST(FewColumns, InUnitsOfTheirOwnAreScaledByDefaultForClassesAndNumbers) {
  const Table table = table_of(true);
  FitOptions options = options_of();
  FitOptions of_numbers = options_of_targets();
  const RowsInMemory numbers = table.training_of(table.numbers);
  const Classifier model = fitted_run(options, table.training()).classifier;
  const Preprocessing& rows = model.parts().preprocessing;
  ASSERT_EQ(rows.columns.scale.size(), kColumns);
  EXPECT_EQ(rows.normalize, Normalize::kNone);
  EXPECT_GT(rows.columns.scale[1], 1000.0 * rows.columns.scale[2]);
  EXPECT_GT(accuracy(model, table), 0.88);
  EXPECT_LT(left_over(fitted_run(of_numbers, numbers).classifier, table), 0.1);
  options.rows.finds_ranges = of_numbers.rows.finds_ranges = FindRanges::kNever;
  EXPECT_LT(accuracy(fitted_run(options, table.training()).classifier, table), 0.8) << "as it was";
  EXPECT_GT(left_over(fitted_run(of_numbers, numbers).classifier, table), 0.5) << "as it was";
}

// What numbers depend on is in the lengths of rows too: C is where few are longer.
TEST(FewColumns, LengthsOfRowsThatHaveNumbersAreKept) {
  const Table table = table_of(false);
  FitOptions options = options_of_targets();
  const RowsInMemory rows = table.training_of(table.numbers);
  const FittedRun run = fitted_run(options, rows);
  const Preprocessing& prepared = run.classifier.parts().preprocessing;
  EXPECT_EQ(prepared.normalize, Normalize::kNone);
  EXPECT_THAT(prepared.clip_norm, AllOf(testing::Ge(2.0), testing::Le(4.0))) << "rows are about 2 long";
  EXPECT_NEAR(run.fit->plan().request("row_sizes").share, 0.02, 1e-12);
  EXPECT_LT(left_over(run.classifier, table), 0.06) << "0.05 are by chance";
  // Where somebody says C, it stands, and no budget goes to the question.
  options.rows.sets_length = true;
  const FittedRun said = fitted_run(options, rows);
  EXPECT_FALSE(said.fit->plan().has_request("row_sizes"));
  EXPECT_EQ(said.classifier.parts().preprocessing.clip_norm, 1.0);
  EXPECT_GT(left_over(said.classifier, table), 0.1) << "as it was";
  // Rows that keep their lengths need a C all the same: at 1 each would be a direction alone.
  options.rows.normalize = Normalize::kNone;
  EXPECT_EQ(fitted_run(options, rows).classifier.parts().preprocessing.clip_norm, prepared.clip_norm);
  options.rows.sets_clip = true;
  EXPECT_EQ(fitted_run(options, rows).classifier.parts().preprocessing.clip_norm, 1.0);
}

// 500 rows at epsilon .3 of twenty columns, each like the one before: the noise of one count decided where residuals
// were clipped, and that of the first regression stayed. More than half of the squared deviations was left.
TEST(FewRows, OfManyColumnsAreExplainedBesideMuchNoise) {
  constexpr std::size_t kRows = 500;
  constexpr std::size_t kMany = 20;
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal;
  std::vector<float> x;
  std::vector<double> numbers;
  for (std::size_t row = 0; row < 2 * kRows; ++row) {
    double before = normal(engine);
    double number = 2.0 * normal(engine);
    for (std::size_t a = 0; a < kMany; ++a) {
      x.push_back(static_cast<float>(before));
      number += std::cos(static_cast<double>(a) / 3.0) * before;
      before = 0.9 * before + std::sqrt(0.19) * normal(engine);
    }
    numbers.push_back(number);
  }
  FitOptions options = options_of_targets();
  options.data.target_range = {-12.0, 12.0};
  options.privacy.budget.epsilon = 0.3;
  const std::span<const float> test = std::span(x).subspan(kRows * kMany);
  std::vector<double> left;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    options.privacy.seed = seed;
    const FittedRun run = fitted_run(options, first_rows(kRows, x, kMany, numbers));
    left.push_back(share_left(run.classifier, test, std::span(numbers).subspan(kRows), 0.0));
  }
  std::ranges::sort(left);
  EXPECT_LT(left[left.size() / 2], 0.52);
  EXPECT_LT(left[left.size() - 2], 0.8) << "it was 2.1";
}

// Columns from 0 to 1: words, of which a row has one in eight, keep 0 at 0, and uniform numbers are centered.
TEST(ZeroEnds, StayAtZeroWhereMostEntriesAreZeros) {
  constexpr std::size_t kRows = 4000;
  constexpr std::size_t kWords = 8;
  constexpr std::size_t kAll = 3 * kWords;
  std::mt19937_64 engine(9);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<float> uniform;
  std::vector<double> slopes(kAll);
  for (double& slope : slopes) slope = normal(engine);
  const auto numbers_of = [&](const std::vector<float>& x) {
    std::vector<double> numbers;
    for (std::size_t row = 0; row < 2 * kRows; ++row) {
      numbers.push_back(0.5 * normal(engine));
      for (std::size_t a = 0; a < kAll; ++a) numbers.back() += slopes[a] * double{x[row * kAll + a]};
    }
    return numbers;
  };
  std::vector<float> words(2 * kRows * kAll, 0.0F);
  for (std::size_t first = 0; first < words.size(); first += kWords) words[first + engine() % kWords] = 1.0F;
  std::vector<float> dense;
  for (std::size_t e = 0; e < words.size(); ++e) dense.push_back(uniform(engine));
  const std::vector<double> of_words = numbers_of(words);
  FitOptions options = options_of_targets();
  options.data.target_range = {-6.0, 6.0};
  const auto fitted = [&](const std::vector<float>& x, const std::vector<double>& numbers, double low) {
    options.rows.feature_range = {low, 1.0};
    return fitted_run(options, first_rows(kRows, x, kAll, numbers));
  };
  const auto left = [&](const Classifier& model, const std::vector<float>& x) {
    const std::vector<double> predicted = model.predict_scores(std::span(x).subspan(kRows * kAll));
    double sum = 0.0;
    for (std::size_t row = 0; row < kRows; ++row) sum += std::pow(predicted[row] - of_words[kRows + row], 2);
    return sum / static_cast<double>(kRows);
  };
  const FittedRun kept = fitted(words, of_words, 0.0);
  EXPECT_NEAR(kept.fit->plan().request("row_zeros").share, 0.01, 1e-12);
  const FeatureColumns& columns = kept.classifier.parts().preprocessing.columns;
  EXPECT_THAT(columns.center, testing::Each(0.0));
  EXPECT_THAT(columns.scale, testing::Each(1.0));
  EXPECT_THAT(fitted(dense, numbers_of(dense), 0.0).classifier.parts().preprocessing.columns.center,
              testing::Each(0.5));
  std::vector<float> mapped = words;
  for (float& entry : mapped) entry = 2.0F * entry - 1.0F;
  const FittedRun centered = fitted(mapped, of_words, -1.0);
  EXPECT_FALSE(centered.fit->plan().has_request("row_zeros"));
  EXPECT_LT(left(kept.classifier, words) - 0.25, 0.7 * (left(centered.classifier, mapped) - 0.25)) << "noise is .25";
}

// What noise hides is said, and not guessed: the model is then a constant.
TEST(FewColumns, ATargetOfWhichNothingIsSeenHasAConstantForItsModel) {
  const Table table = table_of(false);
  FitOptions options = options_of_targets();
  options.privacy.budget.epsilon = 0.002;
  const RowsInMemory rows = table.training_of(table.numbers);
  const FittedRun hidden = fitted_run(options, rows);
  EXPECT_EQ(hidden.hidden_targets, std::vector<std::size_t>{0});
  const std::vector<double> predicted = hidden.classifier.predict_scores(table.test_x());
  EXPECT_EQ(std::ranges::count(predicted, predicted.front()), static_cast<std::ptrdiff_t>(predicted.size()));
  options.privacy.budget.epsilon = 1.0;
  EXPECT_THAT(fitted_run(options, rows).hidden_targets, IsEmpty());
}

// Numbers far from 0 beside what they vary by, under an offset as about 0.
TEST(FewColumns, NumbersMayBeAnyOffsetAndScaleFromZero) {
  const Table table = table_of(false);
  for (const auto& [offset, scale] : {std::pair{0.0, 1.0}, std::pair{1e6, 1.0}, std::pair{-3e9, 1e3}}) {
    std::vector<double> numbers;
    for (const double number : table.numbers) numbers.push_back(offset + scale * (number - 100.0));
    const Classifier model = fitted_run(options_of_targets(), table.training_of(numbers)).classifier;
    EXPECT_LT(share_left(model, table.test_x(), std::span(numbers).subspan(kTraining), offset), 0.06) << offset;
  }
}

TEST(FewColumns, OfOneSizeStayAsTheyAre) {
  const Table table = table_of(false);
  const FittedRun run = fitted_run(options_of(), table.training());
  EXPECT_THAT(run.classifier.parts().preprocessing.columns.scale, IsEmpty());
  EXPECT_EQ(run.classifier.parts().preprocessing.normalize, Normalize::kL2);
  double share = 0.0;
  for (const char* name : {"feature_sizes", "feature_places", "feature_spreads"}) {
    share += run.fit->plan().request(name).share;
  }
  EXPECT_NEAR(share, 0.03, 1e-12) << "what the question costs";
  FitOptions scaled = options_of();
  scaled.rows.sets_length = true;
  const FittedRun as_said = fitted_run(scaled, table.training());
  EXPECT_FALSE(as_said.fit->plan().has_request("feature_sizes"));
  EXPECT_NEAR(accuracy(run.classifier, table), accuracy(as_said.classifier, table), 0.01);
}

}  // namespace dpreduce::few_columns_test
