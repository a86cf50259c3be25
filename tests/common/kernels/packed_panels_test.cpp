#include "common/kernels/packed_panels.hpp"

#include "common/base/error.hpp"
#include "tests/common/kernels/test_matrix.hpp"
#include "tests/testing.hpp"

namespace dpreduce::packed_panels_test {

void pack_all(PackedPanels& packed, const Operand& operand, std::size_t first_column, std::size_t first_k,
              std::size_t depth) {
  for (std::size_t stripe = 0; stripe < PackedPanels::stripes(depth); ++stripe) {
    packed.pack_stripe(operand, first_column, first_k, depth, stripe);
  }
}

std::vector<MicroKernel> micro_kernels() {
  std::vector<MicroKernel> kernels{portable_micro_kernel()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) kernels.push_back(avx2_micro_kernel());
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni")) {
    kernels.push_back(avx512_vnni_micro_kernel());
  }
#endif
  return kernels;
}

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
}

TEST(SplitIntoPanels, FourVectorsAreTwoAndTwo) {
  const std::vector<Panel> panels = split_into_panels(64, 16);
  ASSERT_EQ(panels.size(), 2U);
  EXPECT_EQ(panels[0].vectors, 2U);
  EXPECT_EQ(panels[1].vectors, 2U);
}

TEST(PackingMemory, IsKeptUntilMoreIsNeeded) {
  PackingMemory memory;
  std::int16_t* const small = memory.room(1000);
  EXPECT_EQ(memory.room(900), small);
  for (const std::size_t bytes : {std::size_t{5000}, std::size_t{2} << 20, (std::size_t{2} << 20) + 1}) {
    std::int16_t* const room = memory.room(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room) % 64, 0U);
    room[bytes / 2 - 1] = 7;
    EXPECT_EQ(memory.room(1000), room);
  }
}

TEST(PackedPanels, EnergiesAreTheLargestOfTheColumns) {
  for (const MicroKernel& micro : micro_kernels()) {
    for (const int limit : {32767, 100}) {
      const TestMatrix a = random_matrix(173, 70, 0, 6, limit);
      PackingMemory memory;
      PackedPanels packed(micro, 70, 173, memory);
      pack_all(packed, {a.view(), SummedOver::kRows}, 0, 0, 173);
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
          const Segment pairs{32 * stripe, std::min<std::size_t>(32 * stripe + 32, PackedPanels::pairs(173))};
          EXPECT_EQ(packed.energy(panel, pairs), largest) << micro.name;
        }
      }
    }
  }
}

TEST(PackedPanels, TheLowestInt16IsRejected) {
  for (const MicroKernel& micro : micro_kernels()) {
    TestMatrix a = random_matrix(65, 20, 0, 8);
    a.values[64 * 20 + 19] = std::numeric_limits<std::int16_t>::min();
    PackingMemory memory;
    PackedPanels packed(micro, 20, 65, memory);
    EXPECT_NO_THROW(packed.pack_stripe({a.view(), SummedOver::kRows}, 0, 0, 65, 0));
    EXPECT_THROW(packed.pack_stripe({a.view(), SummedOver::kRows}, 0, 0, 65, 1), UsageError);
  }
}

}  // namespace dpreduce::packed_panels_test
