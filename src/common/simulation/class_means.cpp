#include "common/simulation/class_means.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "common/base/error.hpp"
#include "common/simulation/counter_random.hpp"

namespace dpreduce {
namespace {

// Streams of the counter-based generator that class means use; rows use theirs with other keys.
constexpr std::uint64_t kDirectionStream = 0x6d65616e;

using Vector = std::span<double>;

// <a, b> in a fixed order: eight running sums, then in turn.
double dot(std::span<const double> a, std::span<const double> b) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  const std::size_t whole = a.size() / kLanes * kLanes;
  for (std::size_t k = 0; k < whole; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[k + lane] * b[k + lane];
  }
  double total = 0.0;
  for (const double sum : sums) total += sum;
  for (std::size_t k = whole; k < a.size(); ++k) total += a[k] * b[k];
  return total;
}

// target += factor * source
void add_multiple(Vector target, double factor, std::span<const double> source) {
  for (std::size_t k = 0; k < target.size(); ++k) target[k] += factor * source[k];
}

void scale(Vector v, double factor) {
  for (double& entry : v) entry *= factor;
}

void fill_normal(Vector v, std::uint64_t seed, std::uint64_t stream) {
  const CounterRandom random(seed, stream);
  for (std::size_t pair = 0; 2 * pair < v.size(); ++pair) {
    const auto [even, odd] = random.normals(pair);
    v[2 * pair] = even;
    if (2 * pair + 1 < v.size()) v[2 * pair + 1] = odd;
  }
}

}  // namespace

std::vector<double> simplex_frame(std::size_t classes, std::size_t dim, std::uint64_t seed) {
  DPREDUCE_ASSERT(classes >= 2 && dim >= classes - 1);
  // Rows of Q^T: normal vectors, orthonormalized by Gram-Schmidt, twice each for full accuracy [giraud2005].
  std::vector<double> isometry((classes - 1) * dim);
  const auto column = [&](std::size_t k) { return Vector(isometry.data() + k * dim, dim); };
  for (std::size_t k = 0; k < classes - 1; ++k) {
    fill_normal(column(k), seed, kDirectionStream + k);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t before = 0; before < k; ++before) {
        add_multiple(column(k), -dot(column(k), column(before)), column(before));
      }
    }
    scale(column(k), 1.0 / std::sqrt(dot(column(k), column(k))));
  }

  // Helmert: row i (from 1) of H is (1, ..., 1, -i, 0, ..., 0) / sqrt(i (i+1)) with i ones. So
  // M_k = sqrt(K/(K-1)) ( sum_{i > k} Q_i / sqrt(i (i+1)) - k Q_k / sqrt(k (k+1)) ), summed from the last class down.
  const auto i_norm = [](std::size_t i) { return std::sqrt(static_cast<double>(i) * static_cast<double>(i + 1)); };
  std::vector<double> means(classes * dim);
  std::vector<double> tail(dim, 0.0);
  const double stretch = std::sqrt(static_cast<double>(classes) / static_cast<double>(classes - 1));
  for (std::size_t k = classes; k-- > 0;) {
    const Vector mean(means.data() + k * dim, dim);
    add_multiple(mean, 1.0, tail);
    if (k > 0) {
      add_multiple(mean, -static_cast<double>(k) / i_norm(k), column(k - 1));
      add_multiple(tail, 1.0 / i_norm(k), column(k - 1));
    }
    scale(mean, stretch);
  }
  return means;
}

std::vector<double> sphere_points(std::size_t classes, std::size_t dim, double radius, std::uint64_t seed) {
  std::vector<double> points(classes * dim);
  for (std::size_t k = 0; k < classes; ++k) {
    const Vector point(points.data() + k * dim, dim);
    fill_normal(point, seed, kDirectionStream + k);
    scale(point, radius / std::sqrt(dot(point, point)));
  }
  return points;
}

std::vector<double> worst_perturbations(const std::vector<double>& means, std::size_t classes, std::size_t dim,
                                        double beta) {
  const auto mean = [&](std::size_t k) { return std::span(means.data() + k * dim, dim); };
  std::vector<double> perturbations(classes * dim);
  for (std::size_t k = 0; k < classes; ++k) {
    std::size_t target = k == 0 ? 1 : 0;
    double smallest_margin = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < classes; ++j) {
      if (j == k) continue;
      double squared = 0.0;
      double absolute = 0.0;
      for (std::size_t a = 0; a < dim; ++a) {
        const double difference = mean(k)[a] - mean(j)[a];
        squared += difference * difference;
        absolute += std::fabs(difference);
      }
      const double margin = squared / 2 - beta * absolute;
      if (margin < smallest_margin) {
        smallest_margin = margin;
        target = j;
      }
    }
    for (std::size_t a = 0; a < dim; ++a) {
      perturbations[k * dim + a] = std::copysign(beta, mean(target)[a] - mean(k)[a]);
    }
  }
  return perturbations;
}

}  // namespace dpreduce
