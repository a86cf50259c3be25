#include "common/lattice/row_transform.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "common/base/error.hpp"
#include "common/data/label_slots.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {
namespace {

void clip_to_unit_ball(std::span<double> v) {
  double squares = 0.0;
  for (const double entry : v) squares += entry * entry;
  if (squares <= 1.0) return;
  const double norm = std::sqrt(squares);
  for (double& entry : v) entry /= norm;
}

}  // namespace

void TargetColumns::scaled_numbers(std::span<const double> targets, std::span<double> out) const {
  DPREDUCE_ASSERT(targets.size() == count && out.size() == count && center.size() == count && scale.size() == count);
  // std::fmax turns a NaN into -1, where std::clamp would keep it: what a model predicts need be no number.
  for (std::size_t t = 0; t < count; ++t) out[t] = std::fmin(std::fmax((targets[t] - center[t]) / scale[t], -1.0), 1.0);
  clip_to_unit_ball(out);
}

void TargetColumns::scaled(std::span<const std::int32_t> row_slots, std::span<double> out) const {
  thread_local std::vector<double> targets;
  targets.resize(count);
  for (std::size_t t = 0; t < count; ++t) targets[t] = target_in(row_slots, t);
  scaled_numbers(targets, out);
}

FeatureColumns ranges_of(const char* option, std::span<const double> ranges, std::size_t count) {
  if (ranges.size() != 2 && ranges.size() != 2 * count) {
    throw UsageError("{}: {} numbers for {} column(s); give LO,HI for all, or a pair for each", option, ranges.size(),
                     count);
  }
  FeatureColumns columns;
  for (std::size_t column = 0; column < count; ++column) {
    const std::size_t place = ranges.size() == 2 ? 0 : 2 * column;
    const double low = ranges[place];
    const double high = ranges[place + 1];
    const double half = high / 2.0 - low / 2.0;
    if (!std::isfinite(low) || !std::isfinite(high) || !(half > 0.0)) {
      throw UsageError("{} {},{}: LO must be less than HI, and both finite", option, low, high);
    }
    columns.center.push_back(low / 2.0 + high / 2.0);
    columns.scale.push_back(half);
  }
  return columns;
}

TargetColumns target_columns(FeatureColumns ranges) {
  const double root = std::sqrt(static_cast<double>(ranges.center.size()));
  for (double& half : ranges.scale) half *= root;
  return {.count = ranges.center.size(), .center = std::move(ranges.center), .scale = std::move(ranges.scale)};
}

