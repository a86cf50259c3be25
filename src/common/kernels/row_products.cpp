// Products with a small side, or along rows, without packing the large one: the rounds of training.
//
//     dots:   pack B, which is small                         (panels of instruction_set.hpp)
//             for each 48 rows of A                          (they stay in the second-level cache)
//               for each 8 rows of B, each 3 rows of A       (tiles of instruction_set.hpp)
//                 C tile += each safe segment of the columns
//     outer:  for each 256 rows of A and of B                (read twice, from the second-level cache)
//               pack A, which is small                       (packed_panels.hpp)
//               for each 2 lanes columns of B, each tile of A's columns
//                 C tile += each safe segment of the rows
//
// Energies are measured on the way where they are not known, of lanes for dots: stripes of 8 vectors, whose sums bound
// what a lane holds.
#include <algorithm>

#include "common/base/error.hpp"
#include "common/base/huge_pages.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/packed_panels.hpp"

namespace dpreduce {
namespace {

// A product along rows pays for the sums across lanes with this many values; with few others it pays for no packing.
constexpr std::size_t kLongRow = 256;
constexpr std::size_t kFewOthers = 16;
constexpr std::size_t kRowsInCache = 16 * kDotRows;
constexpr std::size_t kRowsOfTiles = 1024;
// Values of B that pass with each three rows of A: first, while rows come from memory, what the second-level cache has
// room for; then what stays in the first one while all rows pass.
constexpr std::size_t kPanelsInFirstPass = 32768;
constexpr std::size_t kPanelsAtOnce = 16384;
constexpr std::size_t kStripeVectors = 8;
// Values of a row that are summed at a time: energies of a lane then fit in 32 bits.
constexpr std::size_t kMostValues = 8192;
static_assert(kEnergyRows == 2 * kStripePairs && kOuterRows % kEnergyRows == 0);

// [0, count) in the fewest ranges of at most `most`, as even as can be.
std::vector<Range> even_groups(std::size_t count, std::size_t most) {
  const std::size_t groups = (count + most - 1) / most;
  std::vector<Range> ranges(groups);
  for (std::size_t g = 0; g < groups; ++g) ranges[g] = {count * g / groups, count * (g + 1) / groups};
  return ranges;
}

}  // namespace

// Run of columns of a product along rows, B packed.
class RowDots {
 public:
  RowDots(const MicroKernel& kernel, const Int16View& b, const Range& columns)
      : kernel_(kernel),
        b_(b),
        columns_(columns),
        width_(2 * kernel.lanes),
        vectors_((columns.size() + width_ - 1) / width_),
        others_(even_groups(b.rows, kernel.most_dot_others)),
        values_(vectors_ * width_),
        groups_in_first_pass_(groups_of(kPanelsInFirstPass)),
        groups_at_once_(groups_of(kPanelsAtOnce)),
        others_in_first_pass_(others_.empty() ? 0 : others_[std::min(groups_in_first_pass_, others_.size()) - 1].end),
        panels_(b.rows * values_),
        entries_((vectors_ + kStripeVectors - 1) / kStripeVectors + 1),
        energies_b_(others_.size() * entries_) {
    for (std::size_t group = 0; group < others_.size(); ++group) pack_others(group);
  }

  // c(row - rows.begin, j) += the products of some rows of A with all of B.
  void accumulate(const Int16View& a, const Range& rows, const Int64View& c) const {
    const std::size_t triples = (rows.size() + kDotRows - 1) / kDotRows;
    thread_local std::vector<std::uint32_t> energies_a;
    energies_a.resize(triples * entries_);
    const auto triple_of = [&](std::size_t index) {
      const std::size_t first = rows.begin + index * kDotRows;
      return Range{first, std::min(first + kDotRows, rows.end)};
    };
    for (std::size_t index = 0; index < triples; ++index) {
      take_energies(a, triple_of(index), std::span(energies_a).subspan(index * entries_, entries_));
    }
    std::size_t end = groups_in_first_pass_;
    for (std::size_t first = 0; first < others_.size(); first = end, end += groups_at_once_) {
      for (std::size_t index = 0; index < triples; ++index) {
        const Range triple = triple_of(index);
        for (std::size_t group = first; group < std::min(end, others_.size()); ++group) {
          const Int64View tile{c.row(triple.begin - rows.begin) + others_[group].begin, triple.size(),
                               others_[group].size(), c.stride};
          accumulate_tile(a, triple, others_[group], tile, std::span(energies_a).subspan(index * entries_, entries_),
                          std::span<const std::uint32_t>(energies_b_).subspan(group * entries_, entries_));
        }
      }
    }
  }

