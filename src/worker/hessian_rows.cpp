#include "worker/hessian_rows.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/error.hpp"
#include "common/kernels/vector_width.hpp"
#include "worker/residuals.hpp"
#include "worker/statistic_entry.hpp"

namespace dpreduce {
namespace {

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