namespace {

constexpr std::size_t kNormLanes = 8;
constexpr std::size_t kRowsInCache = 16;
// Longer and shorter than any row of floats. Solvers multiply up to four such norms, which must stay within doubles:
// else they fail after the budget is charged.
constexpr double kSmallestClip = 1e-50;
constexpr double kLargestClip = 1e50;

// A sum of v_a * 0 is 0 for finite entries and NaN otherwise: one test a row. A mean of floats is finite where they
// are.
template <std::size_t width>
bool is_finite_row(std::span<const double> v) {
  EightDoubles<width> sums(0.0);
  double rest = 0.0;
  std::size_t a = 0;
  for (; a + kNormLanes <= v.size(); a += kNormLanes) sums += EightDoubles<width>(&v[a]) * 0.0;
  for (; a < v.size(); ++a) rest += v[a] * 0.0;
  return sums.sum() + rest == 0.0;
}

// v = the row, pooled, scaled and centered; zeros and false where it is not finite.
template <std::size_t width>
bool center(const Preprocessing& p, std::span<const float> row, std::span<double> v) {
  if (p.pool == 1) {
    std::copy(row.begin(), row.end(), v.begin());
  } else {
    for (std::size_t group = 0; group < v.size(); ++group) {
      const std::size_t first = group * p.pool;
      const std::size_t last = std::min(first + p.pool, row.size());
      double sum = 0.0;
      for (std::size_t a = first; a < last; ++a) sum += row[a];
      v[group] = sum / static_cast<double>(last - first);
    }
  }
  if (!is_finite_row<width>(v)) {
    std::fill(v.begin(), v.end(), 0.0);
    return false;
  }
  const FeatureColumns& columns = p.columns;
  for (std::size_t a = 0; a < columns.scale.size(); ++a) v[a] = columns.scaled(a, v[a]);
  scale_to_clip_norm(v, p.normalize, p.clip_norm);
  if (!p.center.empty()) {
    for (std::size_t a = 0; a < v.size(); ++a) v[a] = p.center_factor * (v[a] - p.center[a]);
    scale_to_clip_norm(v, p.normalize, p.clip_norm);
  }
  return true;
}

void require_intercept(double share) {
  if (share >= 0.0 && share < 1.0) return;
  throw UsageError("the intercept's share {} must lie in [0, 1)", share);
}

void require_projection(const Preprocessing& p) {
  const std::size_t dim = p.pooled_dim();
  if (p.projection.size() % dim != 0 || p.projected_dim() > dim) {
    throw UsageError("the projection has {} entries instead of up to {} rows of {}", p.projection.size(), dim, dim);
  }
  if (!std::all_of(p.projection.begin(), p.projection.end(), [](double entry) { return std::isfinite(entry); })) {
    throw UsageError("the projection has an entry that is not finite");
  }
}

void require_selected(const Preprocessing& p) {
  for (std::size_t place = 0; place < p.selected.size(); ++place) {
    const bool ascends = place == 0 || p.selected[place] > p.selected[place - 1];
    if (ascends && p.selected[place] < p.projected_dim()) continue;
    throw UsageError("selected feature {}: indices must ascend and be below {}", p.selected[place], p.projected_dim());
  }
}

// Returns whether these are ranges of `count` columns, or of none, where nothing is known of the columns.
bool are_ranges(std::span<const double> center, std::span<const double> scale, std::size_t count) {
  return center.size() == scale.size() && (center.empty() || center.size() == count) &&
         std::ranges::all_of(center, [](double value) { return std::isfinite(value); }) &&
         std::ranges::all_of(scale, [](double value) { return value > 0.0 && std::isfinite(value); });
}

void require_columns(const Preprocessing& p) {
  const bool are_pooled = !p.columns.scale.empty() && p.pool > 1;
  if (are_ranges(p.columns.center, p.columns.scale, p.input_dim) && !are_pooled) return;
  throw UsageError("{} columns: each needs a finite center and a positive scale, and none may be pooled", p.input_dim);
}

void require_targets(const TargetColumns& targets) {
  const bool are_known = !targets.center.empty() || targets.share == 0.0;
  if (are_known && are_ranges(targets.center, targets.scale, targets.count) && targets.share >= 0.0 &&
      targets.share < 1.0) {
    return;
  }
  throw UsageError("{} targets: each needs a finite center and a positive scale", targets.count);
}

// Memory that lives as long as its thread: given back after every block of rows, its pages would cost as much as the
// rows' rounding.
template <typename T>
std::span<T> room(std::vector<T>& memory, std::size_t size) {
  if (memory.size() < size) memory.resize(size);
  return std::span(memory).first(size);
}

}  // namespace

Preprocessing with_projection(Preprocessing preprocessing, std::vector<double> matrix) {
  const std::size_t dim = preprocessing.dim();
  const std::size_t rows = matrix.size() / dim;
  DPREDUCE_ASSERT(preprocessing.intercept == 0.0 && matrix.size() == rows * dim);
  if (!preprocessing.selected.empty()) {
    const std::size_t whole = preprocessing.projected_dim();
    std::vector<double> spread(rows * whole, 0.0);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t place = 0; place < dim; ++place) {
        spread[row * whole + preprocessing.selected[place]] = matrix[row * dim + place];
      }
    }
    matrix = std::move(spread);
    preprocessing.selected.clear();
  }
  if (!preprocessing.projection.empty()) {
    const std::size_t inner = preprocessing.projected_dim();
    const std::size_t pooled = preprocessing.pooled_dim();
    std::vector<double> product(rows * pooled, 0.0);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t k = 0; k < inner; ++k) {
        const double factor = matrix[row * inner + k];
        for (std::size_t a = 0; a < pooled; ++a) {
          product[row * pooled + a] += factor * preprocessing.projection[k * pooled + a];
        }
      }
    }
    matrix = std::move(product);
  }
  preprocessing.projection = std::move(matrix);
  return preprocessing;
}