 private:
  std::size_t groups_of(std::size_t panels) const {
    return std::max<std::size_t>(1, panels / (values_ * kernel_.most_dot_others));
  }

  // Measures them as well.
  void pack_others(std::size_t group) {
    const Range& others = others_[group];
    measure(b_, others, std::span(energies_b_).subspan(group * entries_, entries_));
    std::int16_t* panel = panels_.data() + others.begin * values_;
    for (std::size_t k = columns_.begin; k < columns_.end; k += width_) {
      for (std::size_t other = others.begin; other < others.end; ++other, panel += width_) {
        const std::size_t count = std::min(width_, columns_.end - k);
        std::copy_n(b_.row(other) + k, count, panel);
        std::fill(panel + count, panel + width_, std::int16_t{0});
      }
    }
  }

  Range columns_of(const Range& vectors) const {
    return {columns_.begin + vectors.begin * width_, std::min(columns_.begin + vectors.end * width_, columns_.end)};
  }

  // The largest energy of a lane of some rows. At least that of each stripe becomes its entry of `energies`.
  std::uint32_t energy(const Int16View& view, const Range& rows, const Range& columns,
                       std::span<std::uint32_t> energies) const {
    std::uint32_t largest = 0;
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      largest = std::max(largest, kernel_.measure_row(view.row(row) + columns.begin, columns.size(),
                                                      kStripeVectors * width_, energies.data()));
    }
    return largest;
  }

  // Energies of the stripes, and of the whole behind them, which is less than their sum.
  void measure(const Int16View& view, const Range& rows, std::span<std::uint32_t> energies) const {
    std::fill(energies.begin(), energies.end(), 0);
    energies.back() = energy(view, rows, columns_, energies);
    DPREDUCE_ASSERT(energies.back() != kNoEnergy);
  }

  // Uses the known energies of the rows, which are over all columns; measures them if they are not known.
  void take_energies(const Int16View& a, const Range& rows, std::span<std::uint32_t> energies) const {
    if (a.energies.rows == nullptr) return measure(a, rows, energies);
    const std::uint32_t* const known = a.energies.rows + rows.begin;
    const std::uint32_t largest = *std::max_element(known, known + rows.size());
    energies.front() = kNoEnergy;
    energies.back() = largest * static_cast<std::uint32_t>(kMaxLanes / kernel_.lanes);
  }

  // All columns at once where they are safe, else in safe segments. A vector is one: each lane has two products.
  void accumulate_tile(const Int16View& a, const Range& rows, const Range& others, const Int64View& c,
                       std::span<std::uint32_t> energies_a, std::span<const std::uint32_t> energies_b) const {
    const auto whole_is_safe = [&] { return std::uint64_t{energies_a.back()} * energies_b.back() <= kEnergyLimit; };
    if (whole_is_safe()) return multiply(a, rows, others, c, columns_);
    if (energies_a.front() == kNoEnergy) {
      measure(a, rows, energies_a);
      if (whole_is_safe()) return multiply(a, rows, others, c, columns_);
    }
    const auto measured = [&](const Range& vectors) {
      std::uint32_t of_a = 0;  // they are part of one stripe
      std::uint32_t of_b = 0;
      const Range columns = columns_of(vectors);
      return std::uint64_t{energy(a, rows, columns, {&of_a, 1})} * energy(b_, others, columns, {&of_b, 1});
    };
    thread_local std::vector<Range> segments;
    plan_segments(energies_a.first(entries_ - 1), energies_b.first(entries_ - 1), vectors_, measured, segments,
                  kStripeVectors);
    for (const Range& vectors : segments) multiply(a, rows, others, c, columns_of(vectors));
  }

  void multiply(const Int16View& a, const Range& rows, const Range& others, const Int64View& c,
                const Range& columns) const {
    const std::size_t at_once = rows.size() == kDotRows ? kDotRows : 1;
    const auto& of_triple = others.begin < others_in_first_pass_ ? kernel_.dots : kernel_.dots_again;
    const auto dots = (at_once == kDotRows ? of_triple : kernel_.dots_of_row)[others.size() - 1];
    const std::int16_t* const panel =
        panels_.data() + others.begin * values_ + (columns.begin - columns_.begin) * others.size();
    for (std::size_t row = rows.begin; row < rows.end; row += at_once) {
      dots(a.row(row) + columns.begin, a.stride, panel, columns.size(), c.row(row - rows.begin), c.stride);
    }
  }

