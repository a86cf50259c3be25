#include "common/kernels/integer_kernel.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "common/base/error.hpp"
#include "common/kernels/packed_panels.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMaxColumns = 4096;
// Columns of B that stay in a cache of 1 MiB while the panels of A pass: 96 x 2048 rows = 384 KiB.
constexpr std::size_t kColumnsInCache = 96;

// With more of them tiles are faster.
constexpr std::size_t kMostOthers = 128;
// More columns of A are packed with B: their sums pass through the cache once in 2048 rows.
constexpr std::size_t kFewColumns = 64;

// A panel of A with some neighboring panels of B: what one thread multiplies while the panel of A is in its cache.
struct PanelRow {
  std::size_t a = 0;
  Range b;
};

// All pairs of panels, or those that touch the upper triangle; `group_size` panels of B at a time. Where that gives
// `threads` too few steps to share, each is one pair.
std::vector<PanelRow> order_panels(std::size_t count_a, std::size_t count_b, std::size_t group_size, ProductPart part,
                                   std::size_t threads) {
  constexpr std::size_t kStepsOfThread = 16;
  const std::size_t steps = count_a * count_b / group_size / (part == ProductPart::kUpperTriangle ? 2 : 1);
  const std::size_t width = threads > 1 && steps < kStepsOfThread * threads ? 1 : group_size;
  std::vector<PanelRow> rows;
  for (std::size_t group = 0; group < count_b; group += group_size) {
    const std::size_t group_end = std::min(group + group_size, count_b);
    for (std::size_t a = 0; a < count_a; ++a) {
      const std::size_t first_b = part == ProductPart::kUpperTriangle ? std::max(group, a) : group;
      for (std::size_t b = first_b; b < group_end; b += width) rows.push_back({a, {b, std::min(b + width, group_end)}});
    }
  }
  return rows;
}

// C += A^T B for one packed block of each: the panels of two column ranges.
class BlockProduct {
 public:
  BlockProduct(const MicroKernel& micro, const PackedPanels& a, const PackedPanels& b, ProductPart part,
               const Int64View& c)
      : micro_(micro), a_(a), b_(b), part_(part), c_(c) {}

  // The tiles of two panels, over a block of `depth` rows.
  void accumulate(std::size_t index_a, std::size_t index_b, std::size_t depth) const {
    const Panel& panel_a = a_.panels()[index_a];
    const Panel& panel_b = b_.panels()[index_b];
    thread_local std::vector<Range> segments;
    plan_segments(
        a_.energies(index_a, depth), b_.energies(index_b, depth), PackedPanels::pairs(depth),
        [&](const Range& part) { return std::uint64_t{a_.energy(panel_a, part)} * b_.energy(panel_b, part); },
        segments);

    const std::size_t end_row = std::min(panel_a.first_column + panel_a.vectors * micro_.lanes, a_.columns());
    const std::size_t end_column = std::min(panel_b.first_column + panel_b.vectors * micro_.lanes, b_.columns());
    for (std::size_t row = panel_a.first_column; row < end_row; row += micro_.tile_rows) {
      // Vectors of b that lie wholly left of the diagonal are skipped.
      const std::size_t first_vector = part_ == ProductPart::kUpperTriangle && row > panel_b.first_column
                                           ? (row - panel_b.first_column) / micro_.lanes
                                           : 0;
      if (first_vector >= panel_b.vectors) break;
      const Range rows{row, std::min(row + micro_.tile_rows, end_row)};
      const Range columns{panel_b.first_column + first_vector * micro_.lanes, end_column};
      prefetch(rows, columns);
      for (const Range& segment : segments) {
        const std::int16_t* pairs_a = a_.at(panel_a, segment.begin) + 2 * (row - panel_a.first_column);
        const std::int16_t* pairs_b = b_.at(panel_b, segment.begin) + 2 * first_vector * micro_.lanes;
        alignas(64) std::int32_t tile[kMaxTileRows * kMaxTileVectors * kMaxLanes];
        const std::size_t vectors = panel_b.vectors - first_vector;
        micro_.multiply[vectors - 1](pairs_a, a_.pair_stride(panel_a), pairs_b, b_.pair_stride(panel_b), segment.size(),
                                     tile);
        widen(tile, vectors * micro_.lanes, rows, columns);
      }
    }
  }

 private:
  // Asks for the tile of C, which is needed thousands of cycles later.
  void prefetch(const Range& rows, const Range& columns) const {
    constexpr std::size_t kLine = 64 / sizeof(std::int64_t);
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      for (std::size_t column = columns.begin; column < columns.end; column += kLine) {
        __builtin_prefetch(c_.row(row) + column, 0, 1);
      }
    }
  }

  void widen(const std::int32_t* tile, std::size_t width, const Range& rows, const Range& columns) const {
    for (std::size_t row = rows.begin; row < rows.end; ++row, tile += width) {
      const std::size_t begin = part_ == ProductPart::kUpperTriangle ? std::max(columns.begin, row) : columns.begin;
      if (begin < columns.end) {
        micro_.widen(tile + (begin - columns.begin), columns.end - begin, c_.row(row) + begin);
      }
    }
  }

  const MicroKernel& micro_;
  const PackedPanels& a_;
  const PackedPanels& b_;
  ProductPart part_;
  Int64View c_;
};