bool is_projection_of(const Preprocessing& projected, const Preprocessing& rows) {
  return !projected.projection.empty() && rows.projection.empty() && rows.selected.empty() && rows.intercept == 0.0 &&
         projected.input_dim == rows.input_dim && projected.pool == rows.pool &&
         projected.normalize == rows.normalize && projected.clip_norm == rows.clip_norm &&
         projected.columns == rows.columns && projected.center == rows.center &&
         projected.center_factor == rows.center_factor;
}

double center_factor_of(std::span<const double> center, Normalize normalize, double clip_norm) {
  if (normalize == Normalize::kL2) return 1.0;
  const double left = 1.0 - squared_norm(center) / (clip_norm * clip_norm);
  constexpr double kLeastLeft = 1.0 / (kLargestCenterFactor * kLargestCenterFactor);
  return 1.0 / std::sqrt(std::clamp(left, kLeastLeft, 1.0));
}

double squared_norm(std::span<const double> v) {
  double squared = 0.0;
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    EightDoubles<width> sums(0.0);
    const auto add = [&](const EightDoubles<width>& entries) { sums += entries * entries; };
    std::size_t a = 0;
    for (; a + kNormLanes <= v.size(); a += kNormLanes) add(EightDoubles<width>(&v[a]));
    if (a < v.size()) {
      std::array<double, kNormLanes> rest{};
      std::copy(v.begin() + static_cast<std::ptrdiff_t>(a), v.end(), rest.begin());
      add(EightDoubles<width>(rest.data()));
    }
    squared = sums.sum();
  });
  return squared;
}

RowTransform::RowTransform(Preprocessing preprocessing) : preprocessing_(std::move(preprocessing)) {
  const Preprocessing& p = preprocessing_;
  if (p.input_dim == 0) throw UsageError("rows must have at least one feature");
  if (p.pool == 0 || p.pool > p.input_dim) {
    throw UsageError("--pool {}: must be from 1 to the number of features, {}", p.pool, p.input_dim);
  }
  if (!(p.clip_norm >= kSmallestClip && p.clip_norm <= kLargestClip)) {
    throw UsageError("--clip {}: the clip norm must be from {:g} to {:g}", p.clip_norm, kSmallestClip, kLargestClip);
  }
  if (!p.center.empty() && p.center.size() != p.pooled_dim()) {
    throw UsageError("the center has {} entries, but rows have {}", p.center.size(), p.pooled_dim());
  }
  const auto bad = std::ranges::find_if(p.center, [](double entry) { return !std::isfinite(entry); });
  if (bad != p.center.end()) {
    throw UsageError("the center has {} at entry {}", *bad, bad - p.center.begin());
  }
  if (!(p.center_factor >= 1.0 && p.center_factor <= kLargestCenterFactor)) {
    throw UsageError("the factor of centered rows is {}, not from 1 to {}", p.center_factor, kLargestCenterFactor);
  }
  require_intercept(p.intercept);
  require_projection(p);
  require_selected(p);
  require_columns(p);
  require_targets(p.targets);
  if (!p.projection.empty()) {
    projection_ = std::make_shared<const LatticeWeights>(p.projection, Lattice{p.clip_norm, p.pooled_dim()});
    packed_ = select_kernel().row_factors(projection_->view());
  }
}

void RowTransform::set_intercept(double share) {
  require_intercept(share);
  preprocessing_.intercept = share;
}

void RowTransform::set_targets(TargetColumns targets) {
  require_targets(targets);
  preprocessing_.targets = std::move(targets);
}

void RowTransform::put_targets(std::span<const std::int32_t> row_slots, std::span<double> row) const {
  const TargetColumns& targets = preprocessing_.targets;
  if (targets.share == 0.0) return;
  const std::span<double> entries = row.subspan(preprocessing_.scored_dim(), targets.count);
  targets.scaled(row_slots, entries);
  const double factor = std::sqrt(targets.share) * preprocessing_.clip_norm;
  for (double& entry : entries) entry *= factor;
}

std::size_t RowTransform::rows_at_once() const {
  return packed_ ? packed_->block_rows() : kRowsInCache;
}

