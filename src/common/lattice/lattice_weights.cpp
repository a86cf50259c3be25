#include "common/lattice/lattice_weights.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "common/base/error.hpp"
#include "common/kernels/vector_width.hpp"

namespace dpreduce {
namespace {

constexpr double kLargestWeight = 1e100;  // scores stay finite

// max_a |u_a| by their bits without the sign, whose order is the same; a NaN is larger than any number.
template <std::size_t width>
[[gnu::always_inline]] inline std::int64_t largest_bits(std::span<const double> u) {
  using Bits [[gnu::vector_size(width * sizeof(std::int64_t))]] = std::int64_t;
  constexpr std::int64_t kWithoutSign = std::numeric_limits<std::int64_t>::max();
  constexpr std::size_t kTogether = 4;  // vectors: a comparison waits for the one before
  Bits most[kTogether]{};
  std::size_t a = 0;
  for (; a + kTogether * width <= u.size(); a += kTogether * width) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kTogether; ++v) {
      Bits bits;
      std::memcpy(&bits, &u[a + v * width], sizeof(bits));
      bits &= kWithoutSign;
      most[v] = bits > most[v] ? bits : most[v];
    }
  }
  std::array<std::int64_t, kTogether * width> lanes;
  static_assert(sizeof(most) == sizeof(lanes));
  std::memcpy(lanes.data(), most, sizeof(most));
  std::int64_t largest = *std::ranges::max_element(lanes);
  for (; a < u.size(); ++a) largest = std::max(largest, std::bit_cast<std::int64_t>(u[a]) & kWithoutSign);
  return largest;
}

double largest_of(std::span<const double> u) {
  std::int64_t bits = 0;
  run_at_full_width([&]<std::size_t width>(Doubles<width>) { bits = largest_bits<width>(u); });
  return std::bit_cast<double>(bits);
}

// q_a = u_a units rounded, halves away from 0 as std::lround does it; |u_a units| is a little over 2^15 at most.
void round_in_units(std::span<const double> u, double units, std::int16_t* q) {
  run_at_full_width([&](auto) {
    for (std::size_t a = 0; a < u.size(); ++a) {
      const double value = u[a] * units;
      const auto whole = static_cast<std::int32_t>(value);
      const double rest = value - whole;  // exact
      q[a] = static_cast<std::int16_t>(whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0));
    }
  });
}

double factor_of(double largest, const Lattice& lattice) {
  return largest == 0.0 ? 0.0 : 1.0 / (lattice.scale() * (static_cast<double>(kLatticeNorm) / largest));
}

}  // namespace

LatticeWeights::LatticeWeights(std::span<const double> weights, const Lattice& lattice) : dim_(lattice.dim) {
  if (dim_ == 0 || weights.size() % dim_ != 0)
    throw UsageError("weights must be K rows of as many entries as features");
  values_->resize(weights.size());
  for (std::size_t first = 0; first < weights.size(); first += dim_) {
    const auto row = weights.subspan(first, dim_);
    const double largest = largest_of(row);
    if (!(largest <= kLargestWeight)) throw UsageError("weights grow without bound: the steps are too long");
    const double units = static_cast<double>(kLatticeNorm) / largest;
    const bool has_units = largest > 0.0 && std::isfinite(units);
    if (has_units) round_in_units(row, units, &(*values_)[first]);
    largest_.push_back(has_units ? largest : 0.0);
    factors_.push_back(factor_of(largest_.back(), lattice));
  }
}

LatticeWeights LatticeWeights::on(const Lattice& lattice) const {
  DPREDUCE_ASSERT(values_->size() == largest_.size() * lattice.dim);
  const auto lesser = [](std::int16_t a, std::int16_t b) { return std::min(a, b); };
  if (std::accumulate(values_->begin(), values_->end(), std::int16_t{0}, lesser) < -kLatticeNorm ||
      !std::ranges::all_of(largest_, [](double entry) { return entry >= 0.0 && entry <= kLargestWeight; })) {
    throw AggregationAborted("the coordinator's weights are out of range");  // silos need not trust it
  }
  LatticeWeights weights = *this;
  weights.dim_ = lattice.dim;
  weights.factors_.clear();
  for (const double entry : largest_) weights.factors_.push_back(factor_of(entry, lattice));
  return weights;
}

std::vector<double> weights_of(std::span<const std::int16_t> values, std::span<const double> largest) {
  DPREDUCE_ASSERT(!largest.empty() && values.size() % largest.size() == 0);
  const std::size_t dim = values.size() / largest.size();
  std::vector<double> weights(values.size());
  for (std::size_t entry = 0; entry < values.size(); ++entry) {
    const double of_row = largest[entry / dim];
    const int value = values[entry];
    if (std::abs(value) == kLatticeNorm) {
      weights[entry] = value > 0 ? of_row : -of_row;
    } else {
      weights[entry] = value * (of_row / static_cast<double>(kLatticeNorm));
    }
  }
  return weights;
}

}  // namespace dpreduce
