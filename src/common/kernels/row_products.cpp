#include "common/kernels/row_products.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/kernels/energy_segments.hpp"
#include "common/kernels/packed_panels.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kRowsInCache = 16 * kDotRows;
constexpr std::size_t kStripeVectors = 8;
// Values of a row that are summed at a time: energies of a lane then fit in 32 bits.
constexpr std::size_t kMostValues = 8192;
constexpr std::size_t kOuterRows = 256;

// [0, count) in the fewest ranges of at most `most`, as even as can be.
std::vector<Range> even_groups(std::size_t count, std::size_t most) {
  const std::size_t groups = (count + most - 1) / most;
  std::vector<Range> ranges(groups);
  for (std::size_t g = 0; g < groups; ++g) ranges[g] = {count * g / groups, count * (g + 1) / groups};
  return ranges;
}

// One run of columns of both operands of a product along rows.
class RowDots {
 public:
  // `memory` serves nobody else meanwhile.
  RowDots(const RowKernel& kernel, const Operand& a, const Operand& b, const Range& columns, PackingMemory& memory)
      : kernel_(kernel),
        a_(a),
        b_(b),
        columns_(columns),
        stripe_(kStripeVectors * 2 * kernel.lanes),
        stripes_((columns.size() + stripe_ - 1) / stripe_),
        others_(even_groups(b.view.rows, kernel.most_dot_others)),
        values_((columns.size() + 2 * kernel.lanes - 1) / (2 * kernel.lanes) * 2 * kernel.lanes),
        panels_(memory.room(b.view.rows * values_ * sizeof(std::int16_t))),
        entries_(stripes_ + 1),
        energies_b_(others_.size() * entries_) {}

  std::size_t groups() const { return others_.size(); }
  // Measures and packs them.
  void prepare_others(std::size_t group) {
    const Range& others = others_[group];
    measure(b_, others, std::span(energies_b_).subspan(group * entries_, entries_));
    const std::size_t width = 2 * kernel_.lanes;
    std::int16_t* panel = panels_ + others.begin * values_;
    for (std::size_t k = columns_.begin; k < columns_.end; k += width) {
      for (std::size_t other = others.begin; other < others.end; ++other, panel += width) {
        const std::size_t count = std::min(width, columns_.end - k);
        std::copy_n(b_.view.row(other) + k, count, panel);
        std::fill(panel + count, panel + width, std::int16_t{0});
      }
    }
  }

  // c(row - rows.begin, j) += the products of some rows of A with all of B. Precondition: all groups are prepared.
  void accumulate(const Range& rows, const Int64View& c) const {
    const std::size_t triples = (rows.size() + kDotRows - 1) / kDotRows;
    thread_local std::vector<std::uint32_t> energies_a;
    energies_a.resize(triples * entries_);
    const auto triple_of = [&](std::size_t index) {
      const std::size_t first = rows.begin + index * kDotRows;
      return Range{first, std::min(first + kDotRows, rows.end)};
    };
    for (std::size_t index = 0; index < triples; ++index) {
      measure(a_, triple_of(index), std::span(energies_a).subspan(index * entries_, entries_));
    }
    for (std::size_t group = 0; group < others_.size(); ++group) {
      for (std::size_t index = 0; index < triples; ++index) {
        const Range triple = triple_of(index);
        const Int64View tile{c.row(triple.begin - rows.begin) + others_[group].begin, triple.size(),
                             others_[group].size(), c.stride};
        accumulate_tile(triple, others_[group], tile,
                        std::span<const std::uint32_t>(energies_a).subspan(index * entries_, entries_),
                        std::span<const std::uint32_t>(energies_b_).subspan(group * entries_, entries_));
      }
    }
  }

 private:
  Range columns_of(std::size_t stripe) const {
    const std::size_t first = columns_.begin + stripe * stripe_;
    return {first, std::min(first + stripe_, columns_.end)};
  }

