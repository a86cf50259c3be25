// Residuals of a chunk of rows, the factor that all statistics of a training round share, and rows for Hessians.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/thread_team.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/statistic_entry.hpp"

namespace dpreduce {

/// Probabilities u of the second head for a chunk of rows.
class ChunkPriors {
 public:
  /// Refers to `prior`, which outlives the object. Precondition: it has directions.
  explicit ChunkPriors(const Prior& prior);

  /// Computes u = softmax(h) of every row (residuals.hpp) on the team's threads. Precondition (asserted): the rows have
  /// the directions' features. Cost: n K d multiply-adds, 8 K bytes a row.
  void assign(const LatticeRows& chunk, ThreadTeam& team);

  /// Returns u of one of those rows, K entries.
  std::span<const double> of_row(std::size_t row) const;

 private:
  const Prior& prior_;
  std::vector<double> direction_lengths_;  // K
  std::unique_ptr<const RowFactors> factors_;
  std::vector<double> priors_;  // n x K
};

/// Time of rounds by part, in seconds summed over all threads.
struct RoundSeconds {
  double scores = 0.0;
  double residuals = 0.0;
  double outer_product = 0.0;  ///< R^T Q

  RoundSeconds& operator+=(const RoundSeconds& other) {
    scores += other.scores;
    residuals += other.residuals;
    outer_product += other.outer_product;
    return *this;
  }
};

/// Largest number of classes for which rows are processed 256 at a time; each of several threads then has its own sums,
/// 8 K d bytes.
inline constexpr std::size_t kFewClasses = 64;

/// Residuals of chunks of rows at one point, and the gradient that they give.
class ChunkResiduals {
 public:
  /// Residuals at `point`, which outlives the object. With clipped_rows = B residuals are not weighed: each unit's
  /// residuals are clipped to B rows (weighted_rows.hpp), and chunks are of whole units. If the rows have `targets`,
  /// which outlive the object, residuals are those of the targets; if `targets` is null or has a count of 0, those of
  /// classes. Preconditions (asserted): targets go with Loss::kSquare; a prior has directions for all classes, and goes
  /// with Loss::kSoftmax.
  ChunkResiduals(const GradientPoint& point, unsigned threads, std::optional<std::uint64_t> clipped_rows = std::nullopt,
                 const TargetColumns* targets = nullptr);

  /// Computes the rows' scores and residuals (residuals.hpp). Cost: n K d multiply-adds, 10 K bytes a row; twice that
  /// with a prior.
  void assign(const LatticeRows& chunk);

  /// gradient <- gradient + R^T Q (K x d); computes the rows' residual norms too. With few classes some 256 rows are
  /// processed at a time, while they are in the cache: residuals and products are not kept, and memory a thread is 10 K
  /// bytes for each of these rows, and 8 K d. With many classes residuals are kept, 2 K bytes a row. Cost: 2 n K d
  /// multiply-adds. Precondition (asserted): K x d entries.
  void accumulate(const LatticeRows& chunk, std::span<std::int64_t> gradient);

  /// Returns rho, n x K, of the rows assigned last, weighed (weighted_rows.hpp). Precondition (asserted): units are not
  /// clipped.
  Int16View residuals() const { return {residuals_.data(), rows_, classes_, classes_}; }
  /// Returns |r|_2, before clipping, of one of the rows assigned or accumulated last.
  double residual_norm(std::size_t row) const { return norms_[row]; }
  /// Returns the exact products <q, w_c> of one of the rows assigned last, K entries.
  std::span<const std::int64_t> products(std::size_t row) const {
    return {products_.data() + row * classes_, classes_};
  }
  /// Returns u of one of those rows, K entries; empty without a prior.
  std::span<const double> prior(std::size_t row) const {
    return priors_ ? priors_->of_row(row) : std::span<const double>();
  }
  /// Returns the seconds of all calls so far.
  const RoundSeconds& seconds() const { return seconds_; }

  /// Calls step(row) once for every row assigned last, on the threads.
  void for_each_row(const std::function<void(std::size_t)>& step);

