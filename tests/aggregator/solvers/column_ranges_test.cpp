#include <numbers>

#include "aggregator/solvers/released_preparation.hpp"
#include "common/ledger/column_bins.hpp"
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

// Counts in units of their noise, in bins of round 1 that end at these powers of 2. The median of one bin is its
// middle.
double median_of_counts(const std::map<int, double>& counts) {
  constexpr double kSigma = 1000.0;
  std::vector<std::int64_t> values(kColumnBins, 0);
  for (const auto& [power, sigmas] : counts) {
    values[signed_bin(std::exp2(power) * 0.75)] = std::llround(kSigma * sigmas);
  }
  return column_medians({"sizes", std::move(values), kSigma}).front();
}

TEST(ColumnRanges, ACountIsSeenFromFiveSigmasOrFromThreeNearOneThatIs) {
  EXPECT_EQ(median_of_counts({{4, 4.9}}), 0.0) << "noise alone may be so much";
  // A run of 2, 4 or 8 has more noise: 5 sqrt(2), 10 and 5 sqrt(8) in all.
  EXPECT_EQ(median_of_counts({{4, 3.5}, {5, 3.5}}), 0.0);
  EXPECT_NEAR(median_of_counts({{4, 3.6}, {5, 3.6}}), 16.0, 1e-9);
  EXPECT_EQ(median_of_counts({{4, 2.4}, {5, 2.4}, {6, 2.4}, {7, 2.4}}), 0.0);
  EXPECT_NEAR(median_of_counts({{4, 2.6}, {5, 2.6}, {6, 2.6}, {7, 2.6}}), 32.0, 1e-9);
  EXPECT_EQ(median_of_counts({{4, 5.1}}), 12.0);
  EXPECT_EQ(median_of_counts({{4, -9.0}}), 0.0);
  // Beside a sure one of 6, one of 4 that is near moves the median, either way; one that is far or small does not.
  EXPECT_EQ(median_of_counts({{4, 6.0}}), 12.0);
  for (const int near : {1, 3}) {
    EXPECT_NEAR(median_of_counts({{4, 6.0}, {4 + near, 4.0}}), 8.0 + 8.0 * 5.0 / 6.0, 1e-9) << near;
    EXPECT_NEAR(median_of_counts({{4, 6.0}, {4 - near, 4.0}}), 8.0 + 8.0 * 1.0 / 6.0, 1e-9) << near;
  }
  EXPECT_EQ(median_of_counts({{4, 6.0}, {8, 4.0}}), 12.0) << "four bins away";
  EXPECT_EQ(median_of_counts({{4, 6.0}, {0, 4.0}}), 12.0);
  EXPECT_EQ(median_of_counts({{4, 6.0}, {5, 2.9}}), 12.0) << "below three";
  EXPECT_EQ(median_of_counts({{4, 6.0}, {3, 2.9}}), 12.0);
  // What is believed makes what is near it believed in turn.
  EXPECT_NEAR(median_of_counts({{4, 6.0}, {7, 4.0}, {10, 4.0}}), 64.0 + 64.0 * 1.0 / 4.0, 1e-9);
}

// The median of `values` as it is found beside that noise.
double median_found(const std::vector<double>& values, double sigma) {
  ColumnWindows windows = windows_about(column_medians(sizes_of(values, signed_bin, sigma)));
  for (unsigned round = 2; round < 5; ++round) {
    std::vector<double> places = values;
    for (double& place : places) place = (place - windows.centers.front()) / windows.halves.front();
    windows = narrowed(std::move(windows), sizes_of(places, place_bin, sigma, round));
  }
  return windows.medians.front();
}