// Writes the entries of w that are kept, and the intercept; zeros if the row is not finite.
void RowTransform::finish(std::span<const double> w, bool is_finite, std::span<double> out) const {
  if (!is_finite) {
    std::fill(out.begin(), out.end(), 0.0);
    return;
  }
  const Preprocessing& p = preprocessing_;
  const std::span<double> kept = out.first(p.dim());
  if (p.selected.empty()) {
    if (kept.data() != w.data()) std::copy(w.begin(), w.end(), kept.begin());
  } else {
    for (std::size_t place = 0; place < kept.size(); ++place) kept[place] = w[p.selected[place]];
    scale_to_clip_norm(kept, p.normalize, p.clip_norm);
  }
  if (p.intercept > 0.0) {
    const double factor = std::sqrt(1.0 - p.intercept);
    run_at_full_width([&](auto) {
      for (double& entry : kept) entry *= factor;
    });
    out[p.dim()] = std::sqrt(p.intercept) * p.clip_norm;
  }
  if (p.targets.share > 0.0) {
    const double factor = std::sqrt(1.0 - p.targets.share);
    for (double& entry : out.first(p.scored_dim())) entry *= factor;
  }
}

// Place where a row becomes w: in its place, unless only some of w is kept.
std::span<double> RowTransform::place_of_w(std::span<double> out) const {
  thread_local std::vector<double> of_row;
  const std::size_t width = preprocessing_.projected_dim();
  return preprocessing_.selected.empty() ? out.first(width) : room(of_row, width);
}

void RowTransform::project(std::span<const std::int16_t> q, std::span<const char> is_finite,
                           std::span<double> out) const {
  const Preprocessing& p = preprocessing_;
  const std::size_t count = is_finite.size();
  const std::size_t dim = p.pooled_dim();
  DPREDUCE_ASSERT(projection_ && q.size() == count * dim && out.size() == count * p.output_dim());
  const std::size_t width = projection_->classes();
  const std::span<const double> factors = projection_->factors();
  thread_local std::vector<std::int64_t> memory;
  const std::span<std::int64_t> products = room(memory, count * width);
  std::fill(products.begin(), products.end(), 0);
  packed_->accumulate({q.data(), count, dim, dim}, {products.data(), count, width, width});
  for (std::size_t row = 0; row < count; ++row) {
    const std::span<double> transformed = out.subspan(row * p.output_dim(), p.output_dim());
    const std::span<double> w = place_of_w(transformed);
    const std::span<const std::int64_t> of_row = products.subspan(row * width, width);
    run_at_full_width([&](auto) {
      for (std::size_t j = 0; j < width; ++j) w[j] = static_cast<double>(of_row[j]) * factors[j];
      scale_to_clip_norm(w, p.normalize, p.clip_norm);
    });
    finish(w, is_finite[row] != 0, transformed);
  }
}

void RowTransform::operator()(std::span<const float> rows, std::span<double> out, std::span<char> is_finite) const {
  const Preprocessing& p = preprocessing_;
  const std::size_t count = is_finite.size();
  DPREDUCE_ASSERT(rows.size() == count * p.input_dim && out.size() == count * p.output_dim());
  const std::size_t dim = p.pooled_dim();
  thread_local std::vector<std::int16_t> of_lattice;
  thread_local std::vector<double> centered;
  const std::span<std::int16_t> q = room(of_lattice, projection_ ? count * dim : 0);
  for (std::size_t row = 0; row < count; ++row) {
    const std::span<double> transformed = out.subspan(row * p.output_dim(), p.output_dim());
    const std::span<double> v = projection_ ? room(centered, dim) : place_of_w(transformed);
    run_at_full_width([&]<std::size_t width>(Doubles<width>) {
      is_finite[row] = center<width>(p, rows.subspan(row * p.input_dim, p.input_dim), v) ? 1 : 0;
    });
    if (projection_) {
      quantize_row(v, Lattice{p.clip_norm, dim}, q.subspan(row * dim, dim));
    } else {
      finish(v, is_finite[row] != 0, transformed);
    }
  }
  if (projection_) project(q, is_finite, out);
}

bool RowTransform::operator()(std::span<const float> row, std::span<double> out) const {
  char is_finite = 0;
  (*this)(row, out, std::span(&is_finite, 1));
  return is_finite != 0;
}

}  // namespace dpreduce
