#include "aggregator/solvers/linear_scores.hpp"

#include <cmath>

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

}  // namespace dpreduce