 private:
  // Working memory of one thread for rows [first, last) of a chunk.
  struct Block {
    std::vector<std::int64_t> products;
    std::vector<std::int16_t> residuals;
    SecretVector<std::int64_t> gradient;
    RoundSeconds seconds;
  };

  void take_residuals(const LatticeRows& chunk, std::size_t first, std::span<const std::int64_t> products,
                      std::span<std::int16_t> rho);
  void accumulate_block(const LatticeRows& chunk, std::size_t first, std::size_t end, Block& block,
                        std::span<std::int64_t> gradient);
  std::vector<std::size_t> ends_of_blocks(const LatticeRows& chunk) const;
  void clip_units(const LatticeRows& chunk, std::size_t first, std::span<std::int16_t> rho) const;
  void accumulate_few(const LatticeRows& chunk, std::span<std::int64_t> gradient);
  void take_all_residuals(const LatticeRows& chunk, const VisitProducts& keep = {});

  const GradientPoint& point_;
  std::size_t classes_;
  std::size_t dim_;
  unsigned threads_;
  std::optional<std::uint64_t> clipped_rows_;  // B
  ThreadTeam team_;
  std::unique_ptr<const RowFactors> weights_;
  std::size_t rows_ = 0;
  std::vector<std::int64_t> products_;
  std::vector<std::int16_t> residuals_;
  std::vector<double> norms_;
  const TargetColumns* targets_;  // null: rows have classes
  std::optional<ChunkPriors> priors_;
  std::vector<Block> blocks_;  // one a thread
  RoundSeconds seconds_;
};

// Rows whose Gram matrices are the Hessians of a linear classifier's loss, class by class.
//
//     H_c = sum_i w_ic q_i q_i^T = sum_i v_ic v_ic^T + rounding        v_ic = round(f_ic q_i),  f_ic = t_i sqrt(w_ic)
//     w_ic = p_ic (1 - p_ic), held to sum_c w_ic^2 <= B / S^4           B = hessian_bound
//     with a prior u (residuals.hpp):  w_ic = s_i p_ic (1 - p_ic),  s_i = p_iy / (p_iy + u_iy)
//
// -log((p_y + u_y) / 2) has a curvature of both signs: s (diag p - p p^T) - s (1 - s) (p - onehot(y)) (p -
// onehot(y))^T. The first term alone is the curvature of the loss's bound -s log p_y + constant, which touches the loss
// at W with the same gradient (Jensen's inequality, as in expectation-maximization). No sum of such terms is
// indefinite, and 0 <= s <= 1 keeps the bound B.
//
// t_i = 1, or the largest (1023 / 1024)^k, k < 8, for which sum_c |v_ic|^4 <= B, checked in integers; if there is none,
// the row counts in no Hessian. The v of a row has the same bits whatever other rows are processed with it.

/// Bound B on one row's sum_c |v_c|^4, checked in integers, row by row.
///
/// Softmax: sum_c w_c^2 <= max_c p_c (1 - p_c)^2 = 4 / 27, reached by three equal classes; two classes reach 1 / 8.
/// Sigmoid: each w_c <= 1 / 4, so that K / 16 bounds the sum; above K = 4 rows are held to 1 / 4, so that nothing grows
/// with the number of classes. B = floor of that times S^4.
/// Preconditions (asserted): classes >= 2; loss is not kSquare, whose curvature is 1 everywhere: its Hessian is the
/// Gram matrix.
std::uint64_t hessian_bound(Loss loss, std::size_t classes);

/// Writes f (K entries) of lattice row `q` with exact products <q, w_c>. For softmax and a row without a class, whose
/// loss is 0, f is zeros. `prior` is empty or, with Loss::kSoftmax, has K entries. Cost: K d roundings. Preconditions:
/// products, weight_factors and f have K >= 2 entries; loss is not kSquare.
void hessian_factors(std::span<const std::int16_t> q, std::span<const std::int64_t> products,
                     std::span<const double> weight_factors, std::span<const std::int32_t> classes, Loss loss,
                     std::span<double> f, std::span<const double> prior = {});

/// v = round(factor q), to nearest, ties to even. Preconditions: equal sizes; 0 <= factor <= 1.
void scale_row(std::span<const std::int16_t> q, double factor, std::span<std::int16_t> v);

}  // namespace dpreduce
