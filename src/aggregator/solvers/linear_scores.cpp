#include "aggregator/solvers/linear_scores.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/error.hpp"

namespace dpreduce {

LinearScores fold_intercept(const std::vector<double>& weights, const Preprocessing& preprocessing) {
  const std::size_t stride = preprocessing.output_dim();
  const std::size_t dim = preprocessing.dim();
  const std::size_t classes = weights.size() / stride;
  LinearScores scores{std::vector<double>(classes * dim), std::vector<double>(classes, 0.0)};
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::size_t a = 0; a < dim; ++a) {
      scores.weights[c * dim + a] = weights[c * stride + a] * std::sqrt(1.0 - preprocessing.intercept);
    }
    if (stride > dim) {
      scores.bias[c] = weights[c * stride + dim] * std::sqrt(preprocessing.intercept) * preprocessing.clip_norm;
    }
  }
  return scores;
}

std::vector<double> class_distances(std::span<const double> means, std::size_t dim) {
  const std::size_t classes = means.size() / dim;
  std::vector<double> distances(dim, 0.0);
  std::vector<double> column(classes);
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t c = 0; c < classes; ++c) column[c] = means[c * dim + a];
    std::sort(column.begin(), column.end());
    // In rising order the c-th of K is the larger one in c pairs and the smaller one in K - 1 - c.
    for (std::size_t c = 0; c < classes; ++c) {
      distances[a] += (static_cast<double>(2 * c + 1) - static_cast<double>(classes)) * column[c];
    }
  }
  return distances;
}

std::vector<std::size_t> largest_features(std::span<const double> scores, std::size_t count) {
  DPREDUCE_ASSERT(count <= scores.size());
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t left, std::size_t right) { return scores[left] > scores[right]; });
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

void keep_features(std::span<double> rows, std::size_t dim, std::span<const std::size_t> indices) {
  std::vector<double> kept(dim, 0.0);
  for (const std::size_t index : indices) kept[index] = 1.0;
  for (std::size_t e = 0; e < rows.size(); ++e) {
    if (kept[e % dim] == 0.0) rows[e] = 0.0;
  }
}

}  // namespace dpreduce
