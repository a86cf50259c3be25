#include "common/base/error.hpp"
#include "common/data/memory_array.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce::centered_sums_test {

constexpr std::size_t kDim = 4;
constexpr std::size_t kClasses = 2;

// Rows (1, 0, 0, 0) and (0, 1, 0, 0) of class 0, (0, 0, -1, 0) of class 1.
class CenteredSums : public testing::Test {
 protected:
  Statistic sums(const PublicPoint& balls, const char* release = "centred_sums", std::size_t memory = 4096,
                 std::size_t labels = 1) const {
    WorkerRows rows = WorkerRows::in_memory(array_view(x_, kDim), array_view(y_), "x", "y");
    const RowTransform transform({kDim, 1, Normalize::kL2, 1.0, {}, 0.0});
    const StreamPlan plan{kClasses, BadRows::kFail, memory, 1, labels};
    const StatisticEntry& entry = registered_statistic(release);
    return entry.compute(entry.request({.classes = kClasses, .dim = kDim}, 1.0),
                         {{rows, transform, plan, kUnwatched}, balls});
  }

  const std::vector<float> x_{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0};
  const std::vector<std::int32_t> y_{0, 0, 1};
};

// These elements of the sums, in S. A rounding to zero loses less than one, and f a little more.
void expect_near(const Statistic& sums, const std::vector<std::pair<std::size_t, double>>& elements,
                 double rounding = 2.0) {
  for (const auto& [element, expected] : elements) {
    EXPECT_NEAR(static_cast<double>(sums.block(0)[element]), 32767.0 * expected, rounding) << "element " << element;
  }
}

TEST_F(CenteredSums, RowsInsideABallAreScaledByItsRadius) {
  const Statistic statistic = sums(ClassBalls{std::vector<double>(kClasses * kDim, 0.0), {2.0, 1.0}});
  expect_near(statistic, {{0, 0.5}, {1, 0.5}, {kDim + 2, -1.0}});
  EXPECT_THAT(statistic.block(1), ElementsAre(2, 1));
}

// Both rows of class 0 are sqrt(1 / 2) from its center, in opposite directions; that of class 1 is sqrt(2) from (0, 0,
// 0, 1).
TEST_F(CenteredSums, RowsOutsideAreClippedTowardTheCenter) {
  const Statistic statistic = sums(ClassBalls{{0.5, 0.5, 0, 0, 0, 0, 0, 1}, {0.1, 0.1}});
  expect_near(statistic, {{0, 0.0}, {1, 0.0}, {2, 0.0}, {3, 0.0}});
  expect_near(statistic, {{kDim + 2, -std::sqrt(0.5)}, {kDim + 3, -std::sqrt(0.5)}});
}

TEST_F(CenteredSums, ChunksMakeNoDifference) {
  const ClassBalls balls{{0.3, 0.1, 0, 0.2, 0, 0.7, 0, 0}, {0.5, 0.4}};
  const Statistic row_by_row = sums(balls, "centred_sums", bytes_per_row(kDim, kDim, 1));
  EXPECT_TRUE(std::ranges::equal(row_by_row.words(), sums(balls).words()));
}

TEST_F(CenteredSums, CentersFarAwayAreHeldToTheLattice) {
  const ClassBalls balls{std::vector<double>(kClasses * kDim, 1e300), {1.0, 1.0}};
  expect_near(sums(balls), {{0, -1.0}, {1, -1.0}, {2, -1.0}, {3, -1.0}}, 600.0);
}

TEST_F(CenteredSums, BallsThatAreNoneAreRefused) {
  const std::vector<double> centers(kClasses * kDim, 0.0);
  for (const double number : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    std::vector<double> with = centers;
    with[3] = number;
    EXPECT_THROW(sums(ClassBalls{with, {1.0, 1.0}}), AggregationAborted);
    EXPECT_THROW(sums(ClassBalls{centers, {1.0, number}}), AggregationAborted);
  }
  for (const std::vector<double>& radii :
       {std::vector{1.0, 0.0}, {1.0, -1.0}, {1.0, 1e-300}, {0.0, 1.0}, {-1.0, 1.0}}) {
    EXPECT_THROW(sums(ClassBalls{centers, radii}), AggregationAborted) << radii[0] << " " << radii[1];
  }
}

// Of rows of both classes; that of class 1 is sqrt(3 / 2) from the center, the others sqrt(1 / 2).
TEST_F(CenteredSums, TheRestOfTheCenterIsOfAllRowsAboutOneBall) {
  const ClassBalls ball{{0.5, 0.5, 0, 0}, {1.0}};
  const Statistic statistic = sums(ball, "center_rest");
  EXPECT_EQ(statistic.shape().size(), 1U);
  const double clipped = 1.0 / std::sqrt(1.5);
  expect_near(statistic, {{0, -0.5 * clipped}, {1, -0.5 * clipped}, {2, -clipped}});
  EXPECT_EQ(statistic.block(0)[3], 0);
  EXPECT_EQ(sums(ball, "center_rest", bytes_per_row(kDim, kDim, 1)).block(0)[2], statistic.block(0)[2]);
}

TEST_F(CenteredSums, PreconditionsAreAsserted) {
  const std::vector<double> centers(kClasses * kDim, 0.0);
  const ClassBalls balls{centers, {1.0, 1.0}};
  EXPECT_THROW(sums(std::monostate(), "center_rest"), std::logic_error);
  EXPECT_THROW(sums(balls, "center_rest"), std::logic_error);
  EXPECT_THROW(sums(std::monostate()), std::logic_error);
  EXPECT_THROW(sums(ClassBalls{centers, {1.0}}), std::logic_error);
  EXPECT_THROW(sums(ClassBalls{std::vector<double>(kDim, 0.0), {1.0, 1.0}}), std::logic_error);
  EXPECT_THROW(sums(balls, "centred_sums", 4096, 2), std::logic_error);
}

}  // namespace dpreduce::centered_sums_test
