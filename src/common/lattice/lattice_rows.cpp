#include "common/lattice/lattice_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "common/base/error.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/thread_team.hpp"
#include "common/kernels/vector_width.hpp"

namespace dpreduce {
namespace {

constexpr double kSquaredNorm = double{kLatticeNorm} * double{kLatticeNorm};
// Rows that lie apart are fetched so many rows ahead, in so many parts, between steps of computing: the processor waits
// where it is asked for more at once than it can remember. Where their pages are is looked up for so many rows at once:
// what waits most, and goes side by side.
constexpr std::size_t kRowsAhead = 2;
constexpr std::size_t kParts = 3;
constexpr std::size_t kPagesAhead = 32;
constexpr std::size_t kMostFeatures = std::size_t{1} << 22;  // d 2^30 < 2^53

constexpr std::size_t kLanes = 8;

// Integers from -2^15 to 2^15 - 1 as such.
template <std::size_t width>
inline void store_integers(const EightDoubles<width>& values, std::int16_t* q) {
  using FourIntegers [[gnu::vector_size(4 * sizeof(std::int32_t))]] = std::int32_t;
  using EightIntegers [[gnu::vector_size(8 * sizeof(std::int32_t))]] = std::int32_t;
  using EightEntries [[gnu::vector_size(8 * sizeof(std::int16_t))]] = std::int16_t;
  EightIntegers integers;
  if constexpr (width == 8) {
    integers = __builtin_convertvector(values.parts[0], EightIntegers);
  } else if constexpr (width == 4) {
    const FourIntegers low = __builtin_convertvector(values.parts[0], FourIntegers);
    const FourIntegers high = __builtin_convertvector(values.parts[1], FourIntegers);
    integers = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  } else {
    for (std::size_t lane = 0; lane < kLanes; ++lane) q[lane] = static_cast<std::int16_t>(values[lane]);
    return;
  }
  const EightEntries entries = __builtin_convertvector(integers, EightEntries);
  std::memcpy(q, &entries, sizeof(entries));
}

// q = round(u * factor), and sum_a q_a^2. The sum is exact: integers below d 2^30 < 2^53, in double.
template <std::size_t width>
double round_scaled(std::span<const double> u, double factor, std::span<std::int16_t> q) {
  constexpr double kMost{kLatticeNorm};
  EightDoubles<width> squares(0.0);
  const auto round = [&](const double* from, std::int16_t* to) {
    const EightDoubles<width> entries = (EightDoubles<width>(from) * factor).rounded().at_least(-kMost).at_most(kMost);
    squares += entries * entries;
    store_integers(entries, to);
  };
  std::size_t a = 0;
  for (; a + kLanes <= u.size(); a += kLanes) round(&u[a], &q[a]);
  if (a < u.size()) {
    std::array<double, kLanes> rest{};
    std::array<std::int16_t, kLanes> of_rest;
    std::copy(u.begin() + static_cast<std::ptrdiff_t>(a), u.end(), rest.begin());
    round(rest.data(), of_rest.data());
    std::copy_n(of_rest.begin(), u.size() - a, q.begin() + static_cast<std::ptrdiff_t>(a));
  }
  return squares.sum();
}

// quantize_row to the lattice of this scale, and the squared norm of what it writes.
std::pair<bool, std::uint32_t> quantized(std::span<const double> u, double scale, std::span<std::int16_t> q) {
  DPREDUCE_ASSERT(u.size() == q.size() && u.size() <= kMostFeatures);
  constexpr int kAttempts = 4;
  double factor = scale;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    double squared_norm = 0.0;
    run_at_full_width([&]<std::size_t width>(Doubles<width>) { squared_norm = round_scaled<width>(u, factor, q); });
    if (squared_norm <= kSquaredNorm) return {true, static_cast<std::uint32_t>(squared_norm)};
    factor *= 1.0 - 1.0 / 1024.0;
  }
  std::fill(q.begin(), q.end(), std::int16_t{0});
  return {false, 0};
}

// Rows that lie apart.
struct RowsApart {
  std::span<const StoredFloats> rows;
  std::size_t dim;

