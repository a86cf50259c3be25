#include "aggregator/solvers/mean_classifier.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

double norm(std::span<const double> v) {
  return std::sqrt(squared_norm(v));
}

// v <- v * min(1, radius / ||v||).
void pull_into_ball(std::span<double> v, double radius) {
  const double length = norm(v);
  if (length <= radius) return;
  for (double& entry : v) entry *= radius / length;
}

// A count that noise made zero or negative counts as one row.
double clamped_count(std::int64_t released) {
  return static_cast<double>(std::max<std::int64_t>(released, 1));
}

// Weights and biases from class sums, of which `kept` features may differ from 0.
LinearScores scores_of_sums(std::span<const double> sums, std::size_t kept, const Release& release,
                            const Lattice& lattice, Metric metric) {
  const std::size_t dim = lattice.dim;
  const std::size_t classes = sums.size() / dim;
  LinearScores scores{{sums.begin(), sums.end()}, std::vector<double>(classes, 0.0)};
  for (std::size_t c = 0; c < classes; ++c) {
    const std::span<double> weights{scores.weights.data() + c * dim, dim};
    if (metric == Metric::kCosine) {
      const double length = norm(weights);
      if (length > 0.0) {
        for (double& entry : weights) entry /= length;
      }
      continue;
    }
    const double units = lattice.scale() * clamped_count(release.block("class_counts").values()[c]);
    for (double& entry : weights) entry /= units;
    pull_into_ball(weights, lattice.clip_norm);
    const double noise_energy = static_cast<double>(kept) * std::pow(release.block("class_sums").sigma() / units, 2);
    scores.bias[c] = -0.5 * std::max(0.0, squared_norm(weights) - noise_energy);
  }
  return scores;
}

}  // namespace

LinearScores solve_mean_classifier(const Release& release, const Lattice& lattice, Metric metric, std::size_t select) {
  const ReleasedBlock& block = release.block("class_sums");
  std::vector<double> sums(block.values().begin(), block.values().end());
  DPREDUCE_ASSERT(sums.size() % lattice.dim == 0 && select <= lattice.dim);
  LinearScores scores = scores_of_sums(sums, lattice.dim, release, lattice, metric);
  if (select == 0) return scores;
  const std::vector<double> distances = class_distances(scores.weights, lattice.dim);
  keep_features(sums, lattice.dim, largest_features(distances, select));
  return scores_of_sums(sums, select, release, lattice, metric);
}

std::vector<std::size_t> select_features(const Release& release, const Lattice& lattice, std::size_t count) {
  const LinearScores directions = solve_mean_classifier(release, lattice, Metric::kCosine);
  return largest_features(class_distances(directions.weights, lattice.dim), count);
}

}  // namespace dpreduce
