#include "common/model/metrics.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::metrics_test {

//            given 0  1  2  3
// class 0           3  1  0  0     support 4
// class 1           2  1  2  0     support 5
// class 2           0  0  1  0     support 1
// class 3           0  0  0  0     absent
ConfusionMatrix small_matrix() {
  ConfusionMatrix matrix(4);
  const std::vector<std::int64_t> counts = {3, 1, 0, 0, 2, 1, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0};
  matrix.merge(counts);
  return matrix;
}

TEST(Metrics, FiguresOfASmallMatrixByHand) {
  const ConfusionMatrix matrix = small_matrix();
  EXPECT_EQ(matrix.total(), 10);
  EXPECT_EQ(matrix.support(1), 5);
  EXPECT_EQ(matrix.predicted(2), 3);
  EXPECT_EQ(matrix.count(1, 2), 2);
  EXPECT_DOUBLE_EQ(*accuracy(matrix), 0.5);
  EXPECT_DOUBLE_EQ(*recall(matrix, 0), 0.75);
  EXPECT_DOUBLE_EQ(*recall(matrix, 1), 0.2);
  EXPECT_DOUBLE_EQ(*recall(matrix, 2), 1.0);
  EXPECT_DOUBLE_EQ(*balanced_accuracy(matrix), (0.75 + 0.2 + 1.0) / 3.0);
  EXPECT_DOUBLE_EQ(*precision(matrix, 0), 0.6);
  EXPECT_DOUBLE_EQ(*precision(matrix, 1), 0.5);
  EXPECT_DOUBLE_EQ(*precision(matrix, 2), 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(*f1_score(matrix, 0), 2.0 * 3.0 / (4.0 + 5.0));
}

TEST(Metrics, FiguresWithoutADenominatorAreEmpty) {
  const ConfusionMatrix matrix = small_matrix();
  EXPECT_FALSE(recall(matrix, 3));
  EXPECT_FALSE(precision(matrix, 3));
  EXPECT_FALSE(f1_score(matrix, 3));
  const ConfusionMatrix empty(2);
  EXPECT_FALSE(accuracy(empty));
  EXPECT_FALSE(balanced_accuracy(empty));
  EXPECT_FALSE(minority_accuracy(empty, std::vector<double>{1.0, 2.0}));
}

TEST(Metrics, AddingRowsAndMergingPartsGiveTheSameMatrix) {
  ConfusionMatrix whole(3);
  ConfusionMatrix left(3);
  ConfusionMatrix right(3);
  for (int row = 0; row < 30; ++row) {
    const std::int32_t given = row * row % 3;
    whole.add(row % 3, given);
    (row < 11 ? left : right).add(row % 3, given);
  }
  left.merge(right.counts());
  EXPECT_TRUE(std::ranges::equal(left.counts(), whole.counts()));
  EXPECT_EQ(whole.total(), 30);
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
  EXPECT_DOUBLE_EQ(*minority_accuracy(small_matrix(), rare_one), 0.2);

  ConfusionMatrix five(5);  // minority: classes 3 (recall 1/2) and 4 (absent)
  five.add(3, 3);
  five.add(3, 0);
  five.add(0, 1);
  EXPECT_DOUBLE_EQ(*minority_accuracy(five, std::vector<double>{5, 4, 3, 2, 1}), 0.5);

  const std::vector<double> rare_absent = {0.3, 0.3, 0.3, 0.1};
  EXPECT_FALSE(minority_accuracy(small_matrix(), rare_absent));
}

TEST(Metrics, JsonHoldsTheFiguresWithNullForAbsentOnes) {
  const nlohmann::json figures = to_json(small_matrix());
  EXPECT_DOUBLE_EQ(figures.at("accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(figures.at("balanced_accuracy"), 0.65);
  EXPECT_EQ(figures.at("rows"), 10);
  EXPECT_EQ(figures.at("per_class"), nlohmann::json::parse("[0.75, 0.2, 1.0, null]"));
  EXPECT_EQ(figures.at("per_class_support"), nlohmann::json::parse("[4, 5, 1, 0]"));
  EXPECT_EQ(figures.at("per_class_precision").at(0), 0.6);
  EXPECT_TRUE(figures.at("per_class_f1").at(3).is_null());
  EXPECT_FALSE(figures.contains("minority_accuracy"));

  const std::vector<double> shares = {0.3, 0.1, 0.3, 0.3};
  const nlohmann::json with_shares = to_json(small_matrix(), shares);
  EXPECT_DOUBLE_EQ(with_shares.at("minority_accuracy"), 0.2);
  EXPECT_EQ(with_shares.at("minority_classes"), nlohmann::json::parse("[1]"));
}

TEST(Metrics, NoClassesAreRefused) {
  EXPECT_THROW(ConfusionMatrix(0), UsageError);
}

TEST(Metrics, LabelsOutsideOfTheClassesAreRefused) {
  ConfusionMatrix matrix(3);
  EXPECT_THROW(matrix.add(-1, 0), BadInput);
  EXPECT_THROW(matrix.add(3, 0), BadInput);
  EXPECT_THROW(matrix.add(std::int64_t{1} << 32, 0), BadInput);
  EXPECT_THROW(matrix.add(0, 3), std::logic_error);
  EXPECT_THROW(matrix.add(0, -1), std::logic_error);
  EXPECT_EQ(matrix.total(), 0);
}

TEST(Metrics, IndicesOutsideOfTheClassesAreOurOwnBug) {
  EXPECT_THROW(small_matrix().count(4, 0), std::logic_error);
  EXPECT_THROW(small_matrix().count(0, 4), std::logic_error);
  EXPECT_THROW(small_matrix().support(4), std::logic_error);
}

TEST(Metrics, MatricesOfOtherSizesAreNotMerged) {
  ConfusionMatrix matrix(3);
  EXPECT_THROW(matrix.merge(std::vector<std::int64_t>(8)), std::logic_error);
}

TEST(Metrics, SharesThatAreNoSharesAreRefused) {
  EXPECT_THROW(minority_classes({}), UsageError);
  EXPECT_THROW(minority_classes(std::vector<double>{0.5, -0.1}), UsageError);
  EXPECT_THROW(minority_classes(std::vector<double>{std::numeric_limits<double>::quiet_NaN()}), UsageError);
  EXPECT_THROW(minority_classes(std::vector<double>{std::numeric_limits<double>::infinity()}), UsageError);
  EXPECT_THROW(minority_accuracy(small_matrix(), std::vector<double>{1.0}), UsageError);
  EXPECT_THROW(to_json(small_matrix(), std::vector<double>{1.0}), UsageError);
}

}  // namespace dpreduce::metrics_test
