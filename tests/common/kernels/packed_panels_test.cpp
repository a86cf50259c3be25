#include "common/kernels/packed_panels.hpp"

#include "tests/common/kernels/test_matrix.hpp"

namespace dpreduce::packed_panels_test {

TEST(SplitIntoPanels, CoversTheColumnsByEvenPanelsOfAtMostThreeVectors) {
  for (std::size_t columns = 0; columns < 400; ++columns) {
    std::size_t next = 0;
    std::size_t least = kMaxTileVectors;
    std::size_t most = 0;
    for (const Panel& panel : split_into_panels(columns, 16)) {
      EXPECT_EQ(panel.first_column, next);
      next += panel.vectors * 16;
      least = std::min(least, panel.vectors);
      most = std::max(most, panel.vectors);
    }
    EXPECT_EQ(next, (columns + 15) / 16 * 16);
    EXPECT_LE(most, kMaxTileVectors);
    EXPECT_TRUE(columns == 0 || most - least <= 1);
  }
  EXPECT_EQ(split_into_panels(64, 16).size(), 2U) << "four vectors are two and two";
}

TEST(PackingMemory, IsKeptUntilMoreIsNeeded) {
  PackingMemory memory;
  std::int16_t* const small = room_in(memory, 1000);
  EXPECT_EQ(room_in(memory, 900), small);
  for (const std::size_t bytes : {std::size_t{5000}, std::size_t{2} << 20, (std::size_t{2} << 20) + 1}) {
    std::int16_t* const room = room_in(memory, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room) % 64, 0U);
    room[bytes / 2 - 1] = 7;
    EXPECT_EQ(room_in(memory, 1000), room);
  }
}

TEST(PackedPanels, EnergiesAreTheLargestOfTheColumns) {
  for (const IntegerKernel& kernel : supported_kernels()) {
    const MicroKernel& micro = kernel.micro();
    for (const int limit : {32767, 100}) {
      const TestMatrix a = random_matrix(173, 70, 0, 6, limit);
      PackingMemory memory;
      PackedPanels packed(micro, 70, 173, memory);
      for (std::size_t stripe = 0; stripe < PackedPanels::stripes(173); ++stripe) {
        packed.pack_stripe({a.view(), SummedOver::kRows}, 0, 0, 173, stripe);
      }
      for (std::size_t index = 0; index < packed.panels().size(); ++index) {
        const Panel& panel = packed.panels()[index];
        for (std::size_t stripe = 0; stripe < PackedPanels::stripes(173); ++stripe) {
          std::uint32_t largest = 0;
          for (std::size_t column = panel.first_column;
               column < std::min<std::size_t>(panel.first_column + panel.vectors * micro.lanes, 70); ++column) {
            std::uint32_t energy = 0;
            for (std::size_t k = 64 * stripe; k < std::min<std::size_t>(64 * stripe + 64, 173); k += 2) {
              energy += energy_units(a.values[k * 70 + column], k + 1 < 173 ? a.values[(k + 1) * 70 + column] : 0);
            }
            largest = std::max(largest, energy);
          }
          EXPECT_EQ(packed.energies(index, 173)[stripe], largest) << micro.name;
          const Range pairs{32 * stripe, std::min<std::size_t>(32 * stripe + 32, PackedPanels::pairs(173))};
          EXPECT_EQ(packed.energy(panel, pairs), largest) << micro.name;
        }
      }
    }
  }
}

TEST(PackedPanels, TheLowestInt16IsRejected) {
  for (const IntegerKernel& kernel : supported_kernels()) {
    const MicroKernel& micro = kernel.micro();
    TestMatrix a = random_matrix(65, 20, 0, 8);
    a.values[64 * 20 + 19] = std::numeric_limits<std::int16_t>::min();
    PackingMemory memory;
    PackedPanels packed(micro, 20, 65, memory);
    EXPECT_NO_THROW(packed.pack_stripe({a.view(), SummedOver::kRows}, 0, 0, 65, 0));
    EXPECT_THROW(packed.pack_stripe({a.view(), SummedOver::kRows}, 0, 0, 65, 1), std::logic_error);
  }
}

constexpr double kUnit = 1024.0;
constexpr double kMaxInt32 = 2147483647.0;

// Energies of parts of a stripe, where its pairs are alike.
std::uint64_t energy_of_part(const std::vector<std::uint32_t>& energies, const Range& part) {
  const std::uint64_t energy = energies[part.begin / kStripePairs];
  return (energy * (part.end - part.begin) + kStripePairs - 1) / kStripePairs;
}

std::vector<Range> plan(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b, std::size_t pairs) {
  std::vector<Range> segments{{7, 7}};
  plan_segments(
      a, b, pairs, [&](const Range& part) { return energy_of_part(a, part) * energy_of_part(b, part); }, segments);
  return segments;
}

double energy_of(const std::vector<std::uint32_t>& energies, std::size_t begin, std::size_t end) {
  double energy = 0.0;
  for (std::size_t stripe = begin; stripe < end; ++stripe) energy += kUnit * energies[stripe];
  return energy;
}

