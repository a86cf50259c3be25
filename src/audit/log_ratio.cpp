#include "audit/log_ratio.hpp"

#include <cmath>

#include "common/base/error.hpp"
#include "common/plan/triangle.hpp"

namespace dpreduce {
namespace {

// Exact: integers wrap around as the reduction's do.
double difference(std::int64_t a, std::int64_t b) {
  return static_cast<double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)));
}

// 2^-fraction_bits of a statistic's block: what is released of it, and its noise, are in units of 1.
double unit_of(const PlannedBlock& block) {
  return std::ldexp(1.0, -static_cast<int>(block.fraction_bits));
}

bool prepare_alike(const Preprocessing& a, const Preprocessing& b) {
  return a.input_dim == b.input_dim && a.pool == b.pool && a.normalize == b.normalize && a.clip_norm == b.clip_norm &&
         a.center == b.center && a.center_factor == b.center_factor && a.intercept == b.intercept &&
         a.columns == b.columns && a.targets == b.targets && a.projection == b.projection && a.selected == b.selected;
}

}  // namespace

std::vector<double> precisions(const PlannedBlock& block) {
  const double on_diagonal = 1.0 / (block.sigma * block.sigma);
  if (block.noise == BlockNoise::kEqual) return std::vector<double>(block.elements, on_diagonal);
  std::vector<double> result(block.elements, 2.0 * on_diagonal);
  const std::uint64_t triangle = block.elements / block.triangles;
  const std::uint64_t order = triangle_order(triangle).value();
  for (std::uint64_t first = 0; first < block.elements; first += triangle) {
    for (std::uint64_t i = 0; i < order; ++i) result[first + triangle_row(i, order)] = on_diagonal;
  }
  return result;
}

double log_ratio(const PlannedRelease& planned, const Release& release, const Statistic& world_0,
                 const Statistic& world_1) {
  double ratio = 0.0;
  for (const PlannedBlock& block : planned.blocks) {
    const std::vector<double> precision = precisions(block);
    const auto released = release.block(block.name).values();
    const auto exact_0 = world_0.block(world_0.index_of(block.name));
    const auto exact_1 = world_1.block(world_1.index_of(block.name));
    DPREDUCE_ASSERT(released.size() == precision.size() && exact_0.size() == precision.size() &&
                    exact_1.size() == precision.size());
    const double unit = unit_of(block);
    for (std::size_t e = 0; e < precision.size(); ++e) {
      const double shift = unit * difference(exact_1[e], exact_0[e]);
      if (shift == 0.0) continue;
      const double noise = block.fraction_bits == 0
                               ? difference(released[e], exact_0[e])
                               : static_cast<double>(released[e]) - unit * static_cast<double>(exact_0[e]);
      ratio += shift * (noise - shift / 2) * precision[e];
    }
  }
  return ratio;
}

double planned_distance(const PlannedRelease& planned, const Statistic& world_0, const Statistic& world_1) {
  double squared = 0.0;
  for (const PlannedBlock& block : planned.blocks) {
    const std::vector<double> precision = precisions(block);
    const auto exact_0 = world_0.block(world_0.index_of(block.name));
    const auto exact_1 = world_1.block(world_1.index_of(block.name));
    const double unit = unit_of(block);
    for (std::size_t e = 0; e < precision.size(); ++e) {
      const double shift = unit * difference(exact_1[e], exact_0[e]);
      squared += shift * shift * precision[e];
    }
  }
  return std::sqrt(squared);
}

Statistic ExactStatistics::at(const WatchedRelease& release) {
  if (!std::holds_alternative<GradientPoint>(release.point)) {
    return method_.statistic(release.name, rows_, release.preprocessing, release.point);
  }
  if (!prepared_ || !prepare_alike(*prepared_, release.preprocessing)) {
    kept_ = method_.kept_rows(rows_, release.preprocessing);
    prepared_ = release.preprocessing;
  }
  return method_.statistic(release.name, rows_, release.preprocessing, release.point,
                           kept_ ? std::span<const LatticeRows>(*kept_) : std::span<const LatticeRows>());
}

}  // namespace dpreduce