  const MicroKernel& kernel_;
  Int16View b_;
  Range columns_;
  std::size_t width_;    // values of a vector
  std::size_t vectors_;  // of a row
  std::vector<Range> others_;
  std::size_t values_;                // of a row, in whole vectors
  std::size_t groups_in_first_pass_;  // whose panels pass with each three rows of A while these come from memory
  std::size_t groups_at_once_;        // and then
  std::size_t others_in_first_pass_;
  LargeVector<std::int16_t> panels_;       // one a group
  std::size_t entries_;                    // energies of a group: of each stripe, and of the whole
  std::vector<std::uint32_t> energies_b_;  // groups x entries
};

namespace {

// The columns of B with a packed block of A.
class OuterBlock {
 public:
  OuterBlock(const MicroKernel& kernel, const PackedPanels& a, const Operand& b, const Int64View& c)
      : kernel_(kernel), a_(a), b_(b), c_(c) {}

  void accumulate(const Range& rows, const Range& columns) const {
    const Int16View q = part_of(rows, columns);
    const std::size_t stripes = PackedPanels::stripes(rows.size());
    thread_local std::vector<std::uint32_t> energies;
    thread_local std::vector<Range> segments;
    energies.resize(stripes);
    for (std::size_t stripe = 0; stripe < stripes; ++stripe) {
      const std::size_t first = rows.begin + stripe * 2 * kStripePairs;
      const Range of_stripe{first, std::min(first + 2 * kStripePairs, rows.end)};
      energies[stripe] = energy(of_stripe, columns);
      DPREDUCE_ASSERT(energies[stripe] != kNoEnergy);
    }
    for (std::size_t index = 0; index < a_.panels().size(); ++index) {
      const Panel& panel = a_.panels()[index];
      plan_segments(
          a_.energies(index, rows.size()), energies, PackedPanels::pairs(rows.size()),
          [&](const Range& part) {
            return std::uint64_t{a_.energy(panel, part)} * kernel_.measure_columns(pairs_of(q, part));
          },
          segments);
      const std::size_t count = std::min(panel.vectors * kernel_.lanes, a_.columns() - panel.first_column);
      for (const Range& sums : even_groups(count, kernel_.most_outer_sums)) multiply(panel, sums, q, columns, segments);
    }
  }

 private:
  Int16View part_of(const Range& rows, const Range& columns) const {
    return {b_.view.row(rows.begin) + columns.begin, rows.size(), columns.size(), b_.view.stride};
  }

  // The largest of a column over one stripe.
  std::uint32_t energy(const Range& rows, const Range& columns) const {
    const Int16View& q = b_.view;
    if (!b_.has_known_energies()) return kernel_.measure_columns(part_of(rows, columns));
    return q.known_energy(rows.begin, columns.begin, columns.end);
  }

  static Int16View pairs_of(const Int16View& q, const Range& pairs) {
    const std::size_t first = 2 * pairs.begin;
    return {q.row(first), std::min(2 * pairs.end, q.rows) - first, q.cols, q.stride};
  }

  void multiply(const Panel& panel, const Range& sums, const Int16View& q, const Range& columns,
                const std::vector<Range>& segments) const {
    for (const Range& segment : segments) {
      kernel_.outer[sums.size() - 1](a_.at(panel, segment.begin) + 2 * sums.begin, a_.pair_stride(panel),
                                     pairs_of(q, segment), c_.row(panel.first_column + sums.begin) + columns.begin,
                                     c_.stride);
    }
  }

  const MicroKernel& kernel_;
  const PackedPanels& a_;
  const Operand& b_;
  Int64View c_;
};

}  // namespace

bool RowFactors::are_packed(const Int16View& b) {
  return b.cols >= kLongRow || b.rows <= kFewOthers;
}

RowFactors::RowFactors(const IntegerKernel& kernel, const Int16View& b)
    : kernel_(kernel), b_(b), block_rows_(are_packed(b) ? kRowsInCache : kRowsOfTiles) {
  if (!are_packed(b)) return;
  for (std::size_t first = 0; first < b.cols; first += kMostValues) {
    parts_.emplace_back(kernel.micro(), b, Range{first, std::min(first + kMostValues, b.cols)});
  }
}

RowFactors::~RowFactors() = default;

void RowFactors::add(const Int16View& a, const Range& rows, const Int64View& c) const {
  if (parts_.empty()) {
    return kernel_.accumulate_row_products({a.row(rows.begin), rows.size(), a.cols, a.stride}, b_, c);
  }
  for (std::size_t first = rows.begin; first < rows.end; first += kRowsInCache) {
    const Range block{first, std::min(first + kRowsInCache, rows.end)};
    for (const RowDots& part : parts_) {
      part.accumulate(a, block, {c.row(first - rows.begin), block.size(), c.cols, c.stride});
    }
  }
}

