#include "common/model/target_metrics.hpp"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "tests/testing.hpp"

namespace dpreduce::target_metrics_test {

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

}  // namespace dpreduce::target_metrics_test
