#include "worker/chunk_residuals.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "common/base/error.hpp"
#include "common/kernels/instruction_set.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/vector_width.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/residuals.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
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

// Adding and subtracting 1.5 * 2^52 rounds to an integer, ties to even: the same bits with and without vector
// instructions.
inline std::int32_t scaled_entry(std::int16_t entry, double factor) {
  constexpr double kRoundToInteger = 6755399441055744.0;
  return static_cast<std::int32_t>((static_cast<double>(entry) * factor + kRoundToInteger) - kRoundToInteger);
}

// |round(factor q)|^2 <= |q|^2 <= S^2, exact.
std::uint64_t squared_length(std::span<const std::int16_t> q, double factor) {
  std::int64_t sum = 0;
  run_at_full_width([&](auto) {
    for (const std::int16_t entry : q) {
      const std::int64_t scaled = scaled_entry(entry, factor);
      sum += scaled * scaled;
    }
  });
  return static_cast<std::uint64_t>(sum);
}

// |q|_2.
double length_of(std::span<const std::int16_t> q) {
  return std::sqrt(static_cast<double>(squared_length(q, 1.0)));
}

// Returns whether sum_c |round(f_c q)|^4 <= bound. Each term is below 2^60, the bound below 2^62: no sum wraps before
// it stops.
bool is_within(std::span<const std::int16_t> q, std::span<const double> f, std::uint64_t bound) {
  std::uint64_t sum = 0;
  for (const double factor : f) {
    const std::uint64_t squared = squared_length(q, factor);
    sum += squared * squared;
    if (sum > bound) return false;
  }
  return true;
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

ChunkResiduals::ChunkResiduals(const GradientPoint& point, unsigned threads, std::optional<std::uint64_t> clipped_rows,
                               const TargetColumns* targets)
    : point_(point),
      classes_(point.weights.classes()),
      dim_(point.weights.dim()),
      threads_(threads),
      clipped_rows_(clipped_rows),
      team_(threads),
      targets_(targets != nullptr && targets->count > 0 ? targets : nullptr),
      blocks_(threads) {
  if (!(point.residual_norm > 0.0 && std::isfinite(point.residual_norm))) {
    throw AggregationAborted("the coordinator's bound of residuals is out of range");  // silos need not trust it
  }
  DPREDUCE_ASSERT(targets_ == nullptr || (point.loss == Loss::kSquare && targets_->count == classes_));
  PartClock clock;
  weights_ = select_kernel().row_factors(point.weights.view());
  clock.charge(seconds_.scores);
  if (!point.prior.directions) return;
  const LatticeWeights& directions = *point.prior.directions;
  DPREDUCE_ASSERT(point.loss == Loss::kSoftmax && point.prior.features <= dim_);
  DPREDUCE_ASSERT(directions.classes() == classes_ && directions.dim() == dim_);
  priors_.emplace(point.prior);
}

void ChunkResiduals::assign(const LatticeRows& chunk) {
  DPREDUCE_ASSERT(!clipped_rows_);
  products_.resize(chunk.rows() * classes_);
  take_all_residuals(chunk, [&](std::size_t first, const Int64View& products) {
    std::copy_n(products.data, products.rows * classes_,
                products_.begin() + static_cast<std::ptrdiff_t>(first * classes_));
  });
}

// Makes residuals of the rows from `first` on, as many as there are products for: all ways to a residual pass here.
void ChunkResiduals::take_residuals(const LatticeRows& chunk, std::size_t first, std::span<const std::int64_t> products,
                                    std::span<std::int16_t> rho) {
  const std::span<const double> factors = point_.weights.factors();
  const std::size_t rows = products.size() / classes_;
  if (targets_ == nullptr && !priors_ && classes_ <= kMostClassesAcross) {
    lattice_residuals(
        products, [&](std::size_t row) { return chunk.classes_of(first + row); },
        {factors, point_.loss, point_.residual_norm}, rho, std::span(norms_).subspan(first, rows));
  } else {
    thread_local std::vector<double> scratch;
    scratch.resize(2 * classes_);
    const std::span<double> entries = std::span(scratch).first(classes_);
    const std::span<double> targets = std::span(scratch).last(classes_);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::span<const std::int64_t> of_row = products.subspan(row * classes_, classes_);
      const std::span<std::int16_t> own = rho.subspan(row * classes_, classes_);
      if (targets_ == nullptr) {
        norms_[first + row] = lattice_residual(of_row, factors, chunk.classes_of(first + row), point_.loss, entries,
                                               own, prior(first + row), point_.residual_norm);
        continue;
      }
      targets_->scaled(slots_of(chunk.labels(), chunk.labels_per_row(), first + row), targets);
      class_probabilities(of_row, factors, Loss::kSquare, entries);
      for (std::size_t t = 0; t < classes_; ++t) entries[t] -= targets[t];
      norms_[first + row] = clipped_to_lattice(entries, point_.residual_norm, own);
    }
  }
  if (!chunk.has_weights() || clipped_rows_) return;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<std::int16_t> own = rho.subspan(row * classes_, classes_);
    weigh_row(own, chunk.weight(first + row), WeightPower::kWhole, own);
  }
}

