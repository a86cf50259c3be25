#include "common/model/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

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

const TargetColumns kOne{.count = 1, .center = {10.0}, .scale = {4.0}};

TEST(TargetFigures, AreThoseOfPlainSums) {
  TargetFigures figures(kOne);
  const std::vector<double> y{7.0, 11.0, 12.5, 30.0};
  const std::vector<double> f{8.0, 10.0, 12.5, 20.0};
  for (std::size_t row = 0; row < y.size(); ++row) figures.add({&y[row], 1}, {&f[row], 1});
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
  TargetFigures forward(kOne);
  TargetFigures backward(kOne);
  TargetFigures part(kOne);
  const double predicted = 11.0;
  for (const double value : y) forward.add({&value, 1}, {&predicted, 1});
  for (std::size_t row = y.size(); row-- > 0;) (row % 3 == 0 ? part : backward).add({&y[row], 1}, {&predicted, 1});
  for (std::size_t word = 0; word < part.words().size(); ++word) backward.words()[word] += part.words()[word];
  EXPECT_EQ(forward.r2(0), backward.r2(0));
  EXPECT_EQ(forward.rmse(0), backward.rmse(0));
}

TEST(TargetFigures, HoldNumbersFarBeyondTheRange) {
  for (const double far : {1e12, -1e25}) {
    TargetFigures figures(kOne);
    const std::vector<double> y{far, 10.0, 10.0, 14.0};
    const double predicted = 10.0;
    for (const double value : y) figures.add({&value, 1}, {&predicted, 1});
    EXPECT_NEAR(figures.rmse(0).value() / (std::abs(far) / 2.0), 1.0, 1e-9);
    EXPECT_NEAR(figures.r2(0).value(), 1.0 - 4.0 / 3.0, 1e-9);
  }
}

TEST(TargetFigures, AreNoneWhereNoSumHoldsANumber) {
  for (const double predicted : {1e200, std::numeric_limits<double>::quiet_NaN()}) {
    TargetFigures figures(kOne);
    const double y = 11.0;
    figures.add({&y, 1}, {&predicted, 1});
    EXPECT_FALSE(figures.r2(0) || figures.rmse(0));
    EXPECT_TRUE(to_json(figures)["rmse"].is_null());
  }
}

TEST(TargetFigures, OfEqualNumbersHaveNoR2Whichever) {
  for (double same = 10.1; same < 30.0; same += 0.37) {
    TargetFigures figures(kOne);
    const double predicted = 12.0;
    for (int row = 0; row < 7; ++row) figures.add({&same, 1}, {&predicted, 1});
    EXPECT_FALSE(figures.r2(0)) << same;
  }
}

TEST(TargetFigures, OfNoRowsOrEqualOnesHaveNoR2) {
  TargetFigures figures(kOne);
  EXPECT_FALSE(figures.r2(0) || figures.rmse(0));
  EXPECT_TRUE(to_json(figures)["r2"].is_null());
  const double same = 9.0;
  figures.add({&same, 1}, {&same, 1});
  figures.add({&same, 1}, {&same, 1});
  EXPECT_FALSE(figures.r2(0));
  EXPECT_EQ(figures.rmse(0), 0.0);
}

}  // namespace dpreduce::metrics_test
