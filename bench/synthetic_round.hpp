// A training round on rows of no data set, to measure its speed: uniform features and weights, labels in turn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/lattice/lattice_weights.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/kept_chunks.hpp"

namespace dpreduce {

/// n x d floats in [-1, 1), the same in every run.
std::vector<float> synthetic_features(std::uint64_t rows, std::size_t dim);

class SyntheticRound {
 public:
  /// Lattice rows in memory, in chunks as training has them, and weights of K classes.
  /// Preconditions: dim >= 1; classes >= 2; threads >= 1.
  SyntheticRound(std::uint64_t rows, std::size_t dim, std::size_t classes, unsigned threads);

  /// gradient <- gradient + sum_i rho_i q_i^T (K x d, softmax), as the statistic "gradient" does of rows that are kept.
  /// Cost: 2 n K d multiply-adds. Tells where the time went. Precondition (asserted): K x d entries.
  RoundSeconds accumulate(std::span<std::int64_t> gradient) const;

  /// Reads all rows on the threads and does nothing else: what a round cannot be faster than. The result is of no use,
  /// but that the compiler must make it.
  std::int64_t read() const;

 private:
  KeptChunks chunks_;
  LatticeWeights weights_;
  unsigned threads_;
};

}  // namespace dpreduce
