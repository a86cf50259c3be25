#include "common/kernels/packed_panels.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// The product of the energies of two whole blocks fits in 64 bits.
constexpr std::uint64_t kMaxBlockUnits = kBlockPairs * ((std::uint64_t{1} << 21) + 1);
static_assert(kMaxBlockUnits < std::uint64_t{1} << 32);

void add_halves(const Range& part, const EnergyProduct& measured, std::vector<Range>& segments) {
  if (part.size() == 1 || measured(part) <= kEnergyLimit) {
    segments.push_back(part);
    return;
  }
  const std::size_t middle = part.begin + part.size() / 2;
  add_halves({part.begin, middle}, measured, segments);
  add_halves({middle, part.end}, measured, segments);
}

}  // namespace

void plan_segments(std::span<const std::uint32_t> energies_a, std::span<const std::uint32_t> energies_b,
                   std::size_t steps, const EnergyProduct& measured, std::vector<Range>& segments, std::size_t stripe) {
  const std::size_t stripes = energies_a.size();
  DPREDUCE_ASSERT(steps <= kBlockPairs && stripes == (steps + stripe - 1) / stripe);
  DPREDUCE_ASSERT(energies_b.size() == stripes);

  segments.clear();
  std::size_t begin = 0;
  std::uint64_t energy_a = 0;
  std::uint64_t energy_b = 0;
  for (std::size_t index = 0; index < stripes; ++index) {
    const std::size_t stripe_begin = index * stripe;
    energy_a += energies_a[index];
    energy_b += energies_b[index];
    if (energy_a * energy_b <= kEnergyLimit) continue;

    if (begin < stripe_begin) segments.push_back({begin, stripe_begin});
    begin = stripe_begin;
    energy_a = energies_a[index];
    energy_b = energies_b[index];
    if (energy_a * energy_b <= kEnergyLimit) continue;

    begin = std::min(stripe_begin + stripe, steps);
    add_halves({stripe_begin, begin}, measured, segments);
    energy_a = 0;
    energy_b = 0;
  }
  if (begin < steps) segments.push_back({begin, steps});
}

namespace {

constexpr std::size_t kMaxPanelColumns = kMaxTileVectors * kMaxLanes;

// Pairs of rows k of a matrix that is summed over its rows. The rows of the next stripe are requested meanwhile.
void pack_rows(const MicroKernel& micro, const Int16View& view, std::size_t first_column, std::size_t count,
               std::size_t first_k, std::size_t depth, std::size_t vectors, std::int16_t* packed) {
  constexpr std::size_t kLine = 64 / sizeof(std::int16_t);
  static constexpr std::array<std::int16_t, kMaxPanelColumns> kZeroRow{};
  const std::size_t width = vectors * micro.lanes;
  std::array<std::int16_t, kMaxPanelColumns> padded_first{};
  std::array<std::int16_t, kMaxPanelColumns> padded_second{};
  for (std::size_t k = 0; k < depth; k += 2, packed += 2 * width) {
    const std::int16_t* first = view.row(first_k + k) + first_column;
    const std::int16_t* second = k + 1 < depth ? first + view.stride : kZeroRow.data();
    if (first_k + k + 2 * kStripePairs + 1 < view.rows) {
      const std::int16_t* ahead = first + 2 * kStripePairs * view.stride;
      for (std::size_t column = 0; column < count; column += kLine) {
        __builtin_prefetch(ahead + column, 0, 2);
        __builtin_prefetch(ahead + view.stride + column, 0, 2);
      }
    }
    if (count < width) {
      std::copy_n(first, count, padded_first.begin());
      std::copy_n(second, count, padded_second.begin());
      first = padded_first.data();
      second = padded_second.data();
    }
    micro.interleave(first, second, vectors, packed);
  }
}

using Pairs4 = std::int32_t __attribute__((vector_size(16)));

Pairs4 load_pairs(const std::int16_t* values) {
  Pairs4 pairs;
  std::memcpy(&pairs, values, sizeof pairs);
  return pairs;
}

void store_pairs(const Pairs4& pairs, std::int16_t* values) {
  std::memcpy(values, &pairs, sizeof pairs);
}

// packed[k][j] = rows[j][k] for 4 x 4 pairs.
void transpose_pairs(const std::int16_t* rows, std::size_t stride, std::int16_t* packed, std::size_t packed_stride) {
  const Pairs4 row0 = load_pairs(rows);
  const Pairs4 row1 = load_pairs(rows + stride);
  const Pairs4 row2 = load_pairs(rows + 2 * stride);
  const Pairs4 row3 = load_pairs(rows + 3 * stride);
  const Pairs4 low01 = __builtin_shufflevector(row0, row1, 0, 4, 1, 5);
  const Pairs4 high01 = __builtin_shufflevector(row0, row1, 2, 6, 3, 7);
  const Pairs4 low23 = __builtin_shufflevector(row2, row3, 0, 4, 1, 5);
  const Pairs4 high23 = __builtin_shufflevector(row2, row3, 2, 6, 3, 7);
  store_pairs(__builtin_shufflevector(low01, low23, 0, 1, 4, 5), packed);
  store_pairs(__builtin_shufflevector(low01, low23, 2, 3, 6, 7), packed + packed_stride);
  store_pairs(__builtin_shufflevector(high01, high23, 0, 1, 4, 5), packed + 2 * packed_stride);
  store_pairs(__builtin_shufflevector(high01, high23, 2, 3, 6, 7), packed + 3 * packed_stride);
}

// The same for a matrix that is summed along its rows: pairs lie side by side already, and are transposed, four pairs
// of four columns at a time.
void pack_columns(const MicroKernel& micro, const Int16View& view, std::size_t first_row, std::size_t count,
                  std::size_t first_k, std::size_t depth, std::size_t vectors, std::int16_t* packed) {
  constexpr std::size_t kRun = 16;
  const std::size_t width = vectors * micro.lanes;
  const std::size_t fours = count - count % 4;
  const std::size_t four_pairs = depth - depth % 8;
  for (std::size_t run = 0; run < four_pairs; run += kRun) {
    const std::size_t run_end = std::min(run + kRun, four_pairs);
    for (std::size_t column = 0; column < fours; column += 4) {
      const std::int16_t* source = view.row(first_row + column) + first_k;
      for (std::size_t k = run; k < run_end; k += 8) {
        transpose_pairs(source + k, view.stride, packed + (k / 2 * width + column) * 2, 2 * width);
      }
    }
  }
  for (std::size_t column = 0; column < count; ++column) {
    const std::int16_t* source = view.row(first_row + column) + first_k;
    for (std::size_t k = column < fours ? four_pairs : 0; k < depth + depth % 2; ++k) {
      packed[(k / 2 * width + column) * 2 + k % 2] = k < depth ? source[k] : std::int16_t{0};
    }
  }
  for (std::size_t pair = 0; pair < PackedPanels::pairs(depth); ++pair) {
    std::fill(packed + (pair * width + count) * 2, packed + (pair + 1) * width * 2, std::int16_t{0});
  }
}

}  // namespace