  // The largest energy of a lane of some rows. At least that of each stripe becomes its entry of `energies`.
  std::uint32_t energy(const Operand& operand, const Range& rows, const Range& columns,
                       std::span<std::uint32_t> energies) const {
    std::uint32_t largest = 0;
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      largest = std::max(largest, kernel_.measure_row(operand.view.row(row) + columns.begin, columns.size(), stripe_,
                                                      energies.data()));
    }
    return largest;
  }

  // Energies of the stripes, and of the whole behind them, which is less than their sum.
  void measure(const Operand& operand, const Range& rows, std::span<std::uint32_t> energies) const {
    std::fill(energies.begin(), energies.end(), 0);
    energies.back() = energy(operand, rows, columns_, energies);
    if (energies.back() == kNoEnergy) reject_first(operand, columns_, rows);
  }

  // All columns at once where they are safe, else as plan_segments does it.
  void accumulate_tile(const Range& rows, const Range& others, const Int64View& c,
                       std::span<const std::uint32_t> energies_a, std::span<const std::uint32_t> energies_b) const {
    if (std::uint64_t{energies_a.back()} * energies_b.back() <= kEnergyLimit) {
      return multiply(rows, others, c, columns_);
    }
    std::size_t begin = 0;
    std::uint64_t energy_a = 0;
    std::uint64_t energy_b = 0;
    for (std::size_t stripe = 0; stripe < stripes_; ++stripe) {
      energy_a += energies_a[stripe];
      energy_b += energies_b[stripe];
      if (energy_a * energy_b <= kEnergyLimit) continue;
      if (begin < stripe) multiply(rows, others, c, {columns_of(begin).begin, columns_of(stripe).begin});
      begin = stripe;
      energy_a = energies_a[stripe];
      energy_b = energies_b[stripe];
      if (energy_a * energy_b <= kEnergyLimit) continue;
      multiply_halves(rows, others, c, columns_of(stripe));
      begin = stripe + 1;
      energy_a = 0;
      energy_b = 0;
    }
    if (begin < stripes_) multiply(rows, others, c, {columns_of(begin).begin, columns_.end});
  }

  // The columns are more than a stripe's energies allow. One vector is safe: each lane has two products.
  void multiply_halves(const Range& rows, const Range& others, const Int64View& c, const Range& columns) const {
    const std::size_t values = 2 * kernel_.lanes;
    const std::size_t vectors = (columns.size() + values - 1) / values;
    const auto is_safe = [&] {
      std::uint32_t of_a = 0;  // columns are part of one stripe
      std::uint32_t of_b = 0;
      return std::uint64_t{energy(a_, rows, columns, {&of_a, 1})} * energy(b_, others, columns, {&of_b, 1}) <=
             kEnergyLimit;
    };
    if (vectors == 1 || is_safe()) return multiply(rows, others, c, columns);
    const std::size_t middle = columns.begin + vectors / 2 * values;
    multiply_halves(rows, others, c, {columns.begin, middle});
    multiply_halves(rows, others, c, {middle, columns.end});
  }

  void multiply(const Range& rows, const Range& others, const Int64View& c, const Range& columns) const {
    const std::size_t at_once = rows.size() == kDotRows ? kDotRows : 1;
    const auto dots = (at_once == kDotRows ? kernel_.dots : kernel_.dots_of_row)[others.size() - 1];
    const std::int16_t* const panel =
        panels_ + others.begin * values_ + (columns.begin - columns_.begin) * others.size();
    for (std::size_t row = rows.begin; row < rows.end; row += at_once) {
      dots(a_.view.row(row) + columns.begin, a_.view.stride, panel, columns.size(), c.row(row - rows.begin), c.stride);
    }
  }

  const RowKernel& kernel_;
  const Operand& a_;
  const Operand& b_;
  Range columns_;
  std::size_t stripe_;
  std::size_t stripes_;
  std::vector<Range> others_;
  std::size_t values_;                     // of a row, in whole vectors
  std::int16_t* panels_;                   // one a group
  std::size_t entries_;                    // energies of a group: of each stripe, and of the whole
  std::vector<std::uint32_t> energies_b_;  // groups x entries
};

// The columns of B with a packed block of A.
class OuterBlock {
 public:
  OuterBlock(const RowKernel& kernel, const MicroKernel& micro, const PackedPanels& a, const Operand& b,
             const Int64View& c)
      : kernel_(kernel), micro_(micro), a_(a), b_(b), c_(c) {}

  void accumulate(const Range& rows, const Range& columns) const {
    const Int16View q = part_of(rows, columns);
    const std::size_t stripes = PackedPanels::stripes(rows.size());
    thread_local std::vector<std::uint32_t> energies;
    thread_local std::vector<Segment> segments;
    energies.resize(stripes);
    for (std::size_t stripe = 0; stripe < stripes; ++stripe) {
      const std::size_t first = rows.begin + stripe * 2 * kStripePairs;
      const Range of_stripe{first, std::min(first + 2 * kStripePairs, rows.end)};
      energies[stripe] = kernel_.measure_columns(part_of(of_stripe, columns));
      if (energies[stripe] == kNoEnergy) reject_first(b_, of_stripe, columns);
    }
    for (std::size_t index = 0; index < a_.panels().size(); ++index) {
      const Panel& panel = a_.panels()[index];
      plan_segments(
          a_.energies(index, rows.size()), energies, PackedPanels::pairs(rows.size()),
          [&](const Segment& part) {
            return std::uint64_t{a_.energy(panel, part)} * kernel_.measure_columns(pairs_of(q, part));
          },
          segments);
      const std::size_t count = std::min(panel.vectors * micro_.lanes, a_.columns() - panel.first_column);
      for (const Range& sums : even_groups(count, kernel_.most_outer_sums)) multiply(panel, sums, q, columns, segments);
    }
  }

