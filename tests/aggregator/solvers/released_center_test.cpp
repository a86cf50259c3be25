#include "aggregator/solvers/released_center.hpp"

#include <random>

#include "tests/testing.hpp"

namespace dpreduce::released_center_test {

// d = 4 and C = 1, so that a feature unit is 32766 lattice units.
const Lattice kFourFeatures{1.0, 4};
constexpr std::int64_t kUnit = 32766;

std::vector<double> center(std::vector<std::int64_t> sum, double sigma, std::int64_t count, double count_sigma,
                           const Lattice& lattice = kFourFeatures) {
  std::vector<ReleasedBlock> blocks;
  blocks.emplace_back("row_sum", std::move(sum), sigma);
  blocks.emplace_back("row_count", std::vector<std::int64_t>{count}, count_sigma);
  return solve_center(Release(std::move(blocks)), lattice);
}

TEST(Center, IsTheMeanOfAllRowsInsideTheBall) {
  EXPECT_NEAR(center({3 * kUnit, 0, 0, 0}, 0, 4, 0)[0], 0.75, 1e-12);
  EXPECT_NEAR(center({3 * kUnit, 0, 0, 0}, 0, 1, 0)[0], 1.0, 1e-12) << "outside of the ball";
  EXPECT_NEAR(center({-3 * kUnit, 0, 0, 0}, 0, -9, 0)[0], -1.0, 1e-12) << "a negative count stands for one row";
  EXPECT_EQ(center({0, 0, 0, 0}, 0, 4, 0), std::vector<double>(4, 0.0));
}

TEST(Center, LosesTheKnownEnergyOfItsNoise) {
  // |sum|^2 = 16 units^2; noise of 1 unit in each of 4 entries leaves 1 - 4 / 16
  EXPECT_NEAR(center({4 * kUnit, 0, 0, 0}, kUnit, 8, 0)[0], 0.75 * 0.5, 1e-12);
  EXPECT_EQ(center({4 * kUnit, 0, 0, 0}, 2 * kUnit, 8, 0), std::vector<double>(4, 0.0)) << "all of it may be noise";
}

TEST(Center, ACountBelowItsNoiseStandsForItsNoise) {
  EXPECT_NEAR(center({4 * kUnit, 0, 0, 0}, 0, 2, 40)[0], 0.1, 1e-12);
}

TEST(Center, OfNoiseAloneIsShort) {
  std::mt19937_64 random(36);
  std::normal_distribution<double> noise(0.0, 200.0 * kUnit);
  const Lattice lattice{1.0, 1296};
  int longer = 0;
  for (int draw = 0; draw < 100; ++draw) {
    std::vector<std::int64_t> sum(lattice.dim);
    for (std::int64_t& entry : sum) entry = std::llround(noise(random));
    const std::vector<double> released = center(sum, 200.0 * kUnit, 500, 0, lattice);
    double energy = 0.0;
    for (const double entry : released) energy += entry * entry;
    longer += energy > 1.0 - 1e-9 ? 1 : 0;
  }
  EXPECT_LT(longer, 20) << "without shrinking all of them are as long as a row";  // |N| / n is 14 row lengths
}

}  // namespace dpreduce::released_center_test
