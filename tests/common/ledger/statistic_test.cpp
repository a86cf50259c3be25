// The integers of a statistic, and the bins in which columns are counted.
#include "common/ledger/statistic.hpp"

#include <concepts>
#include <ostream>
#include <type_traits>

#include "common/base/error.hpp"
#include "common/ledger/column_bins.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::statistic_test {

template <typename T>
concept Printable = requires(std::ostream& stream, const T& value) {
  stream << value;
};

static_assert(!std::copyable<Statistic>);
static_assert(!std::is_copy_constructible_v<Statistic> && !std::is_copy_assignable_v<Statistic>);
static_assert(std::movable<Statistic>);
static_assert(!Printable<Statistic>);
static_assert(Printable<int>);

TEST(Statistic, StartsAtZeroAndKeepsItsBlocksOneAfterTheOther) {
  Statistic statistic({{"sum", 3}, {"count", 2}});
  EXPECT_THAT(statistic.words(), ElementsAre(0, 0, 0, 0, 0));
  statistic.block(0)[2] = -7;
  statistic.block(statistic.index_of("count"))[0] = 9;
  EXPECT_THAT(statistic.words(), ElementsAre(0, 0, static_cast<std::uint64_t>(-7), 9, 0));
  EXPECT_EQ(statistic.index_of("sum"), 0u);
  EXPECT_EQ(statistic.shape()[1].name, "count");
  EXPECT_THROW(statistic.index_of("gram"), std::logic_error);
  EXPECT_THROW(statistic.block(2), std::logic_error);
  EXPECT_THROW(std::as_const(statistic).block(2), std::logic_error);
}

TEST(Statistic, RefusesShapesThatCannotBe) {
  EXPECT_THROW(Statistic({}), std::logic_error);
  EXPECT_THROW(Statistic({{"", 3}}), std::logic_error);
  EXPECT_THROW(Statistic({{"sum", 0}}), std::logic_error);
  EXPECT_THROW(Statistic({{"sum", 3}, {"count", 2}, {"sum", 3}}), std::logic_error);
  EXPECT_THROW(Statistic({{"sum", (std::size_t{1} << 40) + 1}}), UsageError);
  EXPECT_THROW(Statistic({{"sum", 3}, {"gram", std::numeric_limits<std::size_t>::max()}}), UsageError);
}

TEST(ColumnBins, HoldANumberBetweenTheirEdges) {
  for (const double value : {1.0, 1.5, 2.0, 1e-9, 3e17, 0.75}) {
    for (const double sign : {1.0, -1.0}) {
      const auto [low, high] = edges_of_signed_bin(signed_bin(sign * value));
      EXPECT_LE(low, sign * value);
      EXPECT_GE(high, sign * value);
      EXPECT_EQ(high - low, std::min(std::abs(low), std::abs(high)));
    }
  }
}

TEST(ColumnBins, RiseWithTheNumberAndTakeAnyNumber) {
  std::size_t last = 0;
  for (const double value : {-kInfinity, -1e30, -5.0, -1e-10, 0.0, 1e-10, 5.0, 6e5, 1e30, kInfinity}) {
    EXPECT_LT(signed_bin(value), kColumnBins) << value;
    EXPECT_GE(signed_bin(value), last) << value;
    last = signed_bin(value);
  }
  EXPECT_EQ(signed_bin(kNan), signed_bin(0.0));
  EXPECT_EQ(signed_bin(std::numeric_limits<double>::denorm_min()), signed_bin(0.0));
}

TEST(ColumnBins, PlacesAreEqualPartsOfTheWindowAndWhatLiesBesideIt) {
  for (const double below : {-kInfinity, -1.0 - 1e-12, kNan}) EXPECT_EQ(place_bin(below), 0U);
  EXPECT_EQ(place_bin(-1.0), 1U);
  EXPECT_EQ(place_bin(std::nextafter(1.0, 0.0)), kColumnBins - 2);
  for (const double above : {1.0, kInfinity}) EXPECT_EQ(place_bin(above), kColumnBins - 1);
  for (const double value : {-1.0, -0.7, -1e-9, 0.0, 0.3, 0.999}) {
    const auto [low, high] = edges_of_place(place_bin(value));
    EXPECT_LE(low, value + 1e-12);
    EXPECT_GE(high, value - 1e-12);
    EXPECT_NEAR(high - low, 2.0 / 241.0, 1e-12);
  }
}

TEST(ColumnBins, DistancesLieBelowTheEndOfTheirBinAndAboveThatOfTheBinBefore) {
  for (const double distance : {1.0, 1.3, 1.4142, 1.4143, 1.9999, 2.0, 1e-7, 12345.0}) {
    const std::size_t bin = distance_bin(distance);
    EXPECT_LE(distance, upper_edge_of_distance(bin)) << distance;
    EXPECT_GE(distance, upper_edge_of_distance(bin - 1) * (1.0 - 1e-15)) << distance;
  }
  EXPECT_EQ(distance_bin(0.0), 0U);
  EXPECT_LT(distance_bin(kInfinity), kColumnBins);
  EXPECT_EQ(distance_bin(1e300), distance_bin(kInfinity));
}

TEST(LengthBins, CoverAllLengthsAsResidualBinsDo) {
  EXPECT_EQ(length_bin(0.0), 0U);
  for (const double beyond : {1e300, kInfinity}) EXPECT_EQ(length_bin(beyond), kLengthBins - 1);
  for (const double length : {1e-9, 0.3, 1.0, 1.05, 2.0, 77.7}) {
    EXPECT_LE(length, upper_edge_of_length(length_bin(length)) * (1.0 + 1e-12)) << length;
    EXPECT_GE(length, upper_edge_of_length(length_bin(length) - 1) * (1.0 - 1e-12)) << length;
  }
  EXPECT_EQ(residual_bin(0.0), 0U);
  EXPECT_EQ(residual_bin(kInfinity), kResidualBins - 1);
  EXPECT_LE(0.3, upper_edge_of_residual(residual_bin(0.3)));
  EXPECT_GT(0.3, upper_edge_of_residual(residual_bin(0.3) - 1));
}

}  // namespace dpreduce::statistic_test