TEST(EnergyUnits, AreNeverLessThanTheEnergy) {
  std::mt19937 bits(1);
  std::uniform_int_distribution<int> value(-32767, 32767);
  for (int repeat = 0; repeat < 100000; ++repeat) {
    const int first = value(bits) >> (repeat % 16);
    const int second = value(bits) >> (repeat % 16);
    const double energy = static_cast<double>(first) * first + static_cast<double>(second) * second;
    const double units = energy_units(static_cast<std::int16_t>(first), static_cast<std::int16_t>(second));
    EXPECT_GE(units * kUnit, energy);
    EXPECT_LE(units * kUnit, energy + kUnit);
  }
  EXPECT_EQ(energy_units(0, 0), 1U);
  EXPECT_EQ(energy_units(32767, -32767), (2U * 32767 * 32767 >> 10) + 1);
}

TEST(EnergySegments, CloseBeforeTheStripeThatPassesTheBound) {
  EXPECT_TRUE(plan({}, {}, 0).empty());
  const std::vector<std::uint32_t> low(32, 8);
  EXPECT_THAT(plan(low, low, 1024), ElementsAre(Range{0, 1024}));
  // Each stripe of 2^20 units is 2^30: two stripes would reach 2^31, one passes.
  const std::vector<std::uint32_t> stripes(3, 1U << 20);
  EXPECT_THAT(plan(stripes, stripes, 96), ElementsAre(Range{0, 32}, Range{32, 64}, Range{64, 96}));
  // One unit less in one of two: sqrt((2^21 - 1) 2^21) units = 2^31 - 512 fits.
  EXPECT_THAT(plan({(1U << 20) - 1, 1U << 20}, {1U << 20, 1U << 20}, 64), ElementsAre(Range{0, 64}));
  // A stripe of 2^22 units is 2^32, its halves reach 2^31, and their halves pass.
  EXPECT_EQ(plan({1, 1U << 22, 1}, {1, 1U << 22, 1}, 70),
            (std::vector<Range>{{0, 32}, {32, 40}, {40, 48}, {48, 56}, {56, 64}, {64, 70}}));
  const std::vector<std::uint32_t> hot(32, 1U << 25);
  const std::vector<std::uint32_t> quiet(32, 1U << 15);
  EXPECT_EQ(plan(hot, hot, 1024).size(), 1024U) << "pair by pair";
  EXPECT_EQ(plan(hot, quiet, 1024).size(), 32U) << "a hot panel cuts little against a quiet one";
}

TEST(EnergySegments, RandomEnergiesArePartitionedSafelyAndGreedily) {
  std::mt19937_64 bits(2);
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const std::size_t pairs = 1 + bits() % kBlockPairs;
    const std::size_t stripes = (pairs + kStripePairs - 1) / kStripePairs;
    const int scale = 4 + repeat % 20;
    std::vector<std::uint32_t> a(stripes);
    std::vector<std::uint32_t> b(stripes);
    for (std::uint32_t& energy : a) energy = 1 + static_cast<std::uint32_t>(bits() % (std::uint64_t{1} << scale));
    for (std::uint32_t& energy : b)
      energy = 1 + static_cast<std::uint32_t>(bits() % (std::uint64_t{1} << (bits() % 24)));
    const auto bound = [&](std::size_t begin, std::size_t end) {
      return std::sqrt(energy_of(a, begin, end) * energy_of(b, begin, end));
    };
    std::size_t next = 0;
    for (const Range& segment : plan(a, b, pairs)) {
      ASSERT_EQ(segment.begin, next);
      ASSERT_LT(segment.begin, segment.end);
      next = segment.end;
      if (segment.end - segment.begin == 1) continue;  // a single pair is always safe
      if (segment.begin / kStripePairs == (segment.end - 1) / kStripePairs) {
        const double product = static_cast<double>(energy_of_part(a, segment) * energy_of_part(b, segment));
        ASSERT_LE(kUnit * std::sqrt(product), kMaxInt32);
        continue;
      }
      ASSERT_EQ(segment.begin % kStripePairs, 0U);
      const std::size_t end_stripe = (segment.end + kStripePairs - 1) / kStripePairs;
      ASSERT_LE(bound(segment.begin / kStripePairs, end_stripe), kMaxInt32);
      if (segment.end < pairs) {
        ASSERT_GT(bound(segment.begin / kStripePairs, end_stripe + 1), kMaxInt32 - 1);
      }
    }
    ASSERT_EQ(next, pairs);
  }
}

TEST(EnergySegments, SizesThatDoNotMatchAreABug) {
  EXPECT_THROW(plan({1}, {1}, 33), std::logic_error);
  EXPECT_THROW(plan({1, 1}, {1}, 33), std::logic_error);
  const std::vector<std::uint32_t> many(33, 1);
  EXPECT_THROW(plan(many, many, 1025), std::logic_error);
}

}  // namespace dpreduce::packed_panels_test
