// Probabilities of the second head for a chunk of rows.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/thread_team.hpp"
#include "worker/statistic_inputs.hpp"

namespace dpreduce {

class ChunkPriors {
 public:
  /// `prior` outlives the object.
  explicit ChunkPriors(const Prior& prior);

  /// Takes u = softmax(h) of every row (residuals.hpp), on the team's threads. Precondition (asserted): the rows have
  /// the directions' features. Cost: n K d multiply-adds, 8 K bytes a row.
  void assign(const LatticeRows& chunk, ThreadTeam& team);

  /// u of one of those rows, K entries.
  std::span<const double> of_row(std::size_t row) const;

 private:
  const Prior& prior_;
  std::vector<double> direction_lengths_;  // K
  std::unique_ptr<const RowFactors> factors_;
  std::vector<double> priors_;  // n x K
};

}  // namespace dpreduce
