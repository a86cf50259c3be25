#include "worker/newton_statistic.hpp"

#include <vector>

#include "common/base/error.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "common/plan/triangle.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/chunk_view.hpp"
#include "worker/hessian_rows.hpp"

namespace dpreduce {
namespace {

// Adds Hessians to triangles, one class after the other, so that only one square is held.
class HessianSums {
 public:
  HessianSums(std::span<std::int64_t> triangles, std::size_t classes, std::size_t dim, unsigned threads)
      : triangles_(triangles), classes_(classes), dim_(dim), threads_(threads), square_(dim * dim) {}

  void add(const LatticeRows& chunk, ChunkResiduals& residuals) {
    const GradientPoint& point = residuals.point();
    factors_.resize(chunk.rows() * classes_);
    scaled_.resize(chunk.rows() * dim_);
    residuals.for_each_row([&](std::size_t row, std::span<double>) {
      hessian_factors(chunk.row(row), residuals.products(row), point.weights.factors(), chunk.classes_of(row),
                      point.loss, {factors_.data() + row * classes_, classes_}, residuals.prior(row));
    });
    for (std::size_t c = 0; c < classes_; ++c) {
      residuals.for_each_row([&](std::size_t row, std::span<double>) {
        scale_row(chunk.row(row), factors_[row * classes_ + c], {scaled_.data() + row * dim_, dim_});
      });
      std::fill(square_.begin(), square_.end(), 0);
      select_kernel().accumulate_gram({scaled_.data(), chunk.rows(), dim_, dim_}, {square_.data(), dim_, dim_, dim_},
                                      threads_);
      add_square_to(triangles_.subspan(c * triangle_elements(dim_), triangle_elements(dim_)));
    }
  }

 private:
  void add_square_to(std::span<std::int64_t> triangle) const {
    for (std::size_t a = 0; a < dim_; ++a) {
      for (std::size_t b = a; b < dim_; ++b) {
        std::int64_t& sum = triangle[triangle_row(a, dim_) + b - a];
        sum = ring_sum(sum, square_[a * dim_ + b]);
      }
    }
  }

  std::span<std::int64_t> triangles_;
  std::size_t classes_;
  std::size_t dim_;
  unsigned threads_;
  SecretVector<std::int64_t> square_;
  std::vector<double> factors_;       // n x K
  std::vector<std::int16_t> scaled_;  // n x d, of one class
};

}  // namespace

Statistic newton_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  DPREDUCE_ASSERT(inputs.point != nullptr && inputs.point->weights.dim() == inputs.transform.output_dim());
  Statistic statistic = empty_statistic(request);
  const std::size_t classes = inputs.point->weights.classes();
  const std::size_t dim = inputs.point->weights.dim();
  const std::span<std::int64_t> gradient = statistic.block(statistic.index_of("gradient"));
  const std::span<std::int64_t> triangles = statistic.block(statistic.index_of("hessians"));
  DPREDUCE_ASSERT(gradient.size() == classes * dim && triangles.size() == classes * triangle_elements(dim));
  ChunkResiduals residuals(*inputs.point, inputs.plan.threads);
  HessianSums hessians(triangles, classes, dim, inputs.plan.threads);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    residuals.assign(chunk);
    select_kernel().accumulate_product(residuals.residuals(), view_of(chunk), {gradient.data(), classes, dim, dim},
                                       inputs.plan.threads);
    hessians.add(chunk, residuals);
  });
  return statistic;
}

}  // namespace dpreduce