 private:
  Int16View part_of(const Range& rows, const Range& columns) const {
    return {b_.view.row(rows.begin) + columns.begin, rows.size(), columns.size(), b_.view.stride};
  }

  static Int16View pairs_of(const Int16View& q, const Segment& pairs) {
    const std::size_t first = 2 * pairs.begin;
    return {q.row(first), std::min(2 * pairs.end, q.rows) - first, q.cols, q.stride};
  }

  void multiply(const Panel& panel, const Range& sums, const Int16View& q, const Range& columns,
                const std::vector<Segment>& segments) const {
    for (const Segment& segment : segments) {
      alignas(64) std::int32_t tile[kMostOuterSums * 2 * kMaxLanes];
      kernel_.outer[sums.size() - 1](a_.at(panel, segment.begin) + 2 * sums.begin, a_.pair_stride(panel),
                                     pairs_of(q, segment), tile);
      for (std::size_t sum = 0; sum < sums.size(); ++sum) {
        micro_.widen(tile + sum * 2 * kernel_.lanes, columns.size(),
                     c_.row(panel.first_column + sums.begin + sum) + columns.begin);
      }
    }
  }

  const RowKernel& kernel_;
  const MicroKernel& micro_;
  const PackedPanels& a_;
  const Operand& b_;
  Int64View c_;
};

}  // namespace

namespace {

void prepare_others(ThreadTeam& team, RowDots& dots) {
  const PackingClock clock;
  team.for_each(dots.groups(), [&](std::size_t group) { dots.prepare_others(group); });
}

// Calls step with each block of rows, on the team.
void for_each_block(ThreadTeam& team, std::size_t rows, const std::function<void(const Range&)>& step) {
  team.for_each((rows + kRowsInCache - 1) / kRowsInCache, [&](std::size_t block) {
    step({block * kRowsInCache, std::min((block + 1) * kRowsInCache, rows)});
  });
}

}  // namespace

void accumulate_dots(const RowKernel& kernel, ThreadTeam& team, const Operand& a, const Operand& b,
                     const Int64View& c) {
  thread_local PackingMemory memory;
  for (std::size_t first = 0; first < a.depth(); first += kMostValues) {
    RowDots dots(kernel, a, b, {first, std::min(first + kMostValues, a.depth())}, memory);
    prepare_others(team, dots);
    for_each_block(team, a.view.rows, [&](const Range& rows) {
      dots.accumulate(rows, {c.row(rows.begin), rows.size(), c.cols, c.stride});
    });
  }
}

bool fits_dots(std::size_t columns) {
  return columns <= kMostValues;
}

void visit_dots(const RowKernel& kernel, ThreadTeam& team, const Operand& a, const Operand& b,
                const VisitProducts& visit) {
  DPREDUCE_ASSERT(fits_dots(a.depth()));
  PackingMemory memory;  // of this call: `visit` may ask for products itself
  RowDots dots(kernel, a, b, {0, a.depth()}, memory);
  prepare_others(team, dots);
  for_each_block(team, a.view.rows, [&](const Range& rows) {
    thread_local std::vector<std::int64_t> kept;  // from block to block, as its pages are
    std::vector<std::int64_t> products = std::move(kept);
    products.assign(rows.size() * b.view.rows, 0);
    const Int64View c{products.data(), rows.size(), b.view.rows, b.view.rows};
    dots.accumulate(rows, c);
    visit(rows.begin, c);
    kept = std::move(products);
  });
}

void accumulate_outer(const RowKernel& kernel, const MicroKernel& micro, ThreadTeam& team, const Operand& a,
                      const Operand& b, const Int64View& c) {
  const std::size_t width = 2 * kernel.lanes;
  thread_local PackingMemory memory;
  PackedPanels packed(micro, a.columns(), std::min(a.depth(), kOuterRows), memory);
  const OuterBlock block(kernel, micro, packed, b, c);
  for (std::size_t first = 0; first < a.depth(); first += kOuterRows) {
    const Range rows{first, std::min(first + kOuterRows, a.depth())};
    {
      const PackingClock clock;
      team.for_each(PackedPanels::stripes(rows.size()),
                    [&](std::size_t stripe) { packed.pack_stripe(a, 0, rows.begin, rows.size(), stripe); });
    }
    team.for_each((b.columns() + width - 1) / width, [&](std::size_t index) {
      block.accumulate(rows, {index * width, std::min((index + 1) * width, b.columns())});
    });
  }
}

}  // namespace dpreduce
