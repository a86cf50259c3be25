#include "common/kernels/kernel_choice.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "common/base/error.hpp"
#include "common/kernels/packed_panels.hpp"
#include "common/kernels/row_products.hpp"
#include "common/kernels/thread_team.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMaxColumns = 4096;
// Columns of B that stay in a cache of 1 MiB while the panels of A pass: 96 x 2048 rows = 384 KiB.
constexpr std::size_t kColumnsInCache = 96;

// A product along rows pays for the sums across lanes with this many values; with few others it pays for no packing.
constexpr std::size_t kLongRow = 256;
constexpr std::size_t kFewOthers = 16;
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

  // The tiles of some panels, over a block of `depth` rows.
  void accumulate(const PanelRow& row, std::size_t depth) const {
    for (std::size_t b = row.b.begin; b < row.b.end; ++b) accumulate(row.a, b, depth);
  }

 private:
  void accumulate(std::size_t index_a, std::size_t index_b, std::size_t depth) const {
    const Panel& panel_a = a_.panels()[index_a];
    const Panel& panel_b = b_.panels()[index_b];
    thread_local std::vector<Segment> segments;
    plan_segments(
        a_.energies(index_a, depth), b_.energies(index_b, depth), PackedPanels::pairs(depth),
        [&](const Segment& part) { return std::uint64_t{a_.energy(panel_a, part)} * b_.energy(panel_b, part); },
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
      for (const Segment& segment : segments) {
        const std::int16_t* pairs_a = a_.at(panel_a, segment.begin) + 2 * (row - panel_a.first_column);
        const std::int16_t* pairs_b = b_.at(panel_b, segment.begin) + 2 * first_vector * micro_.lanes;
        alignas(64) std::int32_t tile[kMaxTileRows * kMaxTileVectors * kMaxLanes];
        const std::size_t vectors = panel_b.vectors - first_vector;
        micro_.multiply[vectors - 1](pairs_a, a_.pair_stride(panel_a), pairs_b, b_.pair_stride(panel_b),
                                     segment.end - segment.begin, tile);
        widen(tile, vectors * micro_.lanes, rows, columns);
      }
    }
  }

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
    team.for_each(panel_rows.size(), [&](std::size_t index) { product.accumulate(panel_rows[index], block_depth); });
  }
}

}  // namespace

// Packed once for all rows, so that many of them pay, too.
std::unique_ptr<const RowFactors> BlockedKernel::make_row_factors(const Int16View& b) const {
  if (b.cols < kLongRow && b.rows > kFewOthers) return IntegerKernel::make_row_factors(b);
  return std::make_unique<DotFactors>(rows_, b);
}

KnownEnergies BlockedKernel::measured(const Int16View& a, ThreadTeam& team) const {
  return known_energies(rows_, team, a);
}

void BlockedKernel::accumulate(const Operand& a, const Operand& b, ProductPart part, const Int64View& c,
                               unsigned threads) const {
  ThreadTeam team(threads);
  const bool triangle = part == ProductPart::kUpperTriangle;
  const bool along_rows = a.summed_over == SummedOver::kColumns;
  const std::size_t most_others = a.depth() >= kLongRow ? kMostOthers : kFewOthers;
  if (along_rows && b.columns() <= most_others) return DotFactors(rows_, b.view).accumulate_on(team, a.view, c);
  if (!along_rows && !triangle && a.columns() <= kFewColumns) return accumulate_outer(rows_, micro_, team, a, b, c);
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

namespace {

// The plainest kernel: three loops in int64. It stays for ever as the oracle of the fast ones.
class ReferenceKernel final : public IntegerKernel {
 public:
  std::string_view name() const override { return "reference"; }

 private:
  // Uses one thread, whatever is requested: the result is the same.
  void accumulate(const Operand& a, const Operand& b, ProductPart part, const Int64View& c,
                  unsigned /*threads*/) const override {
    for (std::size_t k = 0; k < a.depth(); ++k) {
      for (std::size_t row = 0; row < a.columns(); ++row) {
        for (std::size_t column = part == ProductPart::kUpperTriangle ? row : 0; column < b.columns(); ++column) {
          std::int64_t& sum = c.row(row)[column];
          sum = ring_sum(sum, value_at(a, k, row) * value_at(b, k, column));
        }
      }
    }
  }

  static std::int64_t value_at(const Operand& operand, std::size_t k, std::size_t column) {
    const std::int64_t value = operand.at(k, column);
    DPREDUCE_ASSERT(value >= -32767);
    return value;
  }
};

std::vector<const IntegerKernel*> find_supported() {
  std::vector<const IntegerKernel*> kernels{&reference_kernel()};
  static const BlockedKernel portable(portable_micro_kernel(), portable_row_kernel());
  kernels.push_back(&portable);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    static const BlockedKernel avx2(avx2_micro_kernel(), avx2_row_kernel());
    kernels.push_back(&avx2);
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni")) {
    static const BlockedKernel avx512_vnni(avx512_vnni_micro_kernel(), avx512_vnni_row_kernel());
    kernels.push_back(&avx512_vnni);
  }
#endif
  return kernels;
}

}  // namespace

const IntegerKernel& reference_kernel() {
  static const ReferenceKernel kernel;
  return kernel;
}

const std::vector<const IntegerKernel*>& supported_kernels() {
  static const std::vector<const IntegerKernel*> kernels = find_supported();
  return kernels;
}

const IntegerKernel& select_kernel(std::string_view name) {
  if (name == "auto") return *supported_kernels().back();
  std::string names = "auto";
  for (const IntegerKernel* kernel : supported_kernels()) {
    if (kernel->name() == name) return *kernel;
    names += ", ";
    names += kernel->name();
  }
  throw UsageError("kernel '" + std::string(name) + "' is unknown or not supported by this processor; choose one of " +
                   names);
}

}  // namespace dpreduce
