#include "worker/chunk_residuals.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "common/base/error.hpp"
#include "common/kernels/instruction_set.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "worker/clipped_units.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/residuals.hpp"
#include "worker/weighted_rows.hpp"

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
  const LatticeWeights& directions = *prior.directions;
  DPREDUCE_ASSERT(prior.features <= directions.dim());
  factors_ = select_kernel().row_factors(directions.view());
  for (std::size_t c = 0; c < directions.classes(); ++c) {
    direction_lengths_.push_back(length_of(directions.values().subspan(c * directions.dim(), directions.dim())));
  }
}

void ChunkPriors::assign(const LatticeRows& chunk, ThreadTeam& team) {
  const LatticeWeights& directions = *prior_.directions;
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
  const std::size_t classes = prior_.directions->classes();
  return std::span<const double>(priors_).subspan(row * classes, classes);
}

namespace {

constexpr std::size_t kResidualRowsPerStep = 64;
// Rows that stay in a cache of 1 MiB between scores and R^T Q: one block of the kernels' outer products.
constexpr std::size_t kRowsOfBlock = kOuterRows;

// Adds the time since the last call to a part, for each of some threads.
class PartClock {
 public:
  void charge(double& part, unsigned threads = 1) {
    const auto now = std::chrono::steady_clock::now();
    part += threads * std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

RoundSeconds& RoundSeconds::operator+=(const RoundSeconds& other) {
  scores += other.scores;
  residuals += other.residuals;
  outer_product += other.outer_product;
  return *this;
}

std::optional<std::uint64_t> clip_of(const ReleaseRequest& request) {
  return request.clips_units ? std::optional(request.rows_per_unit) : std::nullopt;
}

ChunkResiduals::ChunkResiduals(const GradientPoint& point, unsigned threads, std::optional<std::uint64_t> clipped_rows,
                               const TargetColumns* targets)
    : point_(point),
      threads_(threads),
      clipped_rows_(clipped_rows),
      team_(threads),
      targets_(targets != nullptr && targets->count > 0 ? targets : nullptr),
      blocks_(threads) {
  if (!(point.residual_norm > 0.0 && std::isfinite(point.residual_norm))) {
    throw AggregationAborted("the coordinator's bound of residuals is out of range");  // silos need not trust it
  }
  DPREDUCE_ASSERT(targets_ == nullptr || (point.loss == Loss::kSquare && targets_->count == point.weights.classes()));
  PartClock clock;
  weights_ = select_kernel().row_factors(point.weights.view());
  clock.charge(seconds_.scores);
  if (!point.prior.directions) return;
  const LatticeWeights& directions = *point.prior.directions;
  DPREDUCE_ASSERT(point.loss == Loss::kSoftmax && point.prior.features <= point.weights.dim());
  DPREDUCE_ASSERT(directions.classes() == point.weights.classes() && directions.dim() == point.weights.dim());
  priors_.emplace(point.prior);
}

void ChunkResiduals::assign(const LatticeRows& chunk) {
  const std::size_t classes = point_.weights.classes();
  DPREDUCE_ASSERT(!clipped_rows_);
  products_.resize(chunk.rows() * classes);
  take_all_residuals(chunk, [&](std::size_t first, const Int64View& products) {
    std::copy_n(products.data, products.rows * classes,
                products_.begin() + static_cast<std::ptrdiff_t>(first * classes));
  });
}

// Makes residuals of the rows from `first` on, as many as there are products for: all ways to a residual pass here.
void ChunkResiduals::take_residuals(const LatticeRows& chunk, std::size_t first, std::span<const std::int64_t> products,
                                    std::span<std::int16_t> rho) {
  const std::size_t classes = point_.weights.classes();
  const std::span<const double> factors = point_.weights.factors();
  const std::size_t rows = products.size() / classes;
  if (targets_ == nullptr && !priors_ && classes <= kMostClassesAcross) {
    lattice_residuals(
        products, [&](std::size_t row) { return chunk.classes_of(first + row); },
        {factors, point_.loss, point_.residual_norm}, rho, std::span(norms_).subspan(first, rows));
  } else {
    thread_local std::vector<double> scratch;
    scratch.resize(2 * classes);
    const std::span<double> entries = std::span(scratch).first(classes);
    const std::span<double> targets = std::span(scratch).last(classes);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::span<const std::int64_t> of_row = products.subspan(row * classes, classes);
      const std::span<std::int16_t> own = rho.subspan(row * classes, classes);
      if (targets_ == nullptr) {
        norms_[first + row] = lattice_residual(of_row, factors, chunk.classes_of(first + row), point_.loss, entries,
                                               own, prior(first + row), point_.residual_norm);
        continue;
      }
      targets_->scaled(slots_of(chunk.labels(), chunk.labels_per_row(), first + row), targets);
      norms_[first + row] = lattice_residual_of_targets(of_row, factors, targets, entries, own, point_.residual_norm);
    }
  }
  if (!chunk.has_weights() || clipped_rows_) return;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<std::int16_t> own = rho.subspan(row * classes, classes);
    weigh_row(own, chunk.weight(first + row), WeightPower::kWhole, own);
  }
}

void ChunkResiduals::accumulate(const LatticeRows& chunk, std::span<std::int64_t> gradient) {
  const std::size_t classes = point_.weights.classes();
  const std::size_t dim = point_.weights.dim();
  DPREDUCE_ASSERT(chunk.dim() == dim && gradient.size() == classes * dim);
  if (classes <= kFewClasses) return accumulate_few(chunk, gradient);
  take_all_residuals(chunk);
  PartClock clock;
  select_kernel().accumulate_product(residuals(), view_of(chunk), {gradient.data(), classes, dim, dim}, threads_);
  clock.charge(seconds_.outer_product, threads_);
}

// Products last for some rows at a time.
void ChunkResiduals::take_all_residuals(const LatticeRows& chunk, const VisitProducts& keep) {
  const std::size_t classes = point_.weights.classes();
  rows_ = chunk.rows();
  if (priors_) priors_->assign(chunk, team_);
  residuals_.resize(rows_ * classes);
  norms_.resize(rows_);
  std::atomic<double> in_residuals{0.0};
  PartClock clock;
  weights_->visit(view_of(chunk), team_, [&](std::size_t first, const Int64View& products) {
    const auto began = std::chrono::steady_clock::now();
    const std::size_t count = products.rows * classes;
    take_residuals(chunk, first, {products.data, count}, std::span(residuals_).subspan(first * classes, count));
    in_residuals += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (keep) keep(first, products);
  });
  clock.charge(seconds_.scores, threads_);
  if (clipped_rows_) {
    const std::vector<std::size_t> ends = ends_of_blocks(chunk);
    team_.for_each(ends.size(), [&](std::size_t block) {
      const std::size_t first = block == 0 ? 0 : ends[block - 1];
      clip_units(chunk, first, std::span(residuals_).subspan(first * classes, (ends[block] - first) * classes));
    });
    clock.charge(seconds_.residuals, threads_);
  }
  seconds_.scores -= in_residuals;
  seconds_.residuals += in_residuals;
}

// Ends of blocks of rows that are taken together: kRowsOfBlock each, or some more, where whole units are.
std::vector<std::size_t> ChunkResiduals::ends_of_blocks(const LatticeRows& chunk) const {
  std::vector<std::size_t> ends;
  for (std::size_t end = 0; end < rows_; ends.push_back(end)) {
    const std::size_t first = end;
    if (!clipped_rows_) {
      end = std::min(rows_, first + kRowsOfBlock);
    } else {
      while (end < rows_ && end - first < kRowsOfBlock) end = chunk.end_of_unit(end);
    }
  }
  return ends;
}

// Clips the residuals of the rows from `first` on, whole units.
void ChunkResiduals::clip_units(const LatticeRows& chunk, std::size_t first, std::span<std::int16_t> rho) const {
  const std::size_t classes = point_.weights.classes();
  const std::size_t last = first + rho.size() / classes;
  for (std::size_t unit = first; unit < last;) {
    const std::size_t end = chunk.end_of_unit(unit);
    clip_residuals(chunk, unit, rho.subspan((unit - first) * classes, (end - unit) * classes), classes, *clipped_rows_);
    unit = end;
  }
}

// Each thread has sums of its own, unless it is alone: int64 sums in Z mod 2^64 have no order.
void ChunkResiduals::accumulate_few(const LatticeRows& chunk, std::span<std::int64_t> gradient) {
  rows_ = chunk.rows();
  norms_.resize(rows_);
  if (priors_) priors_->assign(chunk, team_);
  const std::vector<std::size_t> ends = ends_of_blocks(chunk);
  std::atomic<std::size_t> next{0};
  team_.for_each(team_.size(), [&](std::size_t worker) {
    Block& block = blocks_[worker];
    block.seconds = {};
    if (team_.size() > 1) block.gradient.assign(gradient.size(), 0);
    const std::span<std::int64_t> sums = team_.size() > 1 ? std::span<std::int64_t>(block.gradient) : gradient;
    for (std::size_t place = next++; place < ends.size(); place = next++) {
      accumulate_block(chunk, place == 0 ? 0 : ends[place - 1], ends[place], block, sums);
    }
  });
  for (const Block& block : blocks_) {
    seconds_ += block.seconds;
    for (std::size_t entry = 0; entry < block.gradient.size(); ++entry) {
      gradient[entry] = ring_sum(gradient[entry], block.gradient[entry]);
    }
  }
}

void ChunkResiduals::accumulate_block(const LatticeRows& chunk, std::size_t first, std::size_t end, Block& block,
                                      std::span<std::int64_t> gradient) {
  const std::size_t classes = point_.weights.classes();
  const std::size_t dim = point_.weights.dim();
  const std::size_t count = end - first;
  const Int16View rows = view_of(chunk).part(first, count);
  PartClock clock;
  block.products.assign(count * classes, 0);
  block.residuals.resize(count * classes);
  weights_->accumulate(rows, {block.products.data(), count, classes, classes});
  clock.charge(block.seconds.scores);
  take_residuals(chunk, first, block.products, block.residuals);
  if (clipped_rows_) clip_units(chunk, first, block.residuals);
  clock.charge(block.seconds.residuals);
  select_kernel().accumulate_product({block.residuals.data(), count, classes, classes}, rows,
                                     {gradient.data(), classes, dim, dim});
  clock.charge(block.seconds.outer_product);
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

void ChunkResiduals::for_each_row(const std::function<void(std::size_t)>& step) {
  team_.for_each((rows_ + kResidualRowsPerStep - 1) / kResidualRowsPerStep, [&](std::size_t block) {
    const std::size_t last = std::min(rows_, (block + 1) * kResidualRowsPerStep);
    for (std::size_t row = block * kResidualRowsPerStep; row < last; ++row) step(row);
  });
}

}  // namespace dpreduce