void ChunkResiduals::accumulate(const LatticeRows& chunk, std::span<std::int64_t> gradient) {
  DPREDUCE_ASSERT(chunk.dim() == dim_ && gradient.size() == classes_ * dim_);
  if (classes_ <= kFewClasses) return accumulate_few(chunk, gradient);
  take_all_residuals(chunk);
  PartClock clock;
  select_kernel().accumulate_product(residuals(), view_of(chunk), {gradient.data(), classes_, dim_, dim_}, threads_);
  clock.charge(seconds_.outer_product, threads_);
}

// Products last for some rows at a time.
void ChunkResiduals::take_all_residuals(const LatticeRows& chunk, const VisitProducts& keep) {
  rows_ = chunk.rows();
  if (priors_) priors_->assign(chunk, team_);
  residuals_.resize(rows_ * classes_);
  norms_.resize(rows_);
  std::atomic<double> in_residuals{0.0};
  PartClock clock;
  weights_->visit(view_of(chunk), team_, [&](std::size_t first, const Int64View& products) {
    const auto began = std::chrono::steady_clock::now();
    const std::size_t count = products.rows * classes_;
    take_residuals(chunk, first, {products.data, count}, std::span(residuals_).subspan(first * classes_, count));
    in_residuals += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (keep) keep(first, products);
  });
  clock.charge(seconds_.scores, threads_);
  if (clipped_rows_) {
    const std::vector<std::size_t> ends = ends_of_blocks(chunk);
    team_.for_each(ends.size(), [&](std::size_t block) {
      const std::size_t first = block == 0 ? 0 : ends[block - 1];
      clip_units(chunk, first, std::span(residuals_).subspan(first * classes_, (ends[block] - first) * classes_));
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
    while (end < rows_ && end - first < kRowsOfBlock) end = clipped_rows_ ? chunk.end_of_unit(end) : end + 1;
  }
  return ends;
}

// Clips the residuals of the rows from `first` on, whole units.
void ChunkResiduals::clip_units(const LatticeRows& chunk, std::size_t first, std::span<std::int16_t> rho) const {
  const std::size_t last = first + rho.size() / classes_;
  for (std::size_t unit = first, end = first; unit < last; unit = end) {
    end = chunk.end_of_unit(unit);
    clip_residuals(chunk, unit, rho.subspan((unit - first) * classes_, (end - unit) * classes_), classes_,
                   *clipped_rows_);
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
  const std::size_t count = end - first;
  const Int16View rows = view_of(chunk).part(first, count);
  PartClock clock;
  block.products.assign(count * classes_, 0);
  block.residuals.resize(count * classes_);
  weights_->accumulate(rows, {block.products.data(), count, classes_, classes_});
  clock.charge(block.seconds.scores);
  take_residuals(chunk, first, block.products, block.residuals);
  if (clipped_rows_) clip_units(chunk, first, block.residuals);
  clock.charge(block.seconds.residuals);
  select_kernel().accumulate_product({block.residuals.data(), count, classes_, classes_}, rows,
                                     {gradient.data(), classes_, dim_, dim_});
  clock.charge(block.seconds.outer_product);
}

void ChunkResiduals::for_each_row(const std::function<void(std::size_t)>& step) {
  team_.for_each((rows_ + kResidualRowsPerStep - 1) / kResidualRowsPerStep, [&](std::size_t block) {
    const std::size_t last = std::min(rows_, (block + 1) * kResidualRowsPerStep);
    for (std::size_t row = block * kResidualRowsPerStep; row < last; ++row) step(row);
  });
}

std::uint64_t hessian_bound(Loss loss, std::size_t classes) {
  DPREDUCE_ASSERT(classes >= 2 && loss != Loss::kSquare);
  if (classes == 2) return kFourthNorm / 8;
  if (loss == Loss::kSoftmax) return 4 * kFourthNorm / 27;
  return classes == 3 ? 3 * (kFourthNorm / 16) : kFourthNorm / 4;
}

void hessian_factors(std::span<const std::int16_t> q, std::span<const std::int64_t> products,
                     std::span<const double> weight_factors, std::span<const std::int32_t> classes, Loss loss,
                     std::span<double> f, std::span<const double> prior) {
  constexpr int kAttempts = 8;
  if (loss == Loss::kSoftmax && classes.empty()) {
    std::fill(f.begin(), f.end(), 0.0);
    return;
  }
  class_probabilities(products, weight_factors, loss, f);
  const double share = prior.empty() ? 1.0 : share_of_head(f, prior, classes);
  for (double& entry : f) entry *= share * (1.0 - entry);
  const std::uint64_t bound = hessian_bound(loss, f.size());
  const double largest = std::sqrt(static_cast<double>(bound) / static_cast<double>(kFourthNorm));
  const double norm = std::sqrt(squared_norm(f));
  const double held = norm > largest ? largest / norm : 1.0;
  for (double& entry : f) entry = std::sqrt(held * entry);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (is_within(q, f, bound)) return;
    for (double& entry : f) entry *= 1.0 - 1.0 / 1024.0;
  }
  std::fill(f.begin(), f.end(), 0.0);
}

void scale_row(std::span<const std::int16_t> q, double factor, std::span<std::int16_t> v) {
  run_at_full_width([&](auto) {
    for (std::size_t a = 0; a < q.size(); ++a) v[a] = static_cast<std::int16_t>(scaled_entry(q[a], factor));
  });
}

}  // namespace dpreduce
