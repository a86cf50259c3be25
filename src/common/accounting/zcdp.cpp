#include "common/accounting/zcdp.hpp"

#include <algorithm>
#include <cmath>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"

namespace dpreduce {
namespace {

// Far above the rounding of 50 digits, far below that of double.
const HighPrecision kZcdpArithmeticError("1e-30");

HighPrecision log_inverse(double delta) {
  return -log(HighPrecision(delta));
}

// ln(1 - 1/alpha) + (L - ln alpha) / (alpha - 1), alpha = 1 + excess: what the order alpha adds to alpha rho.
HighPrecision order_cost(const HighPrecision& excess, const HighPrecision& log_inverse_delta) {
  const HighPrecision alpha = 1 + excess;
  return log(excess / alpha) + (log_inverse_delta - log(alpha)) / excess;
}

// The point where a decreasing function crosses zero on (kSmallestExcess, high), by bisection of the logarithm. Double
// is enough here: every order gives a true bound, and the bounds are flat around the best one.
constexpr double kSmallestExcess = 1e-30;

template <typename Decreasing>
double bisect_order(double high, Decreasing decreasing) {
  double low = kSmallestExcess;
  for (int step = 0; step < 200; ++step) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    if (middle <= low || middle >= high) break;
    (decreasing(middle) > 0 ? low : high) = middle;
  }
  return high;
}

// (L - ln alpha) / (alpha - 1)^2, the rho whose best order is alpha = 1 + excess: where the derivative of the bound,
// rho - (L - ln alpha) / (alpha - 1)^2, vanishes. It falls from infinity to 0 on 1 < alpha < 1/delta.
double rho_of_best_order(double excess, double log_inverse_delta) {
  return (log_inverse_delta - std::log1p(excess)) / excess / excess;
}

void require_rho(double rho) {
  require_between("rho", rho, kSmallestRho, kLargestRho);
}

}  // namespace

double epsilon_from_zcdp_simple(double rho, double delta) {
  require_rho(rho);
  require_probability("delta", delta);
  const HighPrecision exact_rho(rho);
  return round_up((exact_rho + 2 * sqrt(exact_rho * log_inverse(delta))) * (1 + kZcdpArithmeticError));
}

double epsilon_from_zcdp_tight(double rho, double delta) {
  require_rho(rho);
  require_probability("delta", delta);
  const double length = -std::log(delta);
  const HighPrecision excess(
      bisect_order(std::sqrt(length / rho), [&](double trial) { return rho_of_best_order(trial, length) - rho; }));
  const HighPrecision epsilon = (1 + excess) * HighPrecision(rho) + order_cost(excess, log_inverse(delta));
  return epsilon > 0 ? round_up(epsilon + kZcdpArithmeticError) : 0.0;
}

double zcdp_from_epsilon_tight(double epsilon, double delta) {
  require_positive("epsilon", epsilon, kLargestEpsilon);
  require_probability("delta", delta);
  // Along the best orders, rho(alpha) and epsilon(alpha) = alpha rho(alpha) + cost(alpha) both fall with alpha, from
  // infinity at 1 to rho = 0 and epsilon < 0 at 1/delta: one crossing.
  const double length = -std::log(delta);
  const double excess = bisect_order(std::min(1 / delta, 1e300), [&](double trial) {
    const double left = length - std::log1p(trial);
    return (1 + trial) * (left / trial / trial) + left / trial - std::log1p(1 / trial) - epsilon;
  });
  // Any order gives a true bound: alpha rho + cost(alpha) = epsilon.
  const HighPrecision exact_excess(excess);
  const HighPrecision rho =
      (HighPrecision(epsilon) - order_cost(exact_excess, log_inverse(delta))) / (1 + exact_excess);
  if (rho < HighPrecision(kSmallestRho)) {
    throw UsageError("epsilon = " + print_number(epsilon) + ", delta = " + print_number(delta) +
                     ": so small a budget needs noise beyond 1e20 times the sensitivity; give a larger one");
  }
  return round_down(rho * (1 - kZcdpArithmeticError));
}

double mu_from_zcdp(double rho) {
  require_rho(rho);
  return round_down(sqrt(2 * HighPrecision(rho)));
}

double zcdp_from_mu(double mu) {
  require_between("mu", mu, kSmallestMu, kLargestMu);
  return round_up(HighPrecision(mu) * mu / 2);
}

}  // namespace dpreduce
