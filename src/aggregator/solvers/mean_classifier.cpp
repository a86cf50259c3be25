#include "aggregator/solvers/mean_classifier.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

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
      const double length = std::sqrt(squared_norm(weights));
      if (length > 0.0) {
        for (double& entry : weights) entry /= length;
      }
      continue;
    }
    const double units = lattice.scale() * clamped_count(release.block("class_counts").values()[c]);
    for (double& entry : weights) entry /= units;
    scale_to_clip_norm(weights, Normalize::kNone, lattice.clip_norm);
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

namespace {

// Variance that rounding a row to the lattice adds to each feature: no variance is smaller.
constexpr double kRoundingVariance = 1.0 / 12.0;

// The released sums, in lattice units.
struct ClassMoments {
  std::size_t dim = 0;
  std::vector<double> means;   // K x d
  std::vector<double> counts;  // at least 1
  double rows = 0.0;
  double sum_noise = 0.0;
  std::vector<double> variances;       // D before it is cleaned
  std::vector<double> variance_noise;  // nu^2

  std::size_t classes() const { return counts.size(); }
  // Variance of the noise in m_ca - m_a.
  double deviation_noise(std::size_t c) const {
    const double n = counts[c];
    return sum_noise * sum_noise * (1.0 / (n * n) - 2.0 / (n * rows) + static_cast<double>(classes()) / (rows * rows));
  }
};

ClassMoments moments_of(const Release& release, const Lattice& lattice) {
  const ReleasedBlock& sums = release.block("class_sums");
  const ReleasedBlock& squares = release.block("second_moments");
  const std::size_t dim = lattice.dim;
  ClassMoments moments{.dim = dim,
                       .means = {sums.values().begin(), sums.values().end()},
                       .counts = {},
                       .rows = 0.0,
                       .sum_noise = sums.sigma(),
                       .variances = {squares.values().begin(), squares.values().end()},
                       .variance_noise = std::vector<double>(dim, squares.sigma() * squares.sigma())};
  for (const std::int64_t count : release.block("class_counts").values())
    moments.counts.push_back(clamped_count(count));
  DPREDUCE_ASSERT(moments.means.size() == moments.classes() * dim && moments.variances.size() == dim);
  moments.rows = std::accumulate(moments.counts.begin(), moments.counts.end(), 0.0);

  const double squared_noise = moments.sum_noise * moments.sum_noise;
  for (std::size_t c = 0; c < moments.classes(); ++c) {
    const std::span<double> mean = std::span(moments.means).subspan(c * dim, dim);
    const double energy = squared_norm(mean);
    const double signal = energy > 0.0 ? std::max(0.0, 1.0 - static_cast<double>(dim) * squared_noise / energy) : 0.0;
    const double n = moments.counts[c];
    for (std::size_t a = 0; a < dim; ++a) {
      moments.variances[a] -= signal * mean[a] * mean[a] / n;
      moments.variance_noise[a] += signal * squared_noise / (n * n) * (4.0 * mean[a] * mean[a] + 2.0 * squared_noise);
    }
    const double length = std::sqrt(energy) / n;
    const double pull = length > kLatticeNorm ? kLatticeNorm / length : 1.0;
    for (double& entry : mean) entry *= pull / n;
  }
  for (double& variance : moments.variances) variance /= moments.rows;
  for (double& noise : moments.variance_noise) noise /= moments.rows * moments.rows;
  return moments;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// sum_c n_c m_c / n
std::vector<double> overall_mean(const ClassMoments& moments) {
  std::vector<double> middle(moments.dim, 0.0);
  for (std::size_t e = 0; e < moments.means.size(); ++e) {
    middle[e % moments.dim] += moments.counts[e / moments.dim] / moments.rows * moments.means[e];
  }
  return middle;
}

// D, cleaned of its noise.
std::vector<double> cleaned_variances(const ClassMoments& moments) {
  const double noise = mean_of(moments.variance_noise);
  const double least = std::max(kRoundingVariance, std::sqrt(noise / static_cast<double>(moments.dim)));
  const double middle = std::max(mean_of(moments.variances), least);
  double spread = -noise;
  for (const double variance : moments.variances) {
    spread += (variance - middle) * (variance - middle) / static_cast<double>(moments.dim);
  }
  spread = std::max(spread, 0.0);

  const double mean_noise = moments.sum_noise * static_cast<double>(moments.classes()) / moments.rows;
  std::vector<double> cleaned(moments.dim);
  for (std::size_t a = 0; a < moments.dim; ++a) {
    const double own_noise = moments.variance_noise[a];
    const double trust = own_noise > 0.0 ? spread / (spread + own_noise) : 1.0;
    const double drawn = middle + trust * (moments.variances[a] - middle);
    cleaned[a] = std::max({drawn, std::min(std::sqrt(own_noise), middle), kRoundingVariance}) + mean_noise * mean_noise;
  }
  return cleaned;
}

std::vector<std::size_t> chosen_features(const ClassMoments& moments, std::span<const double> variances,
                                         std::size_t select, SelectBy select_by) {
  std::vector<double> scores = class_distances(moments.means, moments.dim);
  if (select_by == SelectBy::kT) {
    for (std::size_t a = 0; a < moments.dim; ++a) scores[a] /= std::sqrt(variances[a]);
  }
  return largest_features(scores, select == 0 ? moments.dim : select);
}

}  // namespace

LinearScores solve_fisher_rule(const Release& release, const Lattice& lattice, std::size_t select, SelectBy select_by) {
  DPREDUCE_ASSERT(select <= lattice.dim);
  const ClassMoments moments = moments_of(release, lattice);
  const std::vector<double> variances = cleaned_variances(moments);
  const std::vector<std::size_t> features = chosen_features(moments, variances, select, select_by);

  const std::size_t dim = moments.dim;
  const std::vector<double> middle = overall_mean(moments);
  LinearScores scores{std::vector<double>(moments.means.size(), 0.0), {}};
  for (std::size_t c = 0; c < moments.classes(); ++c) {
    double energy = 0.0;  // sum_a (m_ca - m_a)^2 / D_a, and what noise adds to it
    double noise = 0.0;
    for (const std::size_t a : features) {
      const double deviation = moments.means[c * dim + a] - middle[a];
      energy += deviation * deviation / variances[a];
      noise += moments.deviation_noise(c) / variances[a];
    }
    double bias = std::log(moments.counts[c] / moments.rows) - 0.5 * std::max(0.0, energy - noise);
    for (const std::size_t a : features) {
      const double weight = (moments.means[c * dim + a] - middle[a]) / variances[a];
      scores.weights[c * dim + a] = lattice.scale() * weight;
      bias -= weight * middle[a];
    }
    scores.bias.push_back(bias);
  }
  return scores;
}

}  // namespace dpreduce
