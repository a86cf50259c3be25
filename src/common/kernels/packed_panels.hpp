// A block of an operand, rearranged for the micro-kernels, with the energies that certify it.
//
// Legend: columns are cut into panels of 1 to 3 vectors of `lanes` columns, the last padded by zeros; depth is taken in
// pairs (micro_kernel.hpp), the last padded by zeros; 32 pairs are a stripe. A stripe is the unit of packing: stripes
// may be packed by different threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/huge_pages.hpp"
#include "common/kernels/energy_segments.hpp"
#include "common/kernels/micro_kernel.hpp"
#include "common/kernels/operand.hpp"

namespace dpreduce {

/// Columns [first_column, first_column + vectors * lanes) of a packed block.
struct Panel {
  std::size_t first_column = 0;
  std::size_t vectors = 0;
};

/// ceil(columns / lanes) vectors in the fewest panels of at most 3 vectors, as even as can be (4 = 2 + 2).
std::vector<Panel> split_into_panels(std::size_t columns, std::size_t lanes);

/// Memory of packed blocks, kept from one product to the next: given back and asked for each time, its pages cost a
/// product with 1024 columns one part in 15. Huge pages where the system lends some.
class PackingMemory {
 public:
  /// At least `count` values, aligned to 64; what it held before is lost. Throws std::bad_alloc.
  std::int16_t* room(std::size_t count);

 private:
  LargeVector<std::int16_t> values_;
};

/// Counts the time of its life as packing (packing_seconds).
class PackingClock {
 public:
  PackingClock() = default;
  ~PackingClock();
  PackingClock(const PackingClock&) = delete;
  PackingClock& operator=(const PackingClock&) = delete;

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

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
  /// [first_column, first_column + columns()) of the operand. Throws UsageError for a value of -32768.
  void pack_stripe(const Operand& operand, std::size_t first_column, std::size_t first_k, std::size_t depth,
                   std::size_t stripe);

  /// Pair `pair`, column 0 of the panel; the next pair is pair_stride(panel) int16 later.
  const std::int16_t* at(const Panel& panel, std::size_t pair) const {
    return panel_begin(panel) + pair * pair_stride(panel);
  }
  std::size_t pair_stride(const Panel& panel) const { return 2 * panel.vectors * micro_.lanes; }

  /// For each stripe of a block of `depth` rows, the largest energy of a column of the panel, in units.
  std::span<const std::uint32_t> energies(std::size_t panel_index, std::size_t depth) const {
    return {energies_.data() + panel_index * max_stripes_, stripes(depth)};
  }
  /// The same for any pairs of the panel, measured anew.
  std::uint32_t energy(const Panel& panel, const Segment& pairs) const {
    return micro_.measure(at(panel, pairs.begin), pairs.end - pairs.begin, panel.vectors);
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
