// What statistics say that ranks get of them, against sums written out: K = 3 classes, d = 4 features.

#include "tests/testing.hpp"
#include "tests/worker/scoring_model.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce::statistic_costs_test {

const ReleaseTerms kTerms{.classes = 3, .most_labels = 1, .dim = 4, .evaluation = all_terms(3)};
constexpr double kTriangle = 10.0;  // d (d + 1) / 2
constexpr double kWeights = 12.0;   // K d

StatisticCost cost_of(std::string_view name) {
  const StatisticEntry& entry = registered_statistic(name);
  return entry.cost(entry.request(kTerms, 1.0));
}

TEST(StatisticCosts, RanksGetWhatTheyGoOnWith) {
  for (const char* name : {"class_means", "feature_sums", "class_sizes", "fisher", "gram", "least_squares"}) {
    EXPECT_EQ(cost_of(name).words_down, 0.0) << name;
  }
  EXPECT_EQ(cost_of("class_least_squares").words_down, kTriangle + kWeights);
  for (const char* name : {"gradient", "adaptive_gradient", "newton"}) {
    EXPECT_EQ(cost_of(name).words_down, kWeights / 4.0) << name;
  }
  EXPECT_EQ(cost_of("centred_sums").words_down, kWeights);
  EXPECT_EQ(cost_of("center").words_down, 4.0);
  EXPECT_EQ(cost_of("center_rest").words_down, 4.0 + 1.0);
}

TEST(StatisticCosts, WhatChangesRowsIsTold) {
  EXPECT_EQ(cost_of("class_means").row_change, RowChange::kNone);
  EXPECT_EQ(cost_of("center").row_change, RowChange::kCenter);
  EXPECT_EQ(cost_of("center_rest").row_change, RowChange::kCenter);
  EXPECT_EQ(cost_of("pca").row_change, RowChange::kComponents);
  EXPECT_EQ(cost_of("gram").row_change, RowChange::kWhitening);
}

// Of every statistic, also of one that no test above knows.
TEST(StatisticCosts, NoPointOfARoundIsFree) {
  for (const StatisticEntry* entry : registered_statistics()) {
    if (!entry->is_round()) continue;
    EXPECT_GT(entry->cost(entry->request(kTerms, 1.0)).words_down, 0.0) << entry->name;
  }
}

}  // namespace dpreduce::statistic_costs_test