// C += A^T B for two column ranges that fit the packing memory.
void accumulate_ranges(const MicroKernel& micro, ThreadTeam& team, const Operand& a, const Range& range_a,
                       const Operand& b, const Range& range_b, ProductPart part, const Int64View& c) {
  const std::size_t depth = a.depth();
  const bool one_operand = part == ProductPart::kUpperTriangle;
  thread_local PackingMemory memory_a;
  thread_local PackingMemory memory_b;
  PackedPanels packed_a(micro, range_a.size(), depth, memory_a);
  std::optional<PackedPanels> other;
  if (!one_operand) other.emplace(micro, range_b.size(), depth, memory_b);
  PackedPanels& packed_b = one_operand ? packed_a : *other;

  const BlockProduct product(micro, packed_a, packed_b, part, c);
  const std::vector<PanelRow> panel_rows =
      order_panels(packed_a.panels().size(), packed_b.panels().size(),
                   kColumnsInCache / (kMaxTileVectors * micro.lanes), part, team.size());
  for (std::size_t first_k = 0; first_k < depth; first_k += 2 * kBlockPairs) {
    const std::size_t block_depth = std::min(2 * kBlockPairs, depth - first_k);
    team.for_each(PackedPanels::stripes(block_depth), [&](std::size_t stripe) {
      packed_a.pack_stripe(a, range_a.begin, first_k, block_depth, stripe);
      if (!one_operand) packed_b.pack_stripe(b, range_b.begin, first_k, block_depth, stripe);
    });
    team.for_each(panel_rows.size(), [&](std::size_t index) {
      const PanelRow& row = panel_rows[index];
      for (std::size_t of_b = row.b.begin; of_b < row.b.end; ++of_b) product.accumulate(row.a, of_b, block_depth);
    });
  }
}

}  // namespace

void IntegerKernel::accumulate_product(const Int16View& a, const Int16View& b, const Int64View& c,
                                       unsigned threads) const {
  accumulate({a, SummedOver::kRows}, {b, SummedOver::kRows}, ProductPart::kFull, c, threads);
}

void IntegerKernel::accumulate_gram(const Int16View& a, const Int64View& c, unsigned threads) const {
  accumulate({a, SummedOver::kRows}, {a, SummedOver::kRows}, ProductPart::kUpperTriangle, c, threads);
}

void IntegerKernel::accumulate_row_products(const Int16View& a, const Int16View& b, const Int64View& c,
                                            unsigned threads) const {
  accumulate({a, SummedOver::kColumns}, {b, SummedOver::kColumns}, ProductPart::kFull, c, threads);
}

void IntegerKernel::accumulate(const Operand& a, const Operand& b, ProductPart part, const Int64View& c,
                               unsigned threads) const {
  DPREDUCE_ASSERT(a.depth() == b.depth() && c.rows == a.columns() && c.cols == b.columns());
  DPREDUCE_ASSERT(is_whole(a.view) && is_whole(b.view) && is_whole(c) && threads >= 1);
  if (a.depth() == 0 || a.columns() == 0 || b.columns() == 0) return;
  ThreadTeam team(threads);
  const bool triangle = part == ProductPart::kUpperTriangle;
  const bool along_rows = a.summed_over == SummedOver::kColumns;
  if (along_rows && b.columns() <= kMostOthers && RowFactors::are_packed(b.view)) {
    return RowFactors(*this, b.view).accumulate_on(team, a.view, c);
  }
  if (!along_rows && !triangle && a.columns() <= kFewColumns) return accumulate_outer(team, a, b, c);
  for (std::size_t begin_a = 0; begin_a < a.columns(); begin_a += kMaxColumns) {
    const Range range_a{begin_a, std::min(begin_a + kMaxColumns, a.columns())};
    for (std::size_t begin_b = triangle ? begin_a : 0; begin_b < b.columns(); begin_b += kMaxColumns) {
      const Range range_b{begin_b, std::min(begin_b + kMaxColumns, b.columns())};
      const Int64View part_of_c{c.row(begin_a) + begin_b, range_a.size(), range_b.size(), c.stride};
      const bool on_diagonal = triangle && begin_a == begin_b;
      accumulate_ranges(micro_, team, a, range_a, b, range_b,
                        on_diagonal ? ProductPart::kUpperTriangle : ProductPart::kFull, part_of_c);
    }
  }
}

std::unique_ptr<const RowFactors> IntegerKernel::row_factors(const Int16View& b) const {
  DPREDUCE_ASSERT(is_whole(b));
  return std::make_unique<RowFactors>(*this, b);
}

const std::vector<IntegerKernel>& supported_kernels() {
  static const std::vector<IntegerKernel> found = [] {
    std::vector<IntegerKernel> kernels{IntegerKernel(portable_micro_kernel())};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) kernels.emplace_back(avx2_micro_kernel());
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vnni")) {
      kernels.emplace_back(avx512_vnni_micro_kernel());
    }
#endif
    return kernels;
  }();
  return found;
}

const IntegerKernel& select_kernel(std::string_view name) {
  if (name == "auto") return supported_kernels().back();
  std::string names = "auto";
  for (const IntegerKernel& kernel : supported_kernels()) {
    if (kernel.name() == name) return kernel;
    names += ", ";
    names += kernel.name();
  }
  throw UsageError("kernel '{}' is unknown or not supported by this processor; choose one of {}", name, names);
}

}  // namespace dpreduce
