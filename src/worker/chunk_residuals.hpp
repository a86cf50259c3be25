// Residuals of a chunk of rows: the factor that every statistic of a training round shares.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/kernels/matrix_view.hpp"
#include "common/kernels/thread_team.hpp"
#include "worker/chunk_priors.hpp"
#include "worker/statistic_inputs.hpp"

namespace dpreduce {

class ChunkResiduals {
 public:
  /// `point` outlives the object. Preconditions (asserted): a prior has directions for all classes, and goes with
  /// Loss::kSoftmax.
  ChunkResiduals(const GradientPoint& point, unsigned threads);

  /// Takes the rows' scores and residuals (residuals.hpp). Cost: n K d multiply-adds, 10 K bytes a row; twice that with
  /// a prior.
  void assign(const LatticeRows& chunk);

  /// rho, n x K, of the rows assigned last, weighed as weighted_rows.hpp says.
  Int16View residuals() const;
  /// |r|_2 of one of those rows, before it was clipped.
  double residual_norm(std::size_t row) const { return norms_[row]; }
  /// The exact products <q, w_c> of one of those rows, K entries.
  std::span<const std::int64_t> products(std::size_t row) const;
  /// u of one of those rows, K entries; none without a prior.
  std::span<const double> prior(std::size_t row) const;
  const GradientPoint& point() const { return point_; }

  /// Calls step(row, scratch) once for every row assigned last, on the threads; scratch has K entries.
  void for_each_row(const std::function<void(std::size_t, std::span<double>)>& step);

 private:
  void clear_products();

  const GradientPoint& point_;
  unsigned threads_;
  ThreadTeam team_;
  std::size_t rows_ = 0;
  std::vector<std::int64_t> products_;
  std::vector<std::int16_t> residuals_;
  std::vector<double> norms_;
  std::optional<ChunkPriors> priors_;
};

}  // namespace dpreduce
