#include "common/base/error.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "tests/testing.hpp"

namespace dpreduce::lattice_weights_test {

TEST(LatticeWeights, ProductsTimesFactorsAreScores) {
  constexpr std::size_t kDim = 40;
  const Lattice lattice{1.5, kDim};
  std::mt19937 engine(3);
  std::normal_distribution<double> normal;
  std::vector<double> weights(3 * kDim);
  for (double& entry : weights) entry = normal(engine);
  for (std::size_t a = 0; a < kDim; ++a) weights[kDim + a] *= 1e-9;  // each class has a scale of its own
  const LatticeWeights rounded(weights, lattice);

  std::vector<double> row(kDim);
  for (double& entry : row) entry = normal(engine) / std::sqrt(1.0 * kDim);
  std::vector<std::int16_t> q(kDim);
  ASSERT_TRUE(quantize_row(row, lattice, q));
  for (std::size_t c = 0; c < 3; ++c) {
    double exact = 0.0;
    std::int64_t product = 0;
    double size = 0.0;
    for (std::size_t a = 0; a < kDim; ++a) {
      exact += weights[c * kDim + a] * row[a];
      product += std::int64_t{q[a]} * rounded.values()[c * kDim + a];
      size = std::max(size, std::abs(weights[c * kDim + a]));
    }
    EXPECT_NEAR(static_cast<double>(product) * rounded.factors()[c], exact, 1e-3 * size);
  }
}

TEST(LatticeWeights, EntriesAreRoundedHalvesAwayFromZero) {
  std::vector<double> weights{double{kLatticeNorm}, 0.0, 0.5, 1.5, 2.5, 32766.5, 1e-300, 32766.75, 12345.25};
  for (const double half : {0.5, 1.5, 2.5, 4095.5, 32765.5}) {
    weights.push_back(std::nextafter(half, 0.0));
    weights.push_back(std::nextafter(half, 1e9));
  }
  const std::size_t positive = weights.size();
  for (std::size_t a = 0; a < positive; ++a) weights.push_back(-weights[a]);
  std::mt19937 engine(4);
  while (weights.size() < 1001) weights.push_back(static_cast<double>(engine() % 131068) / 2 - 32767);
  for (const double scale : {1.0, 0.125, 1.0 / 3}) {  // the first two are exact
    std::vector<double> scaled = weights;
    for (double& entry : scaled) entry *= scale;
    const LatticeWeights rounded(scaled, {1.0, scaled.size()});
    const double units = double{kLatticeNorm} / scaled.front();
    for (std::size_t a = 0; a < scaled.size(); ++a) {
      EXPECT_EQ(rounded.values()[a], std::lround(scaled[a] * units)) << scaled[a] << " times " << units;
    }
  }
}

TEST(LatticeWeights, ZeroWeightsHaveZeroScores) {
  const LatticeWeights weights(std::vector<double>(8, 0.0), {1.0, 4});
  EXPECT_EQ(weights.classes(), 2U);
  EXPECT_THAT(weights.values(), testing::Each(0));
  EXPECT_EQ(weights.factors()[1], 0.0);
}

TEST(LatticeWeights, AreRefusedWhereTheyAreNoNumbersOrNoRows) {
  EXPECT_THROW(LatticeWeights(std::vector<double>(7), {1.0, 4}), UsageError);
  EXPECT_THROW(LatticeWeights(std::vector<double>(4, std::nan("")), {1.0, 4}), UsageError);
  EXPECT_THROW(LatticeWeights(std::vector<double>(4, 1e101), {1.0, 4}), UsageError);
  EXPECT_THROW(LatticeWeights({1, 2, -32768, 0}, {1.0}).on({1.0, 4}), AggregationAborted);
  for (const double largest : {-1.0, 1e101, std::nan("")})
    EXPECT_THROW(LatticeWeights({1, 2, 3, 4}, {largest}).on({1.0, 4}), AggregationAborted);
  EXPECT_THROW(LatticeWeights({1, 2, 3}, {1.0}).on({1.0, 4}), std::logic_error);
}

TEST(LatticeWeights, ValuesAndLargestEntriesSayAllOfThem) {
  constexpr std::size_t kDim = 33;
  const Lattice lattice{0.3, kDim};
  std::mt19937 engine(11);
  std::normal_distribution<double> normal;
  std::vector<double> weights(200 * kDim);
  for (std::size_t entry = 0; entry < weights.size(); ++entry) {
    weights[entry] = normal(engine) * std::exp(4.0 * static_cast<double>(entry / kDim % 60) - 120.0);
  }
  std::fill_n(weights.begin(), kDim, 0.0);
  std::fill_n(weights.begin() + kDim, kDim, 1e-305);  // too small for a finite number of units
  const LatticeWeights once(weights, lattice);
  EXPECT_EQ(once.largest()[0], 0.0);
  EXPECT_EQ(once.largest()[1], 0.0);
  const std::vector<double> back = weights_of(once.values(), once.largest());
  const LatticeWeights parts({once.values().begin(), once.values().end()},
                             {once.largest().begin(), once.largest().end()});
  for (const LatticeWeights& again : {LatticeWeights(back, lattice), parts.on(lattice)}) {
    EXPECT_TRUE(std::ranges::equal(once.values(), again.values()));
    EXPECT_TRUE(std::ranges::equal(once.factors(), again.factors()));
    EXPECT_TRUE(std::ranges::equal(once.largest(), again.largest()));
  }
  EXPECT_THROW(weights_of(once.values().first(5), std::vector<double>{1.0, 2.0}), std::logic_error);
}

}  // namespace dpreduce::lattice_weights_test
