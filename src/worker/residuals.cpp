#include "worker/residuals.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "common/base/error.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {
namespace {

constexpr double kSmallestExponent = -700.0;
constexpr std::size_t kLanes = 8;

double largest_of(std::span<const double> v) {
  EightDoubles largest = EightDoubles{} + v[0];
  EightDoubles entries;
  std::size_t c = 0;
  for (; c + kLanes <= v.size(); c += kLanes) {
    load(&v[c], entries);
    largest = largest < entries ? entries : largest;
  }
  double result = v[0];
  for (std::size_t lane = 0; lane < kLanes; ++lane) result = std::max(result, largest[lane]);
  for (; c < v.size(); ++c) result = std::max(result, v[c]);
  return result;
}

double sum_of(std::span<const double> v) {
  EightDoubles sums{};
  EightDoubles entries;
  std::size_t c = 0;
  for (; c + kLanes <= v.size(); c += kLanes) {
    load(&v[c], entries);
    sums += entries;
  }
  for (std::size_t lane = 0; c < v.size(); ++c, ++lane) sums[lane] += v[c];
  return sum_of_lanes(sums);
}

// x = k ln 2 + r, |r| <= ln(2)/2, and exp(r) by its Taylor polynomial of degree 13: remainder below 2^-57.
inline double exp_polynomial(double x) {
  constexpr double kInverseLn2 = 1.4426950408889634074;
  constexpr double kLn2High = 0x1.62e42feep-1;  // 33 bits: k kLn2High is exact for |k| < 2^20
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRoundToInteger = 6755399441055744.0;
  constexpr std::array<double, 14> kTaylor = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  const double bounded = std::max(x, kSmallestExponent);
  const double shifted = bounded * kInverseLn2 + kRoundToInteger;
  const double k = shifted - kRoundToInteger;
  const double r = (bounded - k * kLn2High) - k * kLn2Low;
  double sum = kTaylor[13];
  for (std::size_t degree = 13; degree-- > 0;) sum = sum * r + kTaylor[degree];
  // The low bits of `shifted` hold k as an integer: 2^k has k + 1023 as its exponent.
  const std::uint64_t exponent = (std::bit_cast<std::uint64_t>(shifted) + 1023) << 52;
  const double scaled = sum * std::bit_cast<double>(exponent);
  return x < kSmallestExponent ? 0.0 : scaled;
}

// v <- softmax(v)
void softmax(std::span<double> v) {
  const double largest = largest_of(v);
  for (double& entry : v) entry = exp_polynomial(entry - largest);
  const double inverse = 1.0 / sum_of(v);
  for (double& entry : v) entry *= inverse;
}

// v <- 1 / (1 + exp(-v)), from the exponential of -|v|
void sigmoid(std::span<double> v) {
  for (double& entry : v) {
    const double small = exp_polynomial(-std::abs(entry));
    entry = (entry < 0.0 ? small : 1.0) / (1.0 + small);
  }
}

}  // namespace

double exp_of_nonpositive(double x) {
  return exp_polynomial(x);
}

void class_probabilities(std::span<const std::int64_t> products, std::span<const double> factors, Loss loss,
                         std::span<double> p) {
  run_at_full_width([&](auto) {
    for (std::size_t c = 0; c < p.size(); ++c) p[c] = factors[c] * static_cast<double>(products[c]);
    if (loss == Loss::kSoftmax) softmax(p);
    if (loss == Loss::kSigmoid) sigmoid(p);
  });
}

void prior_probabilities(std::span<const std::int64_t> products, double row_length,
                         std::span<const double> direction_lengths, std::span<double> u) {
  run_at_full_width([&](auto) {
    for (std::size_t c = 0; c < u.size(); ++c) {
      const double lengths = row_length * direction_lengths[c];
      u[c] = lengths > 0.0 ? static_cast<double>(products[c]) / lengths : 0.0;
    }
    softmax(u);
  });
}

double share_of_head(std::span<const double> p, std::span<const double> prior, std::span<const std::int32_t> classes) {
  DPREDUCE_ASSERT(classes.size() == 1);
  const auto label = static_cast<std::size_t>(classes.front());
  return p[label] / (p[label] + prior[label]);
}

double lattice_residual(std::span<const std::int64_t> products, std::span<const double> factors,
                        std::span<const std::int32_t> classes, Loss loss, std::span<double> scratch,
                        std::span<std::int16_t> rho, std::span<const double> prior, double residual_norm) {
  DPREDUCE_ASSERT(loss != Loss::kSoftmax || classes.size() <= 1);
  if (loss == Loss::kSoftmax && classes.empty()) {
    std::fill(rho.begin(), rho.end(), std::int16_t{0});
    return 0.0;
  }
  class_probabilities(products, factors, loss, scratch);
  const double share = prior.empty() ? 1.0 : share_of_head(scratch, prior, classes);
  for (const std::int32_t label : classes) scratch[static_cast<std::size_t>(label)] -= 1.0;
  if (!prior.empty()) {
    for (double& entry : scratch) entry *= share;
  }

  const double norm = std::sqrt(squared_norm(scratch));
  const double divisor = std::max(norm, residual_norm);
  if (divisor != 1.0) {
    run_at_full_width([&](auto) {
      for (double& entry : scratch) entry /= divisor;
    });
  }
  quantize_row(scratch, Lattice{1.0, scratch.size()}, rho);
  return norm;
}

}  // namespace dpreduce
