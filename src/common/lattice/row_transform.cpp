#include "dpreduce/lattice/row_transform.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

// Running sums are kept in this many lanes, so that a loop's body is one vector operation on any processor.
constexpr std::size_t kLanes = 8;

// A sum of x * 0 is 0 for finite entries and NaN otherwise: one test a row.
bool is_finite(std::span<const float> row) {
  std::array<float, kLanes> sums{};
  std::size_t a = 0;
  for (; a + kLanes <= row.size(); a += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += row[a + lane] * 0.0F;
  }
  for (std::size_t lane = 0; a < row.size(); ++a, ++lane) sums[lane] += row[a] * 0.0F;
  return std::all_of(sums.begin(), sums.end(), [](float sum) { return sum == 0.0F; });
}

// v <- v * C / ||v|| (L2), or v * min(1, C / ||v||) (none).
void scale_to_clip_norm(std::span<double> v, Normalize normalize, double clip_norm) {
  const double norm = std::sqrt(squared_norm(v));
  if (norm == 0.0 || (normalize == Normalize::kNone && norm <= clip_norm)) return;
  const double factor = clip_norm / norm;
  for (double& entry : v) entry *= factor;
}

// sum_a u_a v_a in a fixed order: eight running sums, then pairwise.
double dot(std::span<const double> u, std::span<const double> v) {
  std::array<double, kLanes> sums{};
  std::size_t a = 0;
  for (; a + kLanes <= v.size(); a += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += u[a + lane] * v[a + lane];
  }
  for (std::size_t lane = 0; a < v.size(); ++a, ++lane) sums[lane] += u[a] * v[a];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

// w = P v
void project(std::span<const double> projection, std::span<const double> v, std::span<double> w) {
  for (std::size_t j = 0; j < w.size(); ++j) w[j] = dot(projection.subspan(j * v.size(), v.size()), v);
}

void check_projection(const Preprocessing& p) {
  const std::size_t dim = p.pooled_dim();
  if (p.projection.size() % dim != 0 || p.projected_dim() > dim) {
    throw UsageError(
        fmt::format("the projection has {} entries instead of up to {} rows of {}", p.projection.size(), dim, dim));
  }
  if (!std::all_of(p.projection.begin(), p.projection.end(), [](double entry) { return std::isfinite(entry); })) {
    throw UsageError("the projection has an entry that is not finite");
  }
}

void check_selected(const Preprocessing& p) {
  for (std::size_t place = 0; place < p.selected.size(); ++place) {
    const bool ascends = place == 0 || p.selected[place] > p.selected[place - 1];
    if (ascends && p.selected[place] < p.projected_dim()) continue;
    throw UsageError(
        fmt::format("selected feature {}: indices must ascend and be below {}", p.selected[place], p.projected_dim()));
  }
}

}  // namespace

std::string_view to_string(Normalize normalize) {
  return normalize == Normalize::kL2 ? "l2" : "none";
}

double squared_norm(std::span<const double> v) {
  return dot(v, v);
}

RowTransform::RowTransform(Preprocessing preprocessing) : preprocessing_(std::move(preprocessing)) {
  const Preprocessing& p = preprocessing_;
  if (p.input_dim == 0) throw UsageError("rows must have at least one feature");
  if (p.pool == 0 || p.pool > p.input_dim) {
    throw UsageError(fmt::format("--pool {}: must be from 1 to the number of features, {}", p.pool, p.input_dim));
  }
  if (!(p.clip_norm > 0.0) || !std::isfinite(p.clip_norm)) {
    throw UsageError(fmt::format("--clip {}: the clip norm must be a positive finite number", p.clip_norm));
  }
  if (!p.center.empty() && p.center.size() != p.pooled_dim()) {
    throw UsageError(fmt::format("the centre has {} entries, but rows have {}", p.center.size(), p.pooled_dim()));
  }
  if (!(p.intercept >= 0.0 && p.intercept < 1.0)) {
    throw UsageError(fmt::format("the intercept's share {} must lie in [0, 1)", p.intercept));
  }
  check_projection(p);
  check_selected(p);
}

// From a centred row v to what is kept of it.
void RowTransform::reduce(std::span<const double> v, std::span<double> out) const {
  const Preprocessing& p = preprocessing_;
  std::vector<double> projected;
  if (!p.projection.empty()) {
    projected.resize(p.projected_dim());
    project(p.projection, v, projected);
    scale_to_clip_norm(projected, p.normalize, p.clip_norm);
    v = projected;
  }
  if (p.selected.empty()) {
    std::copy(v.begin(), v.end(), out.begin());
    return;
  }
  for (std::size_t place = 0; place < out.size(); ++place) out[place] = v[p.selected[place]];
  scale_to_clip_norm(out, p.normalize, p.clip_norm);
}

bool RowTransform::operator()(std::span<const float> row, std::span<double> out) const {
  const Preprocessing& p = preprocessing_;
  DPREDUCE_ASSERT(row.size() == p.input_dim && out.size() == p.output_dim());

  if (!is_finite(row)) {
    std::fill(out.begin(), out.end(), 0.0);
    return false;
  }

  const std::span<double> kept = out.first(p.dim());
  const bool is_reduced = !p.projection.empty() || !p.selected.empty();
  std::vector<double> whole(is_reduced ? p.pooled_dim() : 0);
  const std::span<double> v = is_reduced ? std::span(whole) : kept;
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
  scale_to_clip_norm(v, p.normalize, p.clip_norm);
  if (!p.center.empty()) {
    for (std::size_t a = 0; a < v.size(); ++a) v[a] -= p.center[a];
    scale_to_clip_norm(v, p.normalize, p.clip_norm);
  }
  if (is_reduced) reduce(v, kept);
  if (p.intercept > 0.0) {
    for (double& entry : kept) entry *= std::sqrt(1.0 - p.intercept);
    out.back() = std::sqrt(p.intercept) * p.clip_norm;
  }
  return true;
}

}  // namespace dpreduce
