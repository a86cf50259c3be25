#include "worker/chunk_priors.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/error.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "worker/chunk_view.hpp"
#include "worker/residuals.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kPriorRowsPerStep = 64;

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
  for (std::size_t c = 0; c < directions.classes(); ++c) {
    direction_lengths_.push_back(length_of({directions.values() + c * directions.dim(), directions.dim()}));
  }
}

void ChunkPriors::assign(const LatticeRows& chunk, ThreadTeam& team) {
  const LatticeWeights& directions = prior_.directions;
  const std::size_t classes = directions.classes();
  DPREDUCE_ASSERT(chunk.dim() == directions.dim());
  products_.assign(chunk.rows() * classes, 0);
  priors_.resize(chunk.rows() * classes);
  select_kernel().accumulate_row_products(
      view_of(chunk), {directions.values(), classes, directions.dim(), directions.dim()},
      {products_.data(), chunk.rows(), classes, classes}, static_cast<unsigned>(team.size()));
  team.for_each((chunk.rows() + kPriorRowsPerStep - 1) / kPriorRowsPerStep, [&](std::size_t block) {
    const std::size_t last = std::min(chunk.rows(), (block + 1) * kPriorRowsPerStep);
    for (std::size_t row = block * kPriorRowsPerStep; row < last; ++row) {
      prior_probabilities(std::span<const std::int64_t>(products_).subspan(row * classes, classes),
                          length_of(chunk.row(row).first(prior_.features)), direction_lengths_,
                          {priors_.data() + row * classes, classes});
    }
  });
}

std::span<const double> ChunkPriors::of_row(std::size_t row) const {
  const std::size_t classes = prior_.directions.classes();
  return std::span<const double>(priors_).subspan(row * classes, classes);
}

}  // namespace dpreduce
