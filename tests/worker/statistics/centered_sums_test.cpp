#include "common/base/error.hpp"
#include "common/data/memory_array.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "tests/testing.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce::centered_sums_test {

constexpr std::size_t kDim = 4;
constexpr std::size_t kClasses = 2;

// Rows (1, 0, 0, 0) and (0, 1, 0, 0) of class 0, (0, 0, -1, 0) of class 1.
class CenteredSums : public testing::Test {
 protected:
  Statistic sums(const PublicPoint& balls, std::size_t memory = 4096, std::size_t labels = 1,
                 const char* release = "centred_sums") const {
    WorkerRows rows = WorkerRows::in_memory(array_view(x_, kDim), array_view(y_), "x", "y");
    const RowTransform transform({kDim, 1, Normalize::kL2, 1.0, {}, 0.0});
    const StreamPlan plan{kClasses, BadRows::kFail, memory, 1, labels};
    const OnChunk on_chunk = [](double) {};
    const StatisticEntry& entry = registered_statistic(release);
    return entry.compute(entry.request({.classes = kClasses, .dim = kDim}, 1.0),
                         {rows, transform, plan, on_chunk, balls});
  }

  const std::vector<float> x_{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0};
  const std::vector<std::int32_t> y_{0, 0, 1};
};

// A rounding to zero loses less than one, and f a little more.
constexpr double kRounding = 2.0;

TEST_F(CenteredSums, RowsInsideABallAreScaledByItsRadius) {
  const ClassBalls balls{std::vector<double>(kClasses * kDim, 0.0), {2.0, 1.0}};
  const Statistic statistic = sums(balls);
  EXPECT_NEAR(static_cast<double>(statistic.block(0)[0]), 32767.0 / 2.0, kRounding);
  EXPECT_NEAR(static_cast<double>(statistic.block(0)[1]), 32767.0 / 2.0, kRounding);
  EXPECT_NEAR(static_cast<double>(statistic.block(0)[kDim + 2]), -32767.0, kRounding);
  EXPECT_EQ(statistic.block(1)[0], 2);
  EXPECT_EQ(statistic.block(1)[1], 1);
}

TEST_F(CenteredSums, RowsOutsideAreClippedTowardTheCenter) {
  // Both rows of class 0 are sqrt(1 / 2) from its center, in opposite directions; that of class 1 is sqrt(2) from (0,
  // 0, 0, 1).
  const ClassBalls balls{{0.5, 0.5, 0, 0, 0, 0, 0, 1}, {0.1, 0.1}};
  const Statistic statistic = sums(balls);
  for (std::size_t a = 0; a < kDim; ++a) EXPECT_NEAR(static_cast<double>(statistic.block(0)[a]), 0.0, kRounding) << a;
  EXPECT_NEAR(static_cast<double>(statistic.block(0)[kDim + 2]), -32767.0 * std::sqrt(0.5), kRounding);
  EXPECT_NEAR(static_cast<double>(statistic.block(0)[kDim + 3]), -32767.0 * std::sqrt(0.5), kRounding);
}

TEST_F(CenteredSums, CentersFarAwayAreHeldToTheLattice) {
  const ClassBalls balls{std::vector<double>(kClasses * kDim, 1e300), {1.0, 1.0}};
  const Statistic statistic = sums(balls);
  for (std::size_t a = 0; a < kDim; ++a) {
    EXPECT_NEAR(static_cast<double>(statistic.block(0)[a]), -2.0 * 32767.0 / 2.0, 600.0) << a;
  }
}

TEST_F(CenteredSums, BallsThatAreNoneAreRefused) {
  const std::vector<double> centers(kClasses * kDim, 0.0);
  for (const double number : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    std::vector<double> with = centers;
    with[3] = number;
    EXPECT_THROW(sums(ClassBalls{with, {1.0, 1.0}}), AggregationAborted);
    EXPECT_THROW(sums(ClassBalls{centers, {1.0, number}}), AggregationAborted);
  }
  for (const double radius : {0.0, -1.0, 1e-300}) {
    EXPECT_THROW(sums(ClassBalls{centers, {1.0, radius}}), AggregationAborted) << radius;
  }
  for (const double radius : {0.0, -1.0}) {
    EXPECT_THROW(sums(ClassBalls{centers, {radius, 1.0}}), AggregationAborted);
  }
}

TEST_F(CenteredSums, ChunksMakeNoDifference) {
  const ClassBalls balls{{0.3, 0.1, 0, 0.2, 0, 0.7, 0, 0}, {0.5, 0.4}};
  const Statistic whole = sums(balls);
  const Statistic row_by_row = sums(balls, bytes_per_row(kDim, kDim, 1));
  for (std::size_t e = 0; e < kClasses * kDim; ++e) EXPECT_EQ(whole.block(0)[e], row_by_row.block(0)[e]);
}

// Of rows of both classes; that of class 1 is sqrt(3 / 2) from the center, the others sqrt(1 / 2).
TEST_F(CenteredSums, TheRestOfTheCenterIsOfAllRowsAboutOneBall) {
  const ClassBalls ball{{0.5, 0.5, 0, 0}, {1.0}};
  const Statistic statistic = sums(ball, 4096, 1, "center_rest");
  EXPECT_EQ(statistic.shape().size(), 1U);
  const double clipped = 32767.0 / std::sqrt(1.5);
  EXPECT_NEAR(static_cast<double>(statistic.block(0)[0]), -0.5 * clipped, kRounding);
  EXPECT_NEAR(static_cast<double>(statistic.block(0)[1]), -0.5 * clipped, kRounding);
  EXPECT_NEAR(static_cast<double>(statistic.block(0)[2]), -clipped, kRounding);
  EXPECT_EQ(statistic.block(0)[3], 0);
  EXPECT_EQ(sums(ball, bytes_per_row(kDim, kDim, 1), 1, "center_rest").block(0)[2], statistic.block(0)[2]);
}

TEST_F(CenteredSums, PreconditionsAreAsserted) {
  EXPECT_THROW(sums(std::monostate(), 4096, 1, "center_rest"), std::logic_error);
  EXPECT_THROW(sums(ClassBalls{std::vector<double>(2 * kDim, 0.0), {1.0, 1.0}}, 4096, 1, "center_rest"),
               std::logic_error);
  EXPECT_THROW(sums(std::monostate()), std::logic_error);
  const ClassBalls few_radii{std::vector<double>(kClasses * kDim, 0.0), {1.0}};
  EXPECT_THROW(sums(few_radii), std::logic_error);
  const ClassBalls short_centers{std::vector<double>(kDim, 0.0), {1.0, 1.0}};
  EXPECT_THROW(sums(short_centers), std::logic_error);
  const ClassBalls balls{std::vector<double>(kClasses * kDim, 0.0), {1.0, 1.0}};
  EXPECT_THROW(sums(balls, 4096, 2), std::logic_error);
}

}  // namespace dpreduce::centered_sums_test
