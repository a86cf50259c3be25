// Linear equations once more, by Gaussian elimination: what tests hold the solvers to.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace dpreduce {

/// A^-1 b, with the largest pivot of each column.
inline std::vector<double> solved_by_elimination(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t order = b.size();
  for (std::size_t k = 0; k < order; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < order; ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < order; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < order; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = order; k-- > 0;) {
    for (std::size_t j = k + 1; j < order; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

/// (sum w x x^T + ridge I) theta = sum t x over rows x.
struct NormalEquations {
  NormalEquations(std::size_t order, double ridge) : left(order, std::vector<double>(order, 0.0)), right(order, 0.0) {
    for (std::size_t a = 0; a < order; ++a) left[a][a] = ridge;
  }
  void add(std::span<const double> x, double w, double t = 0.0) {
    for (std::size_t a = 0; a < right.size(); ++a) {
      right[a] += t * x[a];
      for (std::size_t b = 0; b < right.size(); ++b) left[a][b] += w * x[a] * x[b];
    }
  }
  std::vector<double> theta() const { return solved_by_elimination(left, right); }

  std::vector<std::vector<double>> left;
  std::vector<double> right;
};

}  // namespace dpreduce