  std::span<const float> decoded(std::size_t first, std::size_t count, std::vector<float>& scratch) const {
    if (count == 1) return rows[first].decoded(0, dim, scratch);
    thread_local std::vector<float> one;
    scratch.resize(count * dim);
    for (std::size_t row = 0; row < count; ++row) {
      for (std::size_t part = 0; part < kParts; ++part) fetch(first + row, part);
      std::ranges::copy(rows[first + row].decoded(0, dim, one),
                        scratch.begin() + static_cast<std::ptrdiff_t>(row * dim));
    }
    return scratch;
  }
  void fetch(std::size_t row, std::size_t part) const {
    if (part == 0 && row % kPagesAhead == 0) fetch_pages(row + kPagesAhead);
    if (row + kRowsAhead < rows.size()) rows[row + kRowsAhead].prefetch(part, kParts);
  }
  void fetch_pages(std::size_t first) const {
    const std::size_t end = std::min(first + kPagesAhead, rows.size());
    for (std::size_t row = first; row < end; ++row) rows[row].prefetch_pages();
  }
};

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

double Lattice::scale() const {
  const double margin = std::ceil(std::sqrt(static_cast<double>(dim)) / 2.0);
  return (static_cast<double>(kLatticeNorm) - margin) / clip_norm;
}

bool quantize_row(std::span<const double> u, const Lattice& lattice, std::span<std::int16_t> q) {
  return quantized(u, lattice.scale(), q).first;
}

LatticeRows::LatticeRows(const Lattice& lattice, std::size_t capacity, std::size_t labels_per_row)
    : lattice_(lattice), capacity_(capacity), labels_per_row_(labels_per_row) {
  DPREDUCE_ASSERT(labels_per_row >= 1);
  if (lattice.dim > kMostFeatures) {
    throw UsageError("rows have too many features for the integer lattice; reduce them with --pool");
  }
  values_.resize(capacity * lattice.dim);
  labels_.reserve(capacity * labels_per_row);
  counts_.reserve(capacity);
  squared_norms_.reserve(capacity);
}

void LatticeRows::clear() {
  labels_.clear();
  counts_.clear();
  squared_norms_.clear();
  weights_.clear();
  units_.clear();
  parts_.reset();
  first_products_.clear();
  energies_ = {};
  first_bad_row_ = 0;
}

void LatticeRows::set_weights(std::vector<RowWeight> weights) {
  DPREDUCE_ASSERT(weights.size() == rows());
  weights_ = std::move(weights);
}

void LatticeRows::set_units(std::vector<std::uint32_t> units, std::shared_ptr<const UnitParts> parts) {
  DPREDUCE_ASSERT(units.size() == rows());
  for (const std::uint32_t unit : units) DPREDUCE_ASSERT(!parts || unit < parts->size());
  units_ = std::move(units);
  parts_ = std::move(parts);
}

std::size_t LatticeRows::end_of_unit(std::size_t first) const {
  DPREDUCE_ASSERT(first < units_.size());
  std::size_t end = first + 1;
  while (end < units_.size() && units_[end] == units_[first]) ++end;
  return end;
}

std::span<const std::int32_t> LatticeRows::products_of_unit(std::size_t first) const {
  if (first_products_.empty()) return {};
  return std::span(products_).subspan(first_products_[first], first_products_[first + 1] - first_products_[first]);
}

void LatticeRows::set_products(std::vector<std::int32_t> products, std::vector<std::size_t> firsts) {
  DPREDUCE_ASSERT(firsts.size() == rows() + 1 && firsts.back() == products.size());
  products_ = std::move(products);
  first_products_ = std::move(firsts);
}

void LatticeRows::measure_energies(unsigned threads) {
  energies_ = select_kernel().measure({values_.data(), rows(), dim(), dim()}, threads);
}

void LatticeRows::append(const LatticeRows& from, std::size_t index) {
  DPREDUCE_ASSERT(from.dim() == dim() && from.labels_per_row() == labels_per_row_ && rows() < capacity_ &&
                  index < from.rows());
  const std::span<const std::int16_t> row = from.row(index);
  std::copy(row.begin(), row.end(), values_.begin() + static_cast<std::ptrdiff_t>(rows() * dim()));
  const std::span<const std::int32_t> slots = slots_of(from.labels(), labels_per_row_, index);
  labels_.insert(labels_.end(), slots.begin(), slots.end());
  DPREDUCE_ASSERT(rows() == 0 || has_weights() == from.has_weights());
  DPREDUCE_ASSERT(rows() == 0 || has_units() == from.has_units());
  if (from.has_weights()) weights_.push_back(from.weight(index));
  DPREDUCE_ASSERT(rows() == 0 || parts_ == from.parts_);
  if (from.has_units()) units_.push_back(from.unit(index));
  parts_ = from.parts_;
  counts_.push_back(from.counts(index) ? 1 : 0);
  squared_norms_.push_back(from.squared_norm(index));
  first_products_.clear();
  energies_ = {};
  first_bad_row_ = rows();
}

// The processor foresees rows that are stored one behind the other.
constexpr auto kFetchNothing = [](std::size_t, std::size_t) {};

void LatticeRows::assign(const RowTransform& transform, const StoredFloats& features,
                         std::span<const std::int32_t> labels, unsigned threads) {
  const std::size_t dim = transform.input_dim();
  DPREDUCE_ASSERT(features.size() * labels_per_row_ == labels.size() * dim);
  const auto write = [&](std::size_t first, std::span<double> out, std::span<char> is_finite) {
    thread_local std::vector<float> scratch;
    transform(features.decoded(first * dim, is_finite.size() * dim, scratch), out, is_finite);
  };
  assign_stored(transform, write, kFetchNothing, transform.rows_at_once(), labels, threads);
}

void LatticeRows::assign(const RowTransform& transform, std::span<const StoredFloats> rows,
                         std::span<const std::int32_t> labels, unsigned threads) {
  const RowsApart apart{rows, transform.input_dim()};
  DPREDUCE_ASSERT(rows.size() * labels_per_row_ == labels.size());
  for (const StoredFloats& row : rows) DPREDUCE_ASSERT(row.size() == apart.dim);
  const auto write = [&](std::size_t first, std::span<double> out, std::span<char> is_finite) {
    thread_local std::vector<float> scratch;
    transform(apart.decoded(first, is_finite.size(), scratch), out, is_finite);
  };
  const auto fetch = [&](std::size_t row, std::size_t part) { apart.fetch(row, part); };
  const bool projects = !transform.preprocessing().projection.empty();
  assign_stored(transform, write, fetch, projects ? transform.rows_at_once() : 1, labels, threads);
}

void LatticeRows::assign_projected(const RowTransform& transform, const LatticeRows& rows, unsigned threads) {
  DPREDUCE_ASSERT(rows.labels_per_row_ == labels_per_row_ && rows.dim() == transform.preprocessing().pooled_dim());
  const auto write = [&](std::size_t first, std::span<double> out, std::span<char> is_finite) {
    const std::size_t count = is_finite.size();
    std::copy_n(rows.counts_.begin() + static_cast<std::ptrdiff_t>(first), count, is_finite.begin());
    transform.project({rows.values() + first * rows.dim(), count * rows.dim()}, is_finite, out);
  };
  assign_stored(transform, write, kFetchNothing, transform.rows_at_once(), rows.labels_, threads);
  weights_ = rows.weights_;
  units_ = rows.units_;
  parts_ = rows.parts_;
}

template <typename Write, typename Fetch>
void LatticeRows::assign_stored(const RowTransform& transform, const Write& write, const Fetch& fetch,
                                std::size_t block_rows, std::span<const std::int32_t> labels, unsigned threads) {
  const std::size_t rows = labels.size() / labels_per_row_;
  DPREDUCE_ASSERT(labels.size() == rows * labels_per_row_);
  DPREDUCE_ASSERT(rows <= capacity_ && transform.output_dim() == dim());
  clear();
  labels_.assign(labels.begin(), labels.end());
  counts_.assign(rows, 1);
  squared_norms_.assign(rows, 0);

  const std::size_t workers = std::max<std::size_t>(1, std::min<std::size_t>(threads, rows));
  std::vector<std::size_t> first_bad(workers, rows);
  const double scale = lattice_.scale();
  const bool has_targets = transform.preprocessing().targets.count > 0;
  const std::int32_t no_label = has_targets ? 0 : kNoLabel;
  const auto are_whole = [&](std::span<const std::int32_t> slots) {
    return has_targets ? are_finite_targets(slots) : surplus_classes(slots) == 0;
  };
  const auto convert = [&](std::size_t worker) {
    thread_local std::vector<double> transformed;  // kept from chunk to chunk, as its pages are
    if (transformed.size() < block_rows * dim()) transformed.resize(block_rows * dim());
    std::vector<char> is_finite(block_rows);
    const std::size_t last = rows * (worker + 1) / workers;
    for (std::size_t first = rows * worker / workers; first < last; first += block_rows) {
      const std::size_t count = std::min(block_rows, last - first);
      fetch(first, 0);
      write(first, std::span(transformed).first(count * dim()), std::span(is_finite).first(count));
      fetch(first, 1);
      for (std::size_t row = first; row < first + count; ++row) {
        const std::span<std::int16_t> q{values_.data() + row * dim(), dim()};
        const std::span<double> entries = std::span(transformed).subspan((row - first) * dim(), dim());
        const std::span<const std::int32_t> slots = slots_of(labels, labels_per_row_, row);
        transform.put_targets(slots, entries);
        squared_norms_[row] = quantized(entries, scale, q).second;
        if (is_finite[row - first] != 0 && are_whole(slots)) continue;
        std::fill(q.begin(), q.end(), std::int16_t{0});
        squared_norms_[row] = 0;
        std::fill_n(labels_.begin() + static_cast<std::ptrdiff_t>(row * labels_per_row_), labels_per_row_, no_label);
        counts_[row] = 0;
        first_bad[worker] = std::min(first_bad[worker], row);
      }
      fetch(first, 2);
    }
  };
  ThreadTeam(static_cast<unsigned>(workers)).for_each(workers, convert);
  first_bad_row_ = *std::min_element(first_bad.begin(), first_bad.end());
}

CosineClip cosine_clip(double d_min, double d_max) {
  if (!(d_min >= 0.0 && d_max <= 2.0)) {
    throw UsageError("--d-min {} and --d-max {}: 1 + cos is between 0 and 2; give bounds in that range", d_min, d_max);
  }
  const CosineClip clip{std::llround(d_min * kSquaredNorm), std::llround(d_max * kSquaredNorm)};
  if (!(d_min < d_max && clip.lower < clip.upper)) {
    throw UsageError("--d-min {} and --d-max {}: the lower bound must be below the upper", d_min, d_max);
  }
  return clip;
}

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
