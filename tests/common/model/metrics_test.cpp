#include "common/model/metrics.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::metrics_test {

using nlohmann::json;

//            given 0  1  2  3
// class 0           3  1  0  0     support 4
// class 1           2  1  2  0     support 5
// class 2           0  0  1  0     support 1
// class 3           0  0  0  0     absent
ClassCounts small_counts() {
  ClassCounts counts(4);
  constexpr int kMatrix[4][4] = {{3, 1, 0, 0}, {2, 1, 2, 0}, {0, 0, 1, 0}, {0, 0, 0, 0}};
  for (std::int32_t label = 0; label < 4; ++label) {
    for (std::int32_t given = 0; given < 4; ++given) {
      for (int row = 0; row < kMatrix[label][given]; ++row) counts.add(label, given);
    }
  }
  return counts;
}

TEST(Metrics, FiguresOfASmallMatrixByHand) {
  const ClassCounts counts = small_counts();
  EXPECT_EQ(counts.total(), 10u);
  EXPECT_EQ(counts.support(1), 5u);
  EXPECT_EQ(counts.predicted(2), 3u);
  EXPECT_EQ(counts.count(1, 2), 2u);
  const json figures = to_json(counts);
  EXPECT_EQ(figures.at("rows"), 10);
  EXPECT_EQ(figures.at("accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(figures.at("balanced_accuracy"), (0.75 + 0.2 + 1.0) / 3.0);
  EXPECT_EQ(figures.at("per_class"), json({0.75, 0.2, 1.0, nullptr}));
  EXPECT_EQ(figures.at("per_class_support"), json({4, 5, 1, 0}));
  EXPECT_EQ(figures.at("per_class_precision"), json({0.6, 0.5, 1.0 / 3.0, nullptr}));
  EXPECT_DOUBLE_EQ(figures.at("per_class_f1").at(0), 2.0 * 3.0 / (4.0 + 5.0));
  EXPECT_TRUE(figures.at("per_class_f1").at(3).is_null());
  EXPECT_FALSE(figures.contains("minority_accuracy"));
  for (std::size_t label = 0; label < 3; ++label) EXPECT_EQ(figures["per_class"][label], *recall(counts, label));
  EXPECT_FALSE(recall(counts, 3));
}

TEST(Metrics, FiguresOfNoRowsAreEmpty) {
  const json figures = to_json(ClassCounts(2), std::vector<double>{1.0, 2.0});
  for (const char* name : {"accuracy", "balanced_accuracy", "minority_accuracy"}) {
    EXPECT_TRUE(figures.at(name).is_null()) << name;
  }
}

TEST(Metrics, CountsOfPartsAddUpToThoseOfAllRows) {
  ClassCounts whole(3);
  ClassCounts left(3);
  ClassCounts right(3);
  for (int row = 0; row < 30; ++row) {
    const std::int32_t given = row * row % 3;
    whole.add(row % 3, given);
    (row < 11 ? left : right).add(row % 3, given);
  }
  std::ranges::transform(left.counts(), right.counts(), left.counts().begin(), std::plus<>());
  EXPECT_TRUE(std::ranges::equal(left.counts(), whole.counts()));
  EXPECT_EQ(whole.total(), 30u);
}

TEST(Metrics, OfManyClassesCountsAreLinearAndFiguresTheSame) {
  constexpr std::size_t kMany = 100'000;  // K^2 counts would be 80 GB
  ClassCounts counts(kMany);
  EXPECT_FALSE(counts.has_matrix());
  EXPECT_EQ(ClassCounts::bytes(kMany), 3 * kMany * sizeof(std::uint64_t));
  counts.add(kMany - 1, kMany - 1);
  counts.add(kMany - 1, 7);
  counts.add(7, 7);
  const json figures = to_json(counts);
  EXPECT_DOUBLE_EQ(figures["accuracy"], 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(*recall(counts, kMany - 1), 0.5);
  EXPECT_EQ(figures["per_class_precision"][7], 0.5);
  EXPECT_EQ(figures["balanced_accuracy"], 0.75);
  EXPECT_THROW(counts.count(7, 7), std::logic_error);
  EXPECT_TRUE(ClassCounts(kMostClassesInMatrix).has_matrix());
}

TEST(Metrics, MinorityClassesAreAQuarterRoundedUpOfWhatAreShares) {
  EXPECT_EQ(minority_classes(std::vector<double>{5.0}), (std::vector<std::size_t>{0}));
  EXPECT_EQ(minority_classes(std::vector<double>{4.0, 3.0, 2.0, 1.0}), (std::vector<std::size_t>{3}));
  EXPECT_EQ(minority_classes(std::vector<double>{9.0, 1.0, 8.0, 0.0, 7.0}), (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(minority_classes(std::vector<double>{2.0, 1.0, 1.0, 1.0, 1.0}), (std::vector<std::size_t>{1, 2}))
      << "of equal shares the smaller class";
  for (const std::vector<double>& shares : std::vector<std::vector<double>>{{}, {0.5, -0.1}, {kNan}, {kInfinity}}) {
    EXPECT_THROW(minority_classes(shares), UsageError) << testing::PrintToString(shares);
  }
  EXPECT_THROW(to_json(small_counts(), std::vector<double>{1.0}), UsageError);
}

TEST(Metrics, MinorityAccuracyIsTheMeanRecallOfItsClassesThatOccur) {
  const auto minority = [](const ClassCounts& counts, const std::vector<double>& shares) {
    return to_json(counts, shares).at("minority_accuracy");
  };
  EXPECT_EQ(minority(small_counts(), {0.3, 0.1, 0.3, 0.3}), 0.2);
  EXPECT_EQ(to_json(small_counts(), std::vector{0.3, 0.1, 0.3, 0.3}).at("minority_classes"), json({1}));
  ClassCounts five(5);  // minority: classes 3 (recall 1/2) and 4 (absent)
  five.add(3, 3);
  five.add(3, 0);
  five.add(0, 1);
  EXPECT_EQ(minority(five, {5, 4, 3, 2, 1}), 0.5);
  EXPECT_TRUE(minority(small_counts(), {0.3, 0.3, 0.3, 0.1}).is_null());
}

TEST(Metrics, NoClassesAndLabelsOutsideOfThemAreRefused) {
  EXPECT_THROW(ClassCounts(0), UsageError);
  ClassCounts counts(3);
  EXPECT_THROW(counts.add(-1, 0), BadInput);
  EXPECT_THROW(counts.add(3, 0), BadInput);
  EXPECT_THROW(counts.add(std::int64_t{1} << 32, 0), BadInput);
  EXPECT_THROW(counts.add(0, 3), std::logic_error);
  EXPECT_THROW(counts.add(0, -1), std::logic_error);
  EXPECT_EQ(counts.total(), 0u);
  EXPECT_THROW(small_counts().count(4, 0), std::logic_error);
  EXPECT_THROW(small_counts().count(0, 4), std::logic_error);
  EXPECT_THROW(small_counts().support(4), std::logic_error);
}

const TargetColumns kOne{.count = 1, .center = {10.0}, .scale = {4.0}};

TargetFigures figures_of(const std::vector<double>& y, const std::vector<double>& predicted) {
  TargetFigures figures(kOne);
  for (std::size_t row = 0; row < y.size(); ++row) figures.add({&y[row], 1}, {&predicted[row], 1});
  return figures;
}

TEST(TargetFigures, AreThoseOfPlainSums) {
  const std::vector<double> y{7.0, 11.0, 12.5, 30.0};
  const std::vector<double> f{8.0, 10.0, 12.5, 20.0};
  const TargetFigures figures = figures_of(y, f);
  const double mean = (7.0 + 11.0 + 12.5 + 30.0) / 4.0;
  double spread = 0.0;
  double errors = 0.0;
  for (std::size_t row = 0; row < y.size(); ++row) {
    spread += (y[row] - mean) * (y[row] - mean);
    errors += (y[row] - f[row]) * (y[row] - f[row]);
  }
  EXPECT_NEAR(figures.r2(0).value(), 1.0 - errors / spread, 1e-14);
  EXPECT_NEAR(figures.rmse(0).value(), std::sqrt(errors / 4.0), 1e-13);
}

TEST(TargetFigures, TakeTheSameBitsInAnyOrderAndParts) {
  std::vector<double> y;
  for (int row = 0; row < 300; ++row) y.push_back(10.0 + 7.0 * std::sin(row) + (row % 50 == 0 ? 1e4 : 0.0));
  const TargetFigures forward = figures_of(y, std::vector<double>(y.size(), 11.0));
  TargetFigures backward(kOne);
  TargetFigures part(kOne);
  const double predicted = 11.0;
  for (std::size_t row = y.size(); row-- > 0;) (row % 3 == 0 ? part : backward).add({&y[row], 1}, {&predicted, 1});
  for (std::size_t word = 0; word < part.words().size(); ++word) backward.words()[word] += part.words()[word];
  EXPECT_EQ(forward.r2(0), backward.r2(0));
  EXPECT_EQ(forward.rmse(0), backward.rmse(0));
}

TEST(TargetFigures, HoldNumbersFarBeyondTheRangeAndAreNoneWhereNoSumDoes) {
  for (const double far : {1e12, -1e25}) {
    const TargetFigures figures = figures_of({far, 10.0, 10.0, 14.0}, {10.0, 10.0, 10.0, 10.0});
    EXPECT_NEAR(figures.rmse(0).value() / (std::abs(far) / 2.0), 1.0, 1e-9);
    EXPECT_NEAR(figures.r2(0).value(), 1.0 - 4.0 / 3.0, 1e-9);
  }
  for (const double predicted : {1e200, kNan}) {
    const TargetFigures figures = figures_of({11.0}, {predicted});
    EXPECT_FALSE(figures.r2(0) || figures.rmse(0));
    EXPECT_TRUE(to_json(figures)["rmse"].is_null());
  }
}

TEST(TargetFigures, OfNoRowsOrEqualOnesHaveNoR2) {
  const TargetFigures none(kOne);
  EXPECT_FALSE(none.r2(0) || none.rmse(0));
  EXPECT_TRUE(to_json(none)["r2"].is_null());
  for (double same = 10.1; same < 30.0; same += 0.37) {
    EXPECT_FALSE(figures_of(std::vector<double>(7, same), std::vector<double>(7, 12.0)).r2(0)) << same;
  }
  const TargetFigures exact = figures_of({9.0, 9.0}, {9.0, 9.0});
  EXPECT_FALSE(exact.r2(0));
  EXPECT_EQ(exact.rmse(0), 0.0);
}

struct RankedRow {
  double score;
  bool is_positive;
};

std::optional<double> average_precision(const std::vector<RankedRow>& rows) {
  std::vector<double> positives;
  for (const RankedRow& row : rows) {
    if (row.is_positive) positives.push_back(row.score);
  }
  RankCounts counts(positives);
  for (const RankedRow& row : rows) counts.add(row.score);
  return counts.average_precision();
}

// The definition: precision at each positive row, over all rows that score at least as much.
double by_definition(const std::vector<RankedRow>& rows) {
  double sum = 0.0;
  double positives = 0.0;
  for (const RankedRow& own : rows) {
    if (!own.is_positive) continue;
    const auto reach = [&](const RankedRow& row) { return row.score >= own.score; };
    const auto hits = std::ranges::count_if(rows, [&](const RankedRow& row) { return row.is_positive && reach(row); });
    sum += static_cast<double>(hits) / static_cast<double>(std::ranges::count_if(rows, reach));
    positives += 1.0;
  }
  return sum / positives;
}

TEST(AveragePrecision, ByHandWithRowsOfEqualScoreTogetherInAnyOrder) {
  // Positives at ranks 1 and 3: (1 + 2/3) / 2.
  EXPECT_DOUBLE_EQ(average_precision({{0.1, false}, {0.9, true}, {0.5, true}, {0.7, false}}).value(), 5.0 / 6.0);
  EXPECT_DOUBLE_EQ(average_precision({{2.0, true}, {1.0, false}}).value(), 1.0);
  EXPECT_DOUBLE_EQ(average_precision({{1.0, true}, {2.0, false}}).value(), 0.5);
  EXPECT_FALSE(average_precision({}).has_value());
  EXPECT_FALSE(average_precision({{1.0, false}}).has_value());
  // One of three at the top, then one alone: (1/3 + 2/4) / 2.
  const double expected = (1.0 / 3.0 + 2.0 / 4.0) / 2.0;
  EXPECT_DOUBLE_EQ(average_precision({{1.0, true}, {1.0, false}, {1.0, false}, {0.0, true}}).value(), expected);
  EXPECT_DOUBLE_EQ(average_precision({{0.0, true}, {1.0, false}, {1.0, false}, {1.0, true}}).value(), expected);
}

LabelSetFigures label_set_figures(const std::vector<std::uint64_t>& counts,
                                  const std::vector<std::optional<double>>& average_precisions) {
  LabelSetFigures figures(average_precisions.size());
  EXPECT_EQ(figures.counts.size(), counts.size());
  figures.counts = counts;
  figures.average_precisions = average_precisions;
  return figures;
}

// Of 8 labeled rows 2 classes each are told: 16 guesses, of which 9 hit, of 12 positives.
TEST(LabelSetFigures, PrecisionAndRecallOfTheTopAreSharesOfItsHits) {
  LabelSetFigures figures = label_set_figures({10, 8, 0, 9, 4, 0, 0, 8, 0, 0}, {0.5, 0.5});
  EXPECT_FALSE(to_json(figures).contains("precision_at_k"));
  figures.top_k = 2;
  const json told = to_json(figures);
  EXPECT_EQ(told["top_k"], 2);
  EXPECT_DOUBLE_EQ(told["precision_at_k"].get<double>(), 9.0 / 16.0);
  EXPECT_DOUBLE_EQ(told["recall_at_k"].get<double>(), 9.0 / 12.0);
}

// The last row is of no class: it counts as a row, and for the class that its score gives it.
TEST(LabelSetFigures, CountRowsByTheirScores) {
  LabelSetFigures figures(3);
  figures.threshold = 0.5;
  figures.top_k = 2;
  figures.add(std::vector{0.9, 0.1, 0.5}, std::vector<std::int32_t>{0, 1});
  figures.add(std::vector{0.1, 0.2, 0.3}, std::vector<std::int32_t>{1});
  figures.add(std::vector{0.7, 0.2, 0.3}, std::vector<std::int32_t>{});
  EXPECT_THAT(figures.counts, ElementsAre(3, 2, 1, 2, 1, 2, 1, 2, 0, 0, 0, 1, 0));
}

TEST(AveragePrecision, AgreesWithItsDefinition) {
  std::mt19937 random(20261126);
  for (int round = 0; round < 50; ++round) {
    std::vector<RankedRow> rows{{0.5, true}};
    for (int row = 0; row < 60; ++row) rows.push_back({static_cast<double>(random() % 20) / 7.0, random() % 3 == 0});
    EXPECT_NEAR(average_precision(rows).value(), by_definition(rows), 1e-12);
  }
}

TEST(LabelSetFigures, MeansAreOverClassesWithPositives) {
  LabelSetFigures figures = label_set_figures({10, 8, 6, 0, 4, 2, 1, 0, 3, 0, 2, 2, 2}, {0.5, std::nullopt, 1.0});
  figures.threshold = 0.5;
  const json told = to_json(figures);
  EXPECT_EQ(told["rows_without_labels"], 2);
  EXPECT_DOUBLE_EQ(told["hit_rate"].get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(told["mean_average_precision"].get<double>(), 0.75);
  EXPECT_EQ(told["classes_without_positives"], json::array({1}));
  EXPECT_TRUE(told["per_class_average_precision"][1].is_null());
  EXPECT_EQ(told["per_class_support"], json::array({4, 0, 2}));
  EXPECT_DOUBLE_EQ(told["micro_f1"].get<double>(), 6.0 / 13.0);
  EXPECT_DOUBLE_EQ(told["macro_f1"].get<double>(), (2.0 / 6.0 + 1.0) / 2.0);
  figures.threshold.reset();
  EXPECT_FALSE(to_json(figures).contains("micro_f1"));
}

TEST(LabelSetFigures, WithoutRowsAreNull) {
  LabelSetFigures figures(0);
  figures.top_k = 1;
  const json told = to_json(figures);
  for (const char* figure : {"hit_rate", "mean_average_precision", "precision_at_k"}) {
    EXPECT_TRUE(told.at(figure).is_null()) << figure;
  }
}

}  // namespace dpreduce::metrics_test