void RowFactors::accumulate(const Int16View& a, const Int64View& c) const {
  DPREDUCE_ASSERT(a.cols == b_.cols && c.rows == a.rows && c.cols == b_.rows && is_whole(a) && is_whole(c));
  add(a, {0, a.rows}, c);
}

template <typename Work>
void RowFactors::for_each_block(ThreadTeam& team, std::size_t rows, const Work& work) const {
  team.for_each((rows + block_rows_ - 1) / block_rows_, [&](std::size_t block) {
    work(Range{block * block_rows_, std::min((block + 1) * block_rows_, rows)});
  });
}

void RowFactors::accumulate_on(ThreadTeam& team, const Int16View& a, const Int64View& c) const {
  for_each_block(team, a.rows, [&](const Range& rows) {
    add(a, rows, {c.row(rows.begin), rows.size(), c.cols, c.stride});
  });
}

void RowFactors::visit(const Int16View& a, ThreadTeam& team, const VisitProducts& visit) const {
  DPREDUCE_ASSERT(a.cols == b_.cols && is_whole(a));
  for_each_block(team, a.rows, [&](const Range& rows) {
    thread_local std::vector<std::int64_t> kept;           // from block to block, as its pages are
    std::vector<std::int64_t> products = std::move(kept);  // `visit` may ask for products itself
    products.assign(rows.size() * b_.rows, 0);
    const Int64View c{products.data(), rows.size(), b_.rows, b_.rows};
    add(a, rows, c);
    visit(rows.begin, c);
    kept = std::move(products);
  });
}

void IntegerKernel::accumulate_outer(ThreadTeam& team, const Operand& a, const Operand& b, const Int64View& c) const {
  const std::size_t width = 2 * micro_.lanes;
  thread_local PackingMemory memory;
  PackedPanels packed(micro_, a.columns(), std::min(a.depth(), kOuterRows), memory);
  const OuterBlock block(micro_, packed, b, c);
  for (std::size_t first = 0; first < a.depth(); first += kOuterRows) {
    const Range rows{first, std::min(first + kOuterRows, a.depth())};
    team.for_each(PackedPanels::stripes(rows.size()),
                  [&](std::size_t stripe) { packed.pack_stripe(a, 0, rows.begin, rows.size(), stripe); });
    team.for_each((b.columns() + width - 1) / width, [&](std::size_t index) {
      block.accumulate(rows, {index * width, std::min((index + 1) * width, b.columns())});
    });
  }
}

KnownEnergies IntegerKernel::measure(const Int16View& rows, unsigned threads) const {
  DPREDUCE_ASSERT(is_whole(rows) && threads >= 1);
  ThreadTeam team(threads);
  const std::size_t width = 2 * micro_.lanes;
  const std::size_t stripes = (rows.rows + kEnergyRows - 1) / kEnergyRows;
  const std::size_t groups = rows.energies_per_stripe();
  KnownEnergies known{std::vector<std::uint32_t>(rows.rows), std::vector<std::uint32_t>(stripes * groups)};
  team.for_each(stripes, [&](std::size_t stripe) {
    const Range of_stripe{stripe * kEnergyRows, std::min((stripe + 1) * kEnergyRows, rows.rows)};
    for (std::size_t row = of_stripe.begin; row < of_stripe.end; ++row) {
      for (std::size_t first = 0; first < rows.cols; first += kMostValues) {
        const std::size_t count = std::min(kMostValues, rows.cols - first);
        std::uint32_t whole = 0;
        micro_.measure_row(rows.row(row) + first, count, count, &whole);
        known.of_rows[row] = std::max(known.of_rows[row], whole);
      }
    }
    for (std::size_t first = 0; first < rows.cols; first += width) {
      const Range columns{first, std::min(first + width, rows.cols)};
      const std::uint32_t energy =
          micro_.measure_columns({rows.row(of_stripe.begin) + first, of_stripe.size(), columns.size(), rows.stride});
      DPREDUCE_ASSERT(energy != kNoEnergy);
      std::fill(known.of_columns.begin() + static_cast<std::ptrdiff_t>(stripe * groups + first / kEnergyColumns),
                known.of_columns.begin() +
                    static_cast<std::ptrdiff_t>(stripe * groups + (columns.end + kEnergyColumns - 1) / kEnergyColumns),
                energy);
    }
  });
  return known;
}

}  // namespace dpreduce
