#include "common/data/silo_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::feature_shift_test {

std::vector<double> some_row(std::size_t dim) {
  std::vector<double> row(dim);
  for (std::size_t a = 0; a < dim; ++a) row[a] = std::sin(static_cast<double>(3 * a + 1));
  return row;
}

double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t a = 0; a < x.size(); ++a) sum += (x[a] - y[a]) * (x[a] - y[a]);
  return std::sqrt(sum);
}

TEST(FeatureShift, TurnsEveryRowByTheSameAngle) {
  for (const double degrees : {0.0, 10.0, 90.0, 180.0}) {
    const std::vector<double> row = some_row(16);
    std::vector<double> turned = row;
    FeatureShift({.rotation = degrees}, 16, 2, 5).apply(turned);
    const double norm = distance(row, std::vector<double>(16, 0.0));
    EXPECT_NEAR(distance(turned, std::vector<double>(16, 0.0)), norm, 1e-14);
    EXPECT_NEAR(distance(turned, row), 2.0 * std::sin(degrees * M_PI / 360.0) * norm, 1e-14);
  }
}

TEST(FeatureShift, MovesEachFeatureByTheOffset) {
  const std::vector<double> row = some_row(7);
  std::vector<double> moved = row;
  FeatureShift({.offset = 0.25}, 7, 0, 1).apply(moved);
  for (std::size_t a = 0; a < 7; ++a) EXPECT_NEAR(std::abs(moved[a] - row[a]), 0.25, 1e-15);
}

TEST(FeatureShift, IsTheSilosOwnAndTheSeeds) {
  const auto shifted = [](std::size_t silo, std::uint64_t seed) {
    std::vector<double> row = some_row(16);
    FeatureShift({.rotation = 30.0}, 16, silo, seed).apply(row);
    return row;
  };
  EXPECT_EQ(shifted(1, 1), shifted(1, 1));
  EXPECT_NE(shifted(1, 1), shifted(2, 1));
  EXPECT_NE(shifted(1, 1), shifted(1, 2));
}

TEST(FeatureShift, LeavesOneOfAnOddNumberOfFeaturesAndASingleOne) {
  const std::vector<double> row = some_row(5);
  std::vector<double> turned = row;
  FeatureShift({.rotation = 45.0}, 5, 0, 3).apply(turned);
  std::size_t same = 0;
  for (std::size_t a = 0; a < 5; ++a) same += turned[a] == row[a] ? 1 : 0;
  EXPECT_EQ(same, 1u);
  std::vector<double> one{2.0};
  FeatureShift({.rotation = 45.0}, 1, 0, 3).apply(one);
  EXPECT_EQ(one[0], 2.0);
}

TEST(FeatureShift, RefusesSizesAndRowsThatAreNone) {
  EXPECT_THROW(FeatureShift({.rotation = 181.0}, 4, 0, 0), std::logic_error);
  EXPECT_THROW(FeatureShift({.rotation = -1.0}, 4, 0, 0), std::logic_error);
  EXPECT_THROW(FeatureShift({}, 0, 0, 0), std::logic_error);
  std::vector<double> row(3);
  EXPECT_THROW(FeatureShift({}, 4, 0, 0).apply(row), std::logic_error);
}

}  // namespace dpreduce::feature_shift_test