TEST(ColumnRanges, MediansOfNumbersFarFromZeroAreFoundCloselyWhateverTheyVaryBy) {
  std::mt19937 engine(4);
  std::normal_distribution<double> normal;
  for (const double offset : {0.0, 1.0, -3.0, 30.0, 300.0, 1024.0, -3000.0, 1e6}) {
    std::vector<double> values;
    for (int row = 0; row < 10000; ++row) values.push_back(offset + normal(engine));
    EXPECT_NEAR(median_found(values, 60.0), offset, 0.7);
  }
  // Most numbers of a column of zeros and few ones are 0 exactly: its median is not sought any more closely.
  std::vector<double> rare(5000, 0.0);
  for (std::size_t row = 0; row < rare.size(); row += 100) rare[row] = 1.0;
  EXPECT_EQ(median_found(rare, 20.0), 0.0);
}

TEST(ColumnRanges, WithoutNumbersWindowsStayAsTheyAre) {
  const ColumnWindows before = windows_about({5.0});
  for (unsigned seed = 0; seed < 20; ++seed) {
    const ColumnWindows after = narrowed(before, sizes_of({}, place_bin, 40.0, seed));
    EXPECT_EQ(after.medians, before.medians);
    EXPECT_EQ(after.centers, before.centers);
    EXPECT_EQ(after.halves, before.halves);
  }
  EXPECT_GT(windows_about({0.0}).halves.front(), 0.0);
}

// The end of the first bin behind which at most 2 in 100 lie.
TEST(ColumnRanges, OneNumberInFiftyIsBeyondTheRange) {
  const auto scale_with = [](std::int64_t beyond) {
    std::vector<std::int64_t> values(kColumnBins, 0);
    values[distance_bin(1.2)] = 10000 - beyond;
    values[distance_bin(100.0)] = beyond;
    return column_scales({"sizes", std::move(values), 10.0}, {{0.0}}).front();
  };
  EXPECT_NEAR(scale_with(190), std::numbers::sqrt2, 1e-12);
  EXPECT_NEAR(scale_with(210), 128.0, 1e-12);  // 100 is between 2^6.5 and 2^7
}

TEST(ColumnRanges, RowsKeepTheirLengthsWhereTheseDiffer) {
  const auto length_of = [](double shortest, double longest, double sigma, bool takes_alike = false) {
    std::mt19937 engine(3);
    std::uniform_real_distribution<double> uniform(shortest, longest);
    std::normal_distribution<double> noise(0.0, sigma);
    std::vector<std::int64_t> counts(kLengthBins, 0);
    for (int row = 0; row < 5000; ++row) ++counts[length_bin(uniform(engine))];
    for (std::int64_t& count : counts) count += std::llround(noise(engine));
    return usual_length({"sizes", std::move(counts), sigma}, takes_alike);
  };
  EXPECT_NEAR(length_of(1.0, 3.0, 20.0), 3.0, 0.3);
  EXPECT_EQ(length_of(2.0, 2.5, 20.0), 0.0) << "of about one length";
  EXPECT_NEAR(length_of(2.0, 2.5, 20.0, true), 2.5, 0.3) << "where rows keep their lengths all the same";
  EXPECT_EQ(length_of(1.0, 3.0, 5000.0), 0.0) << "hidden by noise";
}

TEST(ColumnRanges, OfNoiseAloneAreUsable) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<double> medians = column_medians(sizes_of({}, signed_bin, 40.0, seed));
    EXPECT_TRUE(std::isfinite(medians.front()));
    const double scale =
        usable_scales(medians, column_scales(sizes_of({}, distance_bin, 40.0, seed + 50), medians)).front();
    EXPECT_TRUE(std::isfinite(scale) && scale > 0.0);
  }
  const ReleasedBlock none = sizes_of({}, signed_bin, 0.0);
  EXPECT_EQ(column_medians(none).front(), 0.0);
  EXPECT_EQ(column_scales(none, {{0.0}}).front(), 0.0);
  EXPECT_EQ(usable_scales({{0.0}}, {0.0}).front(), 1.0);
  EXPECT_EQ(usable_scales({{-7.0}}, {0.0}).front(), 7.0);
}

