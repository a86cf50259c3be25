// What statistics say that they cost, against sums written out: K = 3 classes, d = 4 features.

#include "tests/testing.hpp"
#include "tests/worker/scoring_model.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce::statistic_costs_test {

const ReleaseTerms kTerms{.classes = 3, .most_labels = 1, .dim = 4, .evaluation = all_terms(3)};
constexpr double kTriangle = 10.0;  // d (d + 1) / 2
constexpr double kWeights = 12.0;   // K d

StatisticCost cost_of(std::string_view name, const CostTerms& terms = {}) {
  const StatisticEntry& entry = registered_statistic(name);
  return entry.cost(entry.request(kTerms, 1.0), terms);
}

TEST(StatisticCosts, SumsAreCountedWithTheirRows) {
  for (const char* name : {"class_means", "feature_sums", "class_sizes", "fisher"}) {
    const StatisticCost cost = cost_of(name);
    EXPECT_EQ(cost.product_macs + cost.round_macs + cost.words_down, 0.0) << name;
    EXPECT_EQ(cost.passes, 1.0) << name;
    EXPECT_EQ(cost.row_change, RowChange::kNone) << name;
  }
}

TEST(StatisticCosts, AGramMatrixIsOneTriangleARow) {
  for (const char* name : {"gram", "pca", "least_squares"}) EXPECT_EQ(cost_of(name).product_macs, kTriangle) << name;
}

TEST(StatisticCosts, GramMatricesOfClassesCostTwoPassesATriangleALabelAndTwoDigests) {
  const StatisticCost cost = cost_of("class_least_squares", {.labels_per_row = 2});
  EXPECT_EQ(cost.passes, 2.0);
  EXPECT_EQ(cost.product_macs, 2.0 * kTriangle + kTriangle + 2.0 * 8.0 * 4.0);
  EXPECT_EQ(cost.words_down, kTriangle + kWeights);
}

TEST(StatisticCosts, AGradientIsScoresAndASumAndScoresAgainWithASecondHead) {
  for (const char* name : {"gradient", "adaptive_gradient", "newton"}) {
    EXPECT_EQ(cost_of(name).round_macs, 2.0 * kWeights) << name;
    EXPECT_EQ(cost_of(name, {.has_prior = true}).round_macs, 3.0 * kWeights) << name;
    EXPECT_EQ(cost_of(name).words_down, kWeights / 4.0) << name;
  }
  EXPECT_EQ(cost_of("newton").product_macs, 3.0 * kTriangle);
}

TEST(StatisticCosts, ACenteredRowCostsFourMultiplyAddsAFeature) {
  EXPECT_EQ(cost_of("centred_sums").round_macs, 4.0 * 4.0);
  EXPECT_EQ(cost_of("centred_sums").words_down, kWeights);
  EXPECT_EQ(cost_of("center_rest").round_macs, 4.0 * 4.0);
  EXPECT_EQ(cost_of("center_rest").words_down, 4.0 + 1.0);
}

TEST(StatisticCosts, WhatChangesRowsIsTold) {
  EXPECT_EQ(cost_of("center").row_change, RowChange::kCenter);
  EXPECT_EQ(cost_of("center").words_down, 4.0);
  EXPECT_EQ(cost_of("center_rest").row_change, RowChange::kCenter);
  EXPECT_EQ(cost_of("pca").row_change, RowChange::kComponents);
  EXPECT_EQ(cost_of("gram").row_change, RowChange::kWhitening);
}

// Of every statistic, also of one that no test above knows: a point is sent to the ranks and worked with, a symmetric
// matrix is a product.
TEST(StatisticCosts, NoRoundAndNoMatrixIsFree) {
  for (const StatisticEntry* entry : registered_statistics()) {
    const ReleaseRequest request = entry->request(kTerms, 1.0);
    const StatisticCost cost = entry->cost(request, {});
    if (entry->is_round()) {
      EXPECT_GT(cost.round_macs, 0.0) << entry->name;
      EXPECT_GT(cost.words_down, 0.0) << entry->name;
    }
    double triangles = 0.0;
    for (const BlockRequest& block : request.blocks) {
      if (block.noise != BlockNoise::kSymmetric) continue;
      triangles += static_cast<double>(block.elements / (request.in_parts ? block.triangles : 1));
    }
    EXPECT_GE(cost.product_macs, triangles) << entry->name;
  }
}

}  // namespace dpreduce::statistic_costs_test
