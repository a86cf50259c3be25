// Packed panels of a product, and the runs of them whose sums fit in int32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/base/huge_pages.hpp"
#include "common/kernels/instruction_set.hpp"
#include "common/kernels/matrix_view.hpp"

namespace dpreduce {

// Widening of int32 sums: runs of row pairs for which every product sum provably fits.
//
// Legend: the energy of a column over a run of rows is E = sum q^2. By Cauchy-Schwarz, for columns a and b,
//
//     |sum q_a q_b| <= sqrt(E_a E_b),
//
// also for the first rows of the run only, so a run is safe for two panels of columns where
//
//     (max energy in panel a) (max energy in panel b) <= (2^31 - 1)^2.                                        (1)
//
// Energies are measured while rows are packed, one number a panel and stripe (64 rows): the largest column energy of
// the stripe. Their sum over stripes bounds the largest column energy of the run. They are kept in units of 1024, each
// pair rounded up: whole blocks then multiply in 64 bits. A stripe that is too much alone is measured again in halves,
// and theirs. Any single pair of rows is safe: 2 * 32767^2 < 2^31. So the worst data cost speed, and never a wrong bit.
//
// Example: unit-norm rows with d = 1664 even columns have pair energies of 2^31 / 1664, about 1.3e6: runs of about 3300
// rows were possible, and two thirds of that are reached with the fluctuations of the maxima: whole blocks.

inline constexpr std::size_t kStripePairs = 32;
/// Rows that are packed at a time: 2048, in pairs.
inline constexpr std::size_t kBlockPairs = 1024;

/// ceil(q^2 energy of one pair of int16 values / 1024), or one more. At most 2^21 + 1.
constexpr std::uint32_t energy_units(std::int16_t first, std::int16_t second) {
  const auto square = [](std::int32_t value) { return static_cast<std::uint32_t>(value * value); };
  return ((square(first) + square(second)) >> 10) + 1;
}

/// (2^31 - 1)^2, the right side of (1), in units of either energy.
inline constexpr std::uint64_t kEnergyLimit =
    ((std::uint64_t{1} << 31) - 1) * ((std::uint64_t{1} << 31) - 1) / (1024 * 1024);

/// The product of the largest energies of both sides over some steps, in units of either; any single step may have any.
using EnergyProduct = std::function<std::uint64_t(const Range&)>;

/// Replaces `segments` by a partition of [0, steps) in order, every part with (1): runs of stripes, or, of a stripe
/// that is too much alone, its largest halves that are not, down to single steps. energies_a, energies_b: for each
/// stripe of so many steps (the last may be shorter), the side's largest energy in units; `measured`, asked for parts
/// of stripes. Greedy: a run is closed only before the stripe that would break (1). Preconditions: steps <=
/// kBlockPairs; both spans have ceil(steps / stripe) entries.
void plan_segments(std::span<const std::uint32_t> energies_a, std::span<const std::uint32_t> energies_b,
                   std::size_t steps, const EnergyProduct& measured, std::vector<Range>& segments,
                   std::size_t stripe = kStripePairs);

// A block of an operand, rearranged for the micro-kernels, with the energies that certify it.
//
// Legend: columns are cut into panels of 1 to 3 vectors of `lanes` columns, the last padded by zeros; depth is taken in
// pairs (instruction_set.hpp), the last padded by zeros; 32 pairs are a stripe. A stripe is the unit of packing:
// stripes may be packed by different threads.

/// Columns [first_column, first_column + vectors * lanes) of a packed block.
struct Panel {
  std::size_t first_column = 0;
  std::size_t vectors = 0;
};

/// ceil(columns / lanes) vectors in the fewest panels of at most 3 vectors, as even as can be (4 = 2 + 2).
std::vector<Panel> split_into_panels(std::size_t columns, std::size_t lanes);

/// Memory of packed blocks, kept from one product to the next: returned and requested each time, its pages cost a
/// product with 1024 columns one part in 15. Huge pages where the system lends some.
using PackingMemory = LargeVector<std::int16_t>;

/// Room for at least `count` values in `memory`, aligned to 64; its earlier content is lost. Throws std::bad_alloc.
std::int16_t* room_in(PackingMemory& memory, std::size_t count);

class PackedPanels {
 public:
  /// Room for `columns` columns and min(depth, 2 kBlockPairs) rows, in `memory`, which serves nobody else meanwhile;
  /// `micro` and `memory` outlive it. Memory: 2 bytes a padded value.
  PackedPanels(const MicroKernel& micro, std::size_t columns, std::size_t depth, PackingMemory& memory);

  std::span<const Panel> panels() const { return panels_; }
  std::size_t columns() const { return columns_; }

  /// The stripes and pairs that a block of `depth` rows has.
  static std::size_t pairs(std::size_t depth) { return (depth + 1) / 2; }
  static std::size_t stripes(std::size_t depth) { return (pairs(depth) + kStripePairs - 1) / kStripePairs; }

  /// Packs stripe `stripe` of the block of `depth` rows that starts at row `first_k`, columns
  /// [first_column, first_column + columns()) of the operand. Precondition (asserted): no value is -32768.
  void pack_stripe(const Operand& operand, std::size_t first_column, std::size_t first_k, std::size_t depth,
                   std::size_t stripe);

  /// Pair `pair`, column 0 of the panel; the next pair is pair_stride(panel) int16 later.
  const std::int16_t* at(const Panel& panel, std::size_t pair) const {
    return panel_begin(panel) + pair * pair_stride(panel);
  }
  std::size_t pair_stride(const Panel& panel) const { return 2 * panel.vectors * micro_.lanes; }

  /// Largest energy of a column of the panel, in units, for each stripe of a block of `depth` rows.
  std::span<const std::uint32_t> energies(std::size_t panel_index, std::size_t depth) const {
    return {energies_.data() + panel_index * max_stripes_, stripes(depth)};
  }
  /// The same for any pairs of the panel, measured again.
  std::uint32_t energy(const Panel& panel, const Range& pairs) const {
    return micro_.measure(at(panel, pairs.begin), pairs.size(), panel.vectors);
  }

 private:
  std::int16_t* panel_begin(const Panel& panel) const { return values_ + 2 * panel.first_column * max_pairs_; }

  std::size_t columns_;
  const MicroKernel& micro_;
  std::size_t max_pairs_;
  std::size_t max_stripes_;
  std::vector<Panel> panels_;
  std::vector<std::uint32_t> energies_;
  std::int16_t* values_ = nullptr;
};

}  // namespace dpreduce