std::vector<Panel> split_into_panels(std::size_t columns, std::size_t lanes) {
  const std::size_t vectors = (columns + lanes - 1) / lanes;
  const std::size_t count = (vectors + kMaxTileVectors - 1) / kMaxTileVectors;
  std::vector<Panel> panels(count);
  std::size_t first_column = 0;
  for (std::size_t index = 0; index < count; ++index) {
    panels[index] = {first_column, vectors / count + (index < vectors % count ? 1 : 0)};
    first_column += panels[index].vectors * lanes;
  }
  return panels;
}

std::int16_t* room_in(PackingMemory& memory, std::size_t count) {
  if (count > memory.size()) {
    memory = PackingMemory();  // before there is another, so that there are never two
    memory.resize(count);
  }
  return memory.data();
}

PackedPanels::PackedPanels(const MicroKernel& micro, std::size_t columns, std::size_t depth, PackingMemory& memory)
    : columns_(columns),
      micro_(micro),
      max_pairs_(std::min(pairs(depth), kBlockPairs)),
      max_stripes_((max_pairs_ + kStripePairs - 1) / kStripePairs),
      panels_(split_into_panels(columns, micro.lanes)),
      energies_(panels_.size() * max_stripes_) {
  const std::size_t padded_columns = (columns + micro.lanes - 1) / micro.lanes * micro.lanes;
  values_ = room_in(memory, 2 * max_pairs_ * padded_columns);
}

void PackedPanels::pack_stripe(const Operand& operand, std::size_t first_column, std::size_t first_k, std::size_t depth,
                               std::size_t stripe) {
  const std::size_t first_pair = stripe * kStripePairs;
  const std::size_t stripe_k = first_k + 2 * first_pair;
  const std::size_t stripe_depth = std::min(2 * kStripePairs, depth - 2 * first_pair);
  for (std::size_t index = 0; index < panels_.size(); ++index) {
    const Panel& panel = panels_[index];
    const std::size_t count = std::min(panel.vectors * micro_.lanes, columns_ - panel.first_column);
    const std::size_t source_column = first_column + panel.first_column;
    std::int16_t* packed = panel_begin(panel) + first_pair * pair_stride(panel);
    const auto pack = operand.summed_over == SummedOver::kRows ? pack_rows : pack_columns;
    pack(micro_, operand.view, source_column, count, stripe_k, stripe_depth, panel.vectors, packed);

    std::uint32_t& energy = energies_[index * max_stripes_ + stripe];
    if (operand.has_known_energies()) {
      energy = operand.view.known_energy(stripe_k, source_column, source_column + count);
      continue;
    }
    energy = micro_.measure(packed, pairs(stripe_depth), panel.vectors);
    DPREDUCE_ASSERT(energy != kNoEnergy);
  }
}

}  // namespace dpreduce
