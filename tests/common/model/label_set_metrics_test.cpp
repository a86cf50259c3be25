#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/model/metrics.hpp"
#include "tests/testing.hpp"

namespace dpreduce::label_set_metrics_test {

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

TEST(AveragePrecision, ByHand) {
  // Positives at ranks 1 and 3: (1 + 2/3) / 2.
  EXPECT_DOUBLE_EQ(average_precision({{0.1, false}, {0.9, true}, {0.5, true}, {0.7, false}}).value(), 5.0 / 6.0);
  EXPECT_DOUBLE_EQ(average_precision({{2.0, true}, {1.0, false}}).value(), 1.0);
  EXPECT_DOUBLE_EQ(average_precision({{1.0, true}, {2.0, false}}).value(), 0.5);
}

TEST(AveragePrecision, RowsOfEqualScoreComeTogetherInAnyOrder) {
  // One of three at the top, then one alone: (1/3 + 2/4) / 2.
  const double expected = (1.0 / 3.0 + 2.0 / 4.0) / 2.0;
  EXPECT_DOUBLE_EQ(average_precision({{1.0, true}, {1.0, false}, {1.0, false}, {0.0, true}}).value(), expected);
  EXPECT_DOUBLE_EQ(average_precision({{0.0, true}, {1.0, false}, {1.0, false}, {1.0, true}}).value(), expected);
}

// Of 8 labeled rows 2 classes each are told: 16 guesses, of which 9 hit, of 12 positives.
TEST(LabelSetFigures, PrecisionAndRecallOfTheTopAreSharesOfItsHits) {
  LabelSetFigures figures;
  figures.rows = 10;
  figures.labeled_rows = 8;
  figures.classes = {{4, 0, 0, 0.5}, {8, 0, 0, 0.5}};
  EXPECT_FALSE(to_json(figures).contains("precision_at_k"));
  figures.top = {2, 9};
  const nlohmann::json json = to_json(figures);
  EXPECT_EQ(json["top_k"], 2);
  EXPECT_DOUBLE_EQ(json["precision_at_k"].get<double>(), 9.0 / 16.0);
  EXPECT_DOUBLE_EQ(json["recall_at_k"].get<double>(), 9.0 / 12.0);
  LabelSetFigures of_no_rows;
  of_no_rows.top = {1, 0};
  EXPECT_TRUE(to_json(of_no_rows)["precision_at_k"].is_null());
}

TEST(AveragePrecision, AgreesWithItsDefinition) {
  std::mt19937 random(20261126);
  for (int round = 0; round < 50; ++round) {
    std::vector<RankedRow> rows{{0.5, true}};
    for (int row = 0; row < 60; ++row) rows.push_back({static_cast<double>(random() % 20) / 7.0, random() % 3 == 0});
    EXPECT_NEAR(average_precision(rows).value(), by_definition(rows), 1e-12);
  }
}

TEST(AveragePrecision, IsEmptyWithoutPositives) {
  EXPECT_FALSE(average_precision({}).has_value());
  EXPECT_FALSE(average_precision({{1.0, false}}).has_value());
}

TEST(LabelSetFigures, MeansAreOverClassesWithPositives) {
  LabelSetFigures figures;
  figures.rows = 10;
  figures.labeled_rows = 8;
  figures.hits = 6;
  figures.threshold = 0.5;
  figures.classes = {{4, 2, 1, 0.5}, {0, 3, 0, std::nullopt}, {2, 2, 2, 1.0}};
  const nlohmann::json json = to_json(figures);
  EXPECT_EQ(json["rows_without_labels"], 2);
  EXPECT_DOUBLE_EQ(json["hit_rate"].get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(json["mean_average_precision"].get<double>(), 0.75);
  EXPECT_EQ(json["classes_without_positives"], nlohmann::json::array({1}));
  EXPECT_TRUE(json["per_class_average_precision"][1].is_null());
  EXPECT_EQ(json["per_class_support"], nlohmann::json::array({4, 0, 2}));
  EXPECT_DOUBLE_EQ(json["micro_f1"].get<double>(), 6.0 / 13.0);
  EXPECT_DOUBLE_EQ(json["macro_f1"].get<double>(), (2.0 / 6.0 + 1.0) / 2.0);
  figures.threshold.reset();
  EXPECT_FALSE(to_json(figures).contains("micro_f1"));
}

TEST(LabelSetFigures, WithoutRowsAreNull) {
  const nlohmann::json json = to_json(LabelSetFigures{});
  EXPECT_TRUE(json["hit_rate"].is_null());
  EXPECT_TRUE(json["mean_average_precision"].is_null());
}

}  // namespace dpreduce::label_set_metrics_test
