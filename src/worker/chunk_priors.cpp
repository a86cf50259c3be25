#include "worker/chunk_priors.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/error.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "worker/chunk_view.hpp"
#include "worker/residuals.hpp"

namespace dpreduce {
namespace {

// |q|_2: the sum is exact, an integer below d 2^30.
double length_of(std::span<const std::int16_t> q) {
  std::int64_t sum = 0;
  for (const std::int16_t entry : q) sum += std::int64_t{entry} * entry;
  return std::sqrt(static_cast<double>(sum));
}

}  // namespace

ChunkPriors::ChunkPriors(const Prior& prior) : prior_(prior) {
  const LatticeWeights& directions = prior.directions;
  DPREDUCE_ASSERT(prior.features <= directions.dim());
  factors_ =
      select_kernel().row_factors({directions.values(), directions.classes(), directions.dim(), directions.dim()});
  for (std::size_t c = 0; c < directions.classes(); ++c) {
    direction_lengths_.push_back(length_of({directions.values() + c * directions.dim(), directions.dim()}));
  }
}

void ChunkPriors::assign(const LatticeRows& chunk, ThreadTeam& team) {
  const LatticeWeights& directions = prior_.directions;
  const std::size_t classes = directions.classes();
  DPREDUCE_ASSERT(chunk.dim() == directions.dim());
  priors_.resize(chunk.rows() * classes);
  factors_->visit(view_of(chunk), team, [&](std::size_t first, const Int64View& products) {
    for (std::size_t row = 0; row < products.rows; ++row) {
      prior_probabilities({products.row(row), classes}, length_of(chunk.row(first + row).first(prior_.features)),
                          direction_lengths_, {priors_.data() + (first + row) * classes, classes});
    }
  });
}

std::span<const double> ChunkPriors::of_row(std::size_t row) const {
  const std::size_t classes = prior_.directions.classes();
  return std::span<const double>(priors_).subspan(row * classes, classes);
}

}  // namespace dpreduce
