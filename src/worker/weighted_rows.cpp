#include "worker/weighted_rows.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/error.hpp"
#include "common/kernels/thread_team.hpp"
#include "common/kernels/vector_width.hpp"
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
