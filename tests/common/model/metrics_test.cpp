#include "common/model/metrics.hpp"

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::metrics_test {

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
  EXPECT_DOUBLE_EQ(*accuracy(counts), 0.5);
  EXPECT_DOUBLE_EQ(*recall(counts, 0), 0.75);
  EXPECT_DOUBLE_EQ(*recall(counts, 1), 0.2);
  EXPECT_DOUBLE_EQ(*recall(counts, 2), 1.0);
  EXPECT_DOUBLE_EQ(*balanced_accuracy(counts), (0.75 + 0.2 + 1.0) / 3.0);
  EXPECT_DOUBLE_EQ(*precision(counts, 0), 0.6);
  EXPECT_DOUBLE_EQ(*precision(counts, 1), 0.5);
  EXPECT_DOUBLE_EQ(*precision(counts, 2), 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(*f1_score(counts, 0), 2.0 * 3.0 / (4.0 + 5.0));
}

TEST(Metrics, FiguresWithoutADenominatorAreEmpty) {
  const ClassCounts counts = small_counts();
  EXPECT_FALSE(recall(counts, 3));
  EXPECT_FALSE(precision(counts, 3));
  EXPECT_FALSE(f1_score(counts, 3));
  const ClassCounts empty(2);
  EXPECT_FALSE(accuracy(empty));
  EXPECT_FALSE(balanced_accuracy(empty));
  EXPECT_FALSE(minority_accuracy(empty, std::vector<double>{1.0, 2.0}));
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
  EXPECT_DOUBLE_EQ(*accuracy(counts), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(*recall(counts, kMany - 1), 0.5);
  EXPECT_DOUBLE_EQ(*precision(counts, 7), 0.5);
  EXPECT_DOUBLE_EQ(*balanced_accuracy(counts), 0.75);
  EXPECT_THROW(counts.count(7, 7), std::logic_error);
  EXPECT_TRUE(ClassCounts(kMostClassesInMatrix).has_matrix());
}

TEST(Metrics, MinorityClassesAreAQuarterRoundedUp) {
  EXPECT_EQ(minority_classes(std::vector<double>{5.0}), (std::vector<std::size_t>{0}));
  EXPECT_EQ(minority_classes(std::vector<double>{4.0, 3.0, 2.0, 1.0}), (std::vector<std::size_t>{3}));
  EXPECT_EQ(minority_classes(std::vector<double>{9.0, 1.0, 8.0, 0.0, 7.0}), (std::vector<std::size_t>{1, 3}));
}

TEST(Metrics, TiesOfSharesGoToTheSmallerClass) {
  EXPECT_EQ(minority_classes(std::vector<double>{2.0, 1.0, 1.0, 1.0, 1.0}), (std::vector<std::size_t>{1, 2}));
}

TEST(Metrics, MinorityAccuracyIsTheMeanRecallOfItsClassesThatOccur) {
  const std::vector<double> rare_one = {0.3, 0.1, 0.3, 0.3};
  EXPECT_DOUBLE_EQ(*minority_accuracy(small_counts(), rare_one), 0.2);

  ClassCounts five(5);  // minority: classes 3 (recall 1/2) and 4 (absent)
  five.add(3, 3);
  five.add(3, 0);
  five.add(0, 1);
  EXPECT_DOUBLE_EQ(*minority_accuracy(five, std::vector<double>{5, 4, 3, 2, 1}), 0.5);

  const std::vector<double> rare_absent = {0.3, 0.3, 0.3, 0.1};
  EXPECT_FALSE(minority_accuracy(small_counts(), rare_absent));
}

TEST(Metrics, JsonHoldsTheFiguresWithNullForAbsentOnes) {
  const nlohmann::json figures = to_json(small_counts());
  EXPECT_DOUBLE_EQ(figures.at("accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(figures.at("balanced_accuracy"), 0.65);
  EXPECT_EQ(figures.at("rows"), 10);
  EXPECT_EQ(figures.at("per_class"), nlohmann::json::parse("[0.75, 0.2, 1.0, null]"));
  EXPECT_EQ(figures.at("per_class_support"), nlohmann::json::parse("[4, 5, 1, 0]"));
  EXPECT_EQ(figures.at("per_class_precision").at(0), 0.6);
  EXPECT_TRUE(figures.at("per_class_f1").at(3).is_null());
  EXPECT_FALSE(figures.contains("minority_accuracy"));

  const std::vector<double> shares = {0.3, 0.1, 0.3, 0.3};
  const nlohmann::json with_shares = to_json(small_counts(), shares);
  EXPECT_DOUBLE_EQ(with_shares.at("minority_accuracy"), 0.2);
  EXPECT_EQ(with_shares.at("minority_classes"), nlohmann::json::parse("[1]"));
}

TEST(Metrics, NoClassesAreRefused) {
  EXPECT_THROW(ClassCounts(0), UsageError);
}

TEST(Metrics, LabelsOutsideOfTheClassesAreRefused) {
  ClassCounts counts(3);
  EXPECT_THROW(counts.add(-1, 0), BadInput);
  EXPECT_THROW(counts.add(3, 0), BadInput);
  EXPECT_THROW(counts.add(std::int64_t{1} << 32, 0), BadInput);
  EXPECT_THROW(counts.add(0, 3), std::logic_error);
  EXPECT_THROW(counts.add(0, -1), std::logic_error);
  EXPECT_EQ(counts.total(), 0u);
}

TEST(Metrics, IndicesOutsideOfTheClassesAreOurOwnBug) {
  EXPECT_THROW(small_counts().count(4, 0), std::logic_error);
  EXPECT_THROW(small_counts().count(0, 4), std::logic_error);
  EXPECT_THROW(small_counts().support(4), std::logic_error);
}

TEST(Metrics, SharesThatAreNoSharesAreRefused) {
  EXPECT_THROW(minority_classes({}), UsageError);
  EXPECT_THROW(minority_classes(std::vector<double>{0.5, -0.1}), UsageError);
  EXPECT_THROW(minority_classes(std::vector<double>{std::numeric_limits<double>::quiet_NaN()}), UsageError);
  EXPECT_THROW(minority_classes(std::vector<double>{std::numeric_limits<double>::infinity()}), UsageError);
  EXPECT_THROW(minority_accuracy(small_counts(), std::vector<double>{1.0}), UsageError);
  EXPECT_THROW(to_json(small_counts(), std::vector<double>{1.0}), UsageError);
}

}  // namespace dpreduce::metrics_test