TEST(ColumnRanges, AColumnThatNoiseHidesIsTakenToBeAsLargeAsTheLargest) {
  const ReleasedBlock seen = sizes_of(std::vector<double>(1000, 3.0), distance_bin, 1.0);
  std::vector<std::int64_t> both(seen.values().begin(), seen.values().end());
  both.resize(2 * kColumnBins, 0);
  const std::vector<double> scales = usable_scales({{0.0, 0.0}}, column_scales({"sizes", both, 1.0}, {{0.0, 0.0}}));
  EXPECT_GE(scales[0], 3.0);
  EXPECT_EQ(scales[1], scales[0]);
}

TEST(ColumnRanges, AreAlikeWhereTheLargestIsAFewTimesTheLeast) {
  const auto alike = [](const std::vector<double>& medians, const std::vector<double>& scales) {
    return are_alike(medians, scales, scales);
  };
  EXPECT_TRUE(alike({0.0, 0.1, -0.2}, {1.0, 2.0, 8.0}));
  EXPECT_FALSE(alike({0.0, 0.0}, {1.0, 20.0})) << "years and euros";
  EXPECT_FALSE(alike({2000.0, 2000.0}, {10.0, 10.0})) << "far from 0 beside what they vary by";
  const double none = upper_edge_of_distance(0);
  EXPECT_TRUE(alike({0.0, 0.0}, {1.0, none})) << "a column of one number has no size";
  EXPECT_TRUE(alike({0.0}, {none}));
  EXPECT_FALSE(alike({0.0, 0.0, 0.0, 0.0}, {1.0, 20.0, 0.0, 0.0}));
  EXPECT_TRUE(alike({0.0, 0.0, 0.0, 0.0}, {1.0, 0.0, 0.0, 0.0})) << "noise hides most";
  EXPECT_FALSE(alike({2020.0, 0.0, 0.0, 0.0}, {40.0, 0.0, 0.0, 0.0})) << "what is seen is far from 0";
  EXPECT_FALSE(alike({5000.0, 0.0}, {none, 1.0})) << "one number that is larger than all others";
  EXPECT_TRUE(alike({1.0, 0.0}, {none, 1.0}));
  EXPECT_FALSE(alike({5000.0, 0.0}, {none, 0.0}));
}

TEST(ColumnRanges, DifferByOneColumnOnlyWhereItIsSure) {
  // The other columns are hidden.
  const auto alike = [](std::size_t columns, std::vector<double> scales, std::vector<double> sure) {
    scales.resize(columns);
    sure.resize(columns);
    return are_alike(std::vector<double>(columns), scales, sure);
  };
  EXPECT_TRUE(alike(9, {1.0, 2.0, 1e15}, {1.0, 2.0, 0.0}));
  EXPECT_FALSE(alike(9, {1.0, 2.0, 1e15}, {1.0, 0.0, 1e15}));
  EXPECT_FALSE(alike(9, {1.0, 100.0, 1e4}, {0.0, 0.0, 0.0})) << "by two";
  EXPECT_FALSE(alike(8, {1.0, 2.0, 1e15}, {1.0, 2.0, 0.0})) << "of few, noise alone hardly shows one";
}

TEST(ColumnRanges, AMedianThatAllNumbersAreAsFarFromAs0IsWasNoise) {
  const std::vector<double> values(1000, 1.5);
  std::vector<double> medians{2e15};
  const ReleasedBlock spreads = sizes_of(distances(values, medians[0]), distance_bin, 30.0);
  EXPECT_EQ(column_scales(spreads, medians).front(), 0.0);
  forget_false_medians(medians, spreads);
  EXPECT_EQ(medians[0], 0.0);
  medians[0] = 1.4;
  forget_false_medians(medians, sizes_of(distances(values, medians[0]), distance_bin, 30.0));
  EXPECT_EQ(medians[0], 1.4);
}

}  // namespace dpreduce::column_ranges_test
