#include "worker/chunk_residuals.hpp"

#include <algorithm>

#include "common/base/error.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "worker/chunk_view.hpp"
#include "worker/residuals.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kResidualRowsPerStep = 64;

}  // namespace

ChunkResiduals::ChunkResiduals(const GradientPoint& point, unsigned threads)
    : point_(point), threads_(threads), team_(threads) {
  if (point.prior == nullptr) return;
  const LatticeWeights& directions = point.prior->directions;
  DPREDUCE_ASSERT(point.loss == Loss::kSoftmax && point.prior->features <= point.weights.dim());
  DPREDUCE_ASSERT(directions.classes() == point.weights.classes() && directions.dim() == point.weights.dim());
  priors_.emplace(*point.prior);
}

void ChunkResiduals::assign(const LatticeRows& chunk) {
  const std::size_t classes = point_.weights.classes();
  rows_ = chunk.rows();
  if (priors_) priors_->assign(chunk, team_);
  clear_products();
  residuals_.resize(rows_ * classes);
  norms_.resize(rows_);
  select_kernel().accumulate_row_products(
      view_of(chunk), {point_.weights.values(), classes, point_.weights.dim(), point_.weights.dim()},
      {products_.data(), rows_, classes, classes}, threads_);
  for_each_row([&](std::size_t row, std::span<double> scratch) {
    norms_[row] = lattice_residual(products(row), point_.weights.factors(), chunk.classes_of(row), point_.loss, scratch,
                                   {residuals_.data() + row * classes, classes}, prior(row), point_.residual_norm);
    if (chunk.weight(row) != kWholeRow) {
      const std::span<std::int16_t> rho(residuals_.data() + row * classes, classes);
      weigh_row(rho, chunk.weight(row), WeightPower::kWhole, rho);
    }
  });
}

// Shared by the team: it takes as long as a tenth of the product.
void ChunkResiduals::clear_products() {
  const std::size_t classes = point_.weights.classes();
  products_.resize(rows_ * classes);
  for_each_row([&](std::size_t row, std::span<double>) {
    std::fill_n(products_.begin() + static_cast<std::ptrdiff_t>(row * classes), classes, 0);
  });
}

Int16View ChunkResiduals::residuals() const {
  const std::size_t classes = point_.weights.classes();
  return {residuals_.data(), rows_, classes, classes};
}

std::span<const std::int64_t> ChunkResiduals::products(std::size_t row) const {
  const std::size_t classes = point_.weights.classes();
  return {products_.data() + row * classes, classes};
}

std::span<const double> ChunkResiduals::prior(std::size_t row) const {
  return priors_ ? priors_->of_row(row) : std::span<const double>();
}

void ChunkResiduals::for_each_row(const std::function<void(std::size_t, std::span<double>)>& step) {
  team_.for_each((rows_ + kResidualRowsPerStep - 1) / kResidualRowsPerStep, [&](std::size_t block) {
    std::vector<double> scratch(point_.weights.classes());
    const std::size_t last = std::min(rows_, (block + 1) * kResidualRowsPerStep);
    for (std::size_t row = block * kResidualRowsPerStep; row < last; ++row) step(row, scratch);
  });
}

}  // namespace dpreduce
