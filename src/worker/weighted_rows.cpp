#include "worker/weighted_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/error.hpp"
#include "common/kernels/thread_team.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/unit_norms.hpp"

namespace dpreduce {
namespace {

// For the roundings of a factor, of its root and of its product, all of them in float.
constexpr float kBelowFactor = 1.0F - 0x1p-20F;

float factor_of(RowWeight weight, WeightPower power) {
  const double share = static_cast<double>(weight) / static_cast<double>(kWholeRow);
  return static_cast<float>(power == WeightPower::kHalf ? std::sqrt(share) : share);
}

// floor(s S^2) or floor(s^2 S^2).
std::uint64_t most_squared(RowWeight weight, WeightPower power) {
  const WideSquare most = WideSquare{kSquaredNorm} * weight;
  if (power == WeightPower::kHalf) return static_cast<std::uint64_t>(most >> kWeightBits);
  return static_cast<std::uint64_t>((most * weight) >> (2 * kWeightBits));
}

// out_a = entry_of(q_a) for every a, |out_a| <= |q_a|; returns the squared norm, which 32 bits hold for ||q|| <= S.
template <typename EntryOf>
std::uint32_t make_row(std::span<const std::int16_t> q, std::span<std::int16_t> out, const EntryOf& entry_of) {
  std::uint32_t squared = 0;
  run_at_full_width([&](auto) {
    std::uint32_t sum = 0;
    for (std::size_t a = 0; a < q.size(); ++a) {
      const std::int32_t entry = entry_of(q[a]);
      out[a] = static_cast<std::int16_t>(entry);
      sum += static_cast<std::uint32_t>(entry * entry);
    }
    squared = sum;
  });
  return squared;
}

// out = round(factor q), 0 <= factor <= 1. Adding and subtracting 1.5 * 2^23 rounds to an integer, ties to even: the
// same bits with and without vector instructions.
std::uint32_t round_row(std::span<const std::int16_t> q, float factor, std::span<std::int16_t> out) {
  constexpr float kToInteger = 12582912.0F;
  return make_row(q, out, [=](std::int16_t entry) {
    return static_cast<std::int32_t>((static_cast<float>(entry) * factor + kToInteger) - kToInteger);
  });
}

// The same, toward zero.
std::uint32_t truncate_row(std::span<const std::int16_t> q, float factor, std::span<std::int16_t> out) {
  return make_row(q, out,
                  [=](std::int16_t entry) { return static_cast<std::int32_t>(static_cast<float>(entry) * factor); });
}

bool all_whole(std::span<const RowWeight> weights) {
  return std::ranges::all_of(weights, [](RowWeight weight) { return weight == kWholeRow; });
}

// A weight is lowered by what its norm is over, and by 2^-22 of itself at least; then by four times as much each time,
// since roundings of rows that are alike add up.
constexpr unsigned kFirstLowering = 22;
// Roundings make most sums a little longer than their real ones: so much less is within the bound at once.
constexpr double kBelowReal = 1.0 - 0x1p-14;

// n^2 F^2.
WideSquare squared_of_rows(std::uint64_t rows, std::uint64_t squared_row) {
  return WideSquare{rows} * rows * squared_row;
}

// B p, in rows, p = count / of: the most that a unit's rows here may add together.
class UnitShare {
 public:
  UnitShare(std::uint64_t rows_per_unit, UnitPart part) : rows_(rows_per_unit * part.count), of_(part.of) {}

  // Returns whether B p >= length / unit.
  bool holds(std::uint64_t length, std::uint64_t unit = 1) const {
    return WideSquare{length} * of_ <= WideSquare{rows_} * unit;
  }
  // floor((B count F)^2 / of^2): N^2 is an integer, so that of^2 N^2 <= (B count F)^2 where N^2 is at most this. Below
  // 2^124 before it is divided, as B and count are at most 2^16, and F^2 is below 2^60.
  WideSquare most_squared(std::uint64_t squared_row) const {
    return squared_of_rows(rows_, squared_row) / (WideSquare{of_} * of_);
  }

