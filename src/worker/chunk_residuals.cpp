#include "dpreduce/worker/chunk_residuals.hpp"

#include <algorithm>

#include "dpreduce/kernels/kernel_choice.hpp"
#include "dpreduce/worker/chunk_view.hpp"
#include "dpreduce/worker/residuals.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kRowsPerStep = 64;

}  // namespace

ChunkResiduals::ChunkResiduals(const GradientPoint& point, unsigned threads)
    : point_(point), threads_(threads), team_(threads) {}

void ChunkResiduals::assign(const LatticeRows& chunk) {
  const std::size_t classes = point_.weights.classes();
  rows_ = chunk.rows();
  products_.assign(rows_ * classes, 0);
  residuals_.resize(rows_ * classes);
  select_kernel().accumulate_row_products(
      view_of(chunk), {point_.weights.values(), classes, point_.weights.dim(), point_.weights.dim()},
      {products_.data(), rows_, classes, classes}, threads_);
  for_each_row([&](std::size_t row, std::span<double> scratch) {
    lattice_residual(products(row), point_.weights.factors(), chunk.labels()[row], point_.loss, scratch,
                     {residuals_.data() + row * classes, classes});
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

void ChunkResiduals::for_each_row(const std::function<void(std::size_t, std::span<double>)>& step) {
  team_.for_each((rows_ + kRowsPerStep - 1) / kRowsPerStep, [&](std::size_t block) {
    std::vector<double> scratch(point_.weights.classes());
    const std::size_t last = std::min(rows_, (block + 1) * kRowsPerStep);
    for (std::size_t row = block * kRowsPerStep; row < last; ++row) step(row, scratch);
  });
}

}  // namespace dpreduce
