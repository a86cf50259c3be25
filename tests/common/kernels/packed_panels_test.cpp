#include "common/kernels/packed_panels.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "tests/common/kernels/test_matrix.hpp"

namespace dpreduce {
namespace {

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

TEST(PackedPanels, HoldEveryPairAndPadByZeros) {
  for (const MicroKernel& micro : micro_kernels()) {
    for (const std::size_t depth : {1, 2, 15, 16, 63, 64, 65, 160}) {
      for (const std::size_t columns : {1, 7, 16, 50, 63}) {
        const TestMatrix tall = random_matrix(depth + 5, columns + 2, 1, depth + columns);
        const Operand operand{tall.view(), SummedOver::kRows};
        PackingMemory memory;
        PackedPanels packed(micro, columns, depth, memory);
        pack_all(packed, operand, 2, 5, depth);
        for (const Panel& panel : packed.panels()) {
          for (std::size_t k = 0; k < 2 * PackedPanels::pairs(depth); ++k) {
            for (std::size_t offset = 0; offset < panel.vectors * micro.lanes; ++offset) {
              const std::size_t column = panel.first_column + offset;
              const std::int16_t expected = k < depth && column < columns ? operand.at(5 + k, 2 + column) : 0;
              ASSERT_EQ(packed.at(panel, k / 2)[2 * offset + k % 2], expected);
            }
          }
        }
      }
    }
  }
}

TEST(PackedPanels, AreTheSameForATransposedMatrixSummedAlongItsRows) {
  for (const MicroKernel& micro : micro_kernels()) {
    const TestMatrix tall = random_matrix(139, 53, 0, 4);
    const TestMatrix wide(53, 139, 3,
                          [&](std::size_t row, std::size_t column) { return tall.values[column * 53 + row]; });
    PackingMemory of_rows;
    PackingMemory of_columns;
    PackedPanels by_rows(micro, 53, 137, of_rows);
    PackedPanels by_columns(micro, 53, 137, of_columns);
    pack_all(by_rows, {tall.view(), SummedOver::kRows}, 0, 2, 137);
    pack_all(by_columns, {wide.view(), SummedOver::kColumns}, 0, 2, 137);
    for (std::size_t index = 0; index < by_rows.panels().size(); ++index) {
      const Panel& panel = by_rows.panels()[index];
      const std::size_t values = PackedPanels::pairs(137) * by_rows.pair_stride(panel);
      EXPECT_TRUE(std::equal(by_rows.at(panel, 0), by_rows.at(panel, 0) + values, by_columns.at(panel, 0)));
      EXPECT_TRUE(std::ranges::equal(by_rows.energies(index, 137), by_columns.energies(index, 137)));
    }
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

}  // namespace
}  // namespace dpreduce