 private:
  std::uint64_t rows_;
  std::uint64_t of_;
};

// The first weight, from J downward, whose squared_at(w) is at most `most`. squared_at(0) is 0.
template <typename SquaredAt>
RowWeight clipped_weight(WideSquare most, const SquaredAt& squared_at) {
  RowWeight weight = kWholeRow;
  WideSquare squared = squared_at(weight);
  for (unsigned lowered = 0; squared > most; lowered += 2) {
    const double over = std::sqrt(static_cast<double>(most) / static_cast<double>(squared));
    const auto within = static_cast<RowWeight>(static_cast<double>(weight) * over * kBelowReal);
    const RowWeight step = weight >> (kFirstLowering - std::min(lowered, kFirstLowering - 1));
    weight = std::min(within, weight - std::max(step, RowWeight{1}));
    squared = squared_at(weight);
  }
  return weight;
}

using RowGroup = std::span<const std::size_t>;

// A unit's rows, counted from their first one, in groups that are summed together: all of them, or those of each class.
// The groups last until this thread's next call.
std::span<const RowGroup> groups_of(const LatticeRows& chunk, std::size_t first, std::size_t count, bool by_class) {
  constexpr unsigned kRowBits = 32;
  thread_local std::vector<std::size_t> members;
  thread_local std::vector<RowGroup> groups;
  members.clear();
  for (std::size_t row = 0; row < count; ++row) {
    if (!by_class) {
      members.push_back(row);
      continue;
    }
    for (const std::int32_t label : chunk.classes_of(first + row)) {
      members.push_back(static_cast<std::size_t>(label) << kRowBits | row);
    }
  }
  std::sort(members.begin(), members.end());
  groups.clear();
  for (auto begin = members.begin(); begin != members.end();) {
    const std::size_t label = *begin >> kRowBits;
    const auto end = std::find_if(begin, members.end(), [&](std::size_t row) { return row >> kRowBits != label; });
    groups.emplace_back(begin, end);
    begin = end;
  }
  for (std::size_t& member : members) member &= (std::size_t{1} << kRowBits) - 1;
  return groups;
}

// The weight of the unit whose rows are [first, end) of the chunk, which `scaled` gets as far as they are not whole.
RowWeight weight_of_unit(const LatticeRows& chunk, std::size_t first, std::size_t end, UnitSum sum,
                         std::uint64_t rows_per_unit, std::span<std::int16_t> scaled) {
  const std::size_t count = end - first;
  const UnitShare share(rows_per_unit, chunk.part_of_unit(first));
  if (share.holds(count)) return kWholeRow;
  const std::size_t dim = chunk.dim();
  const std::span<const RowGroup> groups = groups_of(chunk, first, count, sum != UnitSum::kGram);
  const std::uint64_t one_class = sum == UnitSum::kClassSums ? kSquaredNorm : kFourthNorm;
  const WideSquare most =
      share.most_squared(one_class) * (sum == UnitSum::kGram ? 1 : static_cast<std::uint64_t>(chunk.labels_per_row()));
  WideSquare of_equal_rows = 0;  // N^2, were all rows of a group alike and as long as may be
  for (const RowGroup& group : groups) of_equal_rows += squared_of_rows(group.size(), one_class);
  if (of_equal_rows <= most) return kWholeRow;

  const WeightPower power = sum == UnitSum::kClassSums ? WeightPower::kWhole : WeightPower::kHalf;
  const std::span whole(chunk.values() + first * dim, count * dim);
  thread_local std::vector<std::uint32_t> squared_norms;
  squared_norms.resize(count);
  for (std::size_t row = 0; row < count; ++row) squared_norms[row] = chunk.squared_norm(first + row);
  return clipped_weight(most, [&](RowWeight weight) {
    if (weight != kWholeRow) weigh_rows(whole, dim, weight, power, scaled, squared_norms);
    const UnitRows rows{weight == kWholeRow ? whole.data() : scaled.data(), count, dim, squared_norms};
    WideSquare squared = 0;
    for (const RowGroup& group : groups) {
      squared += sum == UnitSum::kClassSums ? squared_sum(rows, group) : squared_gram(rows, group);
    }
    return squared;
  });
}

}  // namespace

void weigh_row(std::span<const std::int16_t> q, RowWeight weight, WeightPower power, std::span<std::int16_t> out) {
  DPREDUCE_ASSERT(q.size() == out.size() && weight <= kWholeRow);
  if (weight == kWholeRow) {
    if (q.data() != out.data()) std::copy(q.begin(), q.end(), out.begin());
    return;
  }
  // Copies a row that is written over but needed once more: `out` may be `q`.
  thread_local std::vector<std::int16_t> copy;
  if (q.data() == out.data()) {
    copy.assign(q.begin(), q.end());
    q = copy;
  }
  std::uint32_t squared_norm = 0;
  weigh_rows(q, q.size(), weight, power, out, std::span(&squared_norm, 1));
}

void weigh_rows(std::span<const std::int16_t> rows, std::size_t dim, RowWeight weight, WeightPower power,
                std::span<std::int16_t> out, std::span<std::uint32_t> squared_norms) {
  DPREDUCE_ASSERT(weight < kWholeRow && rows.size() == out.size() && rows.size() == squared_norms.size() * dim);
  const float factor = factor_of(weight, power);
  const std::uint64_t most = most_squared(weight, power);
  for (std::size_t row = 0; row < squared_norms.size(); ++row) {
    const std::span<const std::int16_t> q = rows.subspan(row * dim, dim);
    const std::span<std::int16_t> weighed = out.subspan(row * dim, dim);
    std::uint32_t squared = round_row(q, factor, weighed);
    if (squared > most) squared = truncate_row(q, factor * kBelowFactor, weighed);
    if (squared > most) {
      std::fill(weighed.begin(), weighed.end(), std::int16_t{0});
      squared = 0;
    }
    squared_norms[row] = squared;
  }
}

void shrink_row(std::span<std::int16_t> q, RowWeight weight) {
  DPREDUCE_ASSERT(weight <= kWholeRow);
  if (weight != kWholeRow) truncate_row(q, factor_of(weight, WeightPower::kHalf) * kBelowFactor, q);
}

std::int64_t count_of_row(const LatticeRows& chunk, std::size_t row, unsigned fraction_bits) {
  DPREDUCE_ASSERT(fraction_bits == (chunk.has_weights() ? kWeightBits : 0));
  return fraction_bits == 0 ? 1 : std::int64_t{chunk.weight(row)};
}

void accumulate_counts(const LatticeRows& chunk, unsigned fraction_bits, std::span<std::int64_t> counts) {
  for (std::size_t row = 0; row < chunk.rows(); ++row) {
    for (const std::int32_t label : chunk.classes_of(row)) {
      counts[static_cast<std::size_t>(label)] += count_of_row(chunk, row, fraction_bits);
    }
  }
}

std::vector<RowWeight> clipped_weights(const LatticeRows& chunk, UnitSum sum, std::uint64_t rows_per_unit,
                                       unsigned threads, std::span<std::int16_t> scaled) {
  DPREDUCE_ASSERT(rows_per_unit >= 1 && (chunk.rows() == 0 || chunk.has_units()));
  DPREDUCE_ASSERT(scaled.empty() || scaled.size() == chunk.rows() * chunk.dim());
  std::vector<std::size_t> firsts;
  for (std::size_t first = 0; first < chunk.rows(); first = chunk.end_of_unit(first)) firsts.push_back(first);
  std::vector<RowWeight> weights(chunk.rows(), kWholeRow);
  ThreadTeam team(static_cast<unsigned>(std::clamp<std::size_t>(firsts.size(), 1, threads)));
  team.for_each(firsts.size(), [&](std::size_t unit) {
    const std::size_t first = firsts[unit];
    const std::size_t end = unit + 1 < firsts.size() ? firsts[unit + 1] : chunk.rows();
    const std::size_t entries = (end - first) * chunk.dim();
    thread_local SecretVector<std::int16_t> own;
    if (scaled.empty()) own.resize(entries);
    const RowWeight weight =
        weight_of_unit(chunk, first, end, sum, rows_per_unit,
                       scaled.empty() ? std::span(own) : scaled.subspan(first * chunk.dim(), entries));
    std::fill_n(&weights[first], end - first, weight);
  });
  return weights;
}

void remember_products(LatticeRows& chunk, unsigned threads) {
  std::vector<std::size_t> units;  // first rows
  std::vector<std::size_t> firsts(chunk.rows() + 1, 0);
  std::size_t entries = 0;
  for (std::size_t first = 0; first < chunk.rows(); first = chunk.end_of_unit(first)) {
    const std::size_t count = chunk.end_of_unit(first) - first;
    if (count > 1 && count <= kMostRemembered) {
      units.push_back(first);
      entries += products_of_rows(count);
    }
    std::fill_n(&firsts[first + 1], count, entries);
  }
  std::vector<std::int32_t> products(entries);
  ThreadTeam team(static_cast<unsigned>(std::clamp<std::size_t>(units.size(), 1, threads)));
  team.for_each(units.size(), [&](std::size_t place) {
    const std::size_t first = units[place];
    make_products({chunk.values() + first * chunk.dim(), chunk.end_of_unit(first) - first, chunk.dim(), {}},
                  std::span(products).subspan(firsts[first], firsts[first + 1] - firsts[first]));
  });
  chunk.set_products(std::move(products), std::move(firsts));
}

void clip_residuals(const LatticeRows& chunk, std::size_t first, std::span<std::int16_t> residuals, std::size_t classes,
                    std::uint64_t rows_per_unit) {
  DPREDUCE_ASSERT(classes >= 1 && !residuals.empty() && residuals.size() % classes == 0);
  const std::size_t count = residuals.size() / classes;
  const std::size_t dim = chunk.dim();
  DPREDUCE_ASSERT(first + count <= chunk.rows());
  const UnitShare share(rows_per_unit, chunk.part_of_unit(first));
  if (share.holds(count)) return;
  // N <= sum_i |r_i| |q_i| <= S sum_i |r_i|: most units' residuals are short.
  std::uint64_t lengths = 0;
  for (std::size_t row = 0; row < count; ++row) {
    std::uint64_t squared = 0;
    for (const std::int16_t entry : residuals.subspan(row * classes, classes)) {
      squared += static_cast<std::uint64_t>(std::int32_t{entry} * std::int32_t{entry});
    }
    DPREDUCE_ASSERT(squared <= kSquaredNorm);
    lengths += static_cast<std::uint64_t>(std::sqrt(static_cast<double>(squared))) + 1;  // at least |r|
  }
  if (share.holds(lengths, static_cast<std::uint64_t>(kLatticeNorm))) return;

  thread_local SquaredGradient squared;
  squared.assign({chunk.values() + first * dim, count, dim, {}}, chunk.products_of_unit(first), classes);
  thread_local SecretVector<std::int16_t> scaled;
  scaled.resize(residuals.size());
  thread_local std::vector<std::uint32_t> squared_norms;
  squared_norms.resize(count);
  const RowWeight found = clipped_weight(share.most_squared(kFourthNorm), [&](RowWeight weight) {
    if (weight == kWholeRow) return squared.of(residuals);
    weigh_rows(residuals, classes, weight, WeightPower::kWhole, scaled, squared_norms);
    return squared.of(scaled);
  });
  if (found != kWholeRow) std::copy(scaled.begin(), scaled.end(), residuals.begin());  // those that were tried last
}

WeightedRows::WeightedRows(UnitSum sum, const ReleaseRequest& request)
    : power_(sum == UnitSum::kClassSums ? WeightPower::kWhole : WeightPower::kHalf),
      rows_per_unit_(request.rows_per_unit) {
  if (request.clips_units) clipped_ = sum;
}

Int16View WeightedRows::of(const LatticeRows& chunk, unsigned threads) {
  if (!clipped_) return of(chunk, chunk.weights(), threads);
  const std::span<std::int16_t> scaled = room_for(chunk);
  const std::vector<RowWeight> weights = clipped_weights(chunk, *clipped_, rows_per_unit_, threads, scaled);
  if (all_whole(weights)) return view_of(chunk);
  const std::size_t dim = chunk.dim();
  for (std::size_t row = 0; row < chunk.rows(); ++row) {
    if (weights[row] == kWholeRow) std::ranges::copy(chunk.row(row), scaled.subspan(row * dim, dim).begin());
  }
  return {scaled.data(), chunk.rows(), dim, dim};
}

Int16View WeightedRows::of(const LatticeRows& chunk, std::span<const RowWeight> weights, unsigned threads) {
  const std::size_t rows = chunk.rows();
  const std::size_t dim = chunk.dim();
  DPREDUCE_ASSERT(weights.empty() || weights.size() == rows);
  if (all_whole(weights)) return view_of(chunk);
  const std::span<std::int16_t> weighed = room_for(chunk);
  const std::size_t workers = std::max<std::size_t>(1, std::min<std::size_t>(threads, rows));
  ThreadTeam(static_cast<unsigned>(workers)).for_each(workers, [&](std::size_t worker) {
    for (std::size_t row = rows * worker / workers; row < rows * (worker + 1) / workers; ++row) {
      weigh_row(chunk.row(row), weights[row], power_, weighed.subspan(row * dim, dim));
    }
  });
  return {weighed.data(), rows, dim, dim};
}

// n x d entries.
std::span<std::int16_t> WeightedRows::room_for(const LatticeRows& chunk) {
  const std::size_t entries = chunk.rows() * chunk.dim();
  if (rows_.size() < entries) rows_.resize(entries);
  return std::span(rows_).first(entries);
}

}  // namespace dpreduce
