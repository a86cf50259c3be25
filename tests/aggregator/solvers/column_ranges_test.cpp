#include "aggregator/solvers/column_ranges.hpp"

#include <cmath>
#include <random>

#include "common/plan/column_bins.hpp"
#include "tests/testing.hpp"

namespace dpreduce::column_ranges_test {

using Bin = std::size_t (*)(double);

ReleasedBlock sizes_of(const std::vector<double>& values, Bin bin, double sigma, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> noise(0.0, sigma > 0.0 ? sigma : 1.0);
  std::vector<std::int64_t> counts(kColumnBins, 0);
  for (const double value : values) ++counts[bin(value)];
  for (std::int64_t& count : counts) {
    if (sigma > 0.0) count += std::llround(noise(engine));
  }
  return {"sizes", std::move(counts), sigma};
}

std::vector<double> distances(std::vector<double> values, double from) {
  for (double& value : values) value = std::abs(value - from);
  return values;
}

TEST(ColumnRanges, FindMedianAndSpreadBesideNoise) {
  std::mt19937 engine(4);
  std::normal_distribution<double> normal(1000.0, 50.0);
  std::vector<double> values;
  for (int row = 0; row < 20000; ++row) values.push_back(normal(engine));
  const std::vector<double> medians = column_medians(sizes_of(values, signed_bin, 30.0));
  EXPECT_NEAR(medians.front(), 1000.0, 300.0);  // within its bin, from 512 to 1024
  const double scale = column_scales(sizes_of(distances(values, 1000.0), distance_bin, 30.0), {{1000.0}}).front();
  EXPECT_GE(scale, 100.0);
  EXPECT_LE(scale, 200.0);
}

TEST(ColumnRanges, OneNumberInAHundredWidensNothing) {
  std::vector<double> values;
  for (int row = 0; row < 10000; ++row) values.push_back(1.0 + 0.0001 * row);
  std::vector<double> wild = values;
  for (std::size_t row = 0; row < wild.size(); row += 100) wild[row] *= 1000.0;
  EXPECT_NEAR(column_medians(sizes_of(wild, signed_bin, 5.0)).front(),
              column_medians(sizes_of(values, signed_bin, 5.0)).front(), 0.05);
  EXPECT_EQ(column_scales(sizes_of(distances(wild, 1.5), distance_bin, 5.0), {{1.5}}),
            column_scales(sizes_of(distances(values, 1.5), distance_bin, 5.0), {{1.5}}));
}

TEST(ColumnRanges, OfNoiseAloneAreUsable) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<double> medians = column_medians(sizes_of({}, signed_bin, 40.0, seed));
    EXPECT_TRUE(std::isfinite(medians.front()));
    const double scale = column_scales(sizes_of({}, distance_bin, 40.0, seed + 50), medians).front();
    EXPECT_TRUE(std::isfinite(scale) && scale > 0.0);
  }
  const ReleasedBlock none = sizes_of({}, signed_bin, 0.0);
  EXPECT_EQ(column_medians(none).front(), 0.0);
  EXPECT_EQ(column_scales(none, {{0.0}}).front(), 1.0);
  EXPECT_EQ(column_scales(none, {{-7.0}}).front(), 7.0);
}

}  // namespace dpreduce::column_ranges_test
