#include "common/accounting/rdp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/dear_functions.hpp"

namespace dpreduce {
namespace {

constexpr double kRoundingMargin = 1e-11;
constexpr double kMostPoints = 1e5;
constexpr double kMostTerms = 4096;
constexpr double kNothing = -std::numeric_limits<double>::infinity();  // ln 0

// ln(e^a + e^b)
double log_add(double a, double b) {
  const double larger = std::max(a, b);
  return larger == kNothing ? larger : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

// ln(1 + e^x)
double log_one_plus_exp(double x) {
  return x > 40 ? x + std::exp(-x) : std::log1p(std::exp(x));
}

// ln((1 + y)^alpha - 1 - alpha y), y = e^loss - 1: what an outcome of ratio 1 + y adds to A_alpha - 1, since the mean
// of y under Q is 0. Never negative, so that sums of these keep all digits where A_alpha is all but 1.
double log_power_excess(double loss, double alpha) {
  if (loss == 0) return kNothing;
  const double y = std::expm1(loss);
  if (std::abs(y) < 0.2 && std::abs(alpha * y) < 1) {
    // C(alpha, 2) y^2 (1 + (alpha - 2)/3 y (1 + (alpha - 3)/4 y (...)))
    double tail = 1;
    for (double term = 30; term > 2; --term) tail = 1 + (alpha - term + 1) / term * y * tail;
    return std::log(alpha * (alpha - 1) / 2 * tail) + 2 * std::log(std::abs(y));
  }
  if (alpha * loss > 40) {
    const double rest = alpha * std::exp((1 - alpha) * loss) - (alpha - 1) * std::exp(-alpha * loss);
    return alpha * loss + std::log1p(-std::min(rest, 1.0));
  }
  return std::log(std::expm1(alpha * loss) - alpha * y);
}

// ln A_alpha for whole alpha: A_alpha - 1 = sum_(k >= 2) C(alpha, k) (1-q)^(alpha-k) q^k (e^((k^2-k) mu^2/2) - 1).
double log_moment_sum(double mu, double q, double alpha) {
  double log_binomial = std::log(alpha) + std::log((alpha - 1) / 2);
  double log_sum = kNothing;
  for (double k = 2; k <= alpha; ++k) {
    const double exponent = (k * k - k) / 2 * mu * mu;
    const double log_growth = exponent > 40 ? exponent : std::log(std::expm1(exponent));
    log_sum = log_add(log_sum, log_binomial + k * std::log(q) + (alpha - k) * std::log1p(-q) + log_growth);
    log_binomial += std::log((alpha - k) / (k + 1));
  }
  return log_one_plus_exp(log_sum);
}

// Points of the trapezoidal rule for the integral below, and their distance.
struct Trapezoid {
  double high, step, points;
};
constexpr double kTail = 9.5;  // Phi(-9.5) = 1e-21

Trapezoid trapezoid(double mu, double alpha) {
  const double high = alpha * mu + kTail;
  const double step = std::min(0.125, 0.25 / mu);
  return {high, step, (high + kTail) / step};
}

// A_alpha - 1 = int phi(u) (r^alpha - 1 - alpha (r - 1)) du, r = 1 - q + q e^(mu u - mu^2/2). The integrand is positive
// and analytic for |Im u| < pi/mu, so that the trapezoidal rule errs by less than e^(-2 pi min(4, pi/mu)/step + 8)
// relative: below 1e-16.
double log_moment_integral(double mu, double q, double alpha) {
  const Trapezoid rule = trapezoid(mu, alpha);
  const auto count = static_cast<std::int64_t>(std::ceil(rule.points));
  std::vector<double> logs(static_cast<std::size_t>(count) + 1);
  for (std::int64_t point = 0; point <= count; ++point) {
    const double u = -kTail + rule.step * static_cast<double>(point);
    const double t = mu * (u - mu / 2);
    const double log_ratio =
        t > 30 ? t + std::log(q) + std::log1p((1 - q) / q * std::exp(-t)) : std::log1p(q * std::expm1(t));
    logs[static_cast<std::size_t>(point)] = log_power_excess(log_ratio, alpha) - u * u / 2;
  }
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double value : logs) sum += std::exp(value - largest);
  return log_one_plus_exp(largest + std::log(sum * rule.step / std::sqrt(2 * std::numbers::pi)));
}

double log_moment(double mu, double q, double alpha) {
  const double below = std::floor(alpha);
  if (alpha == below && alpha <= kMostTerms) return log_moment_sum(mu, q, alpha);
  if (trapezoid(mu, alpha).points <= kMostPoints) return log_moment_integral(mu, q, alpha);
  // A mixture of a pair with no loss and the whole pair: divergences are quasi-convex.
  const double whole = alpha * (alpha - 1) * mu * mu / 2;
  if (alpha > kMostTerms) return whole;
  // ln E[X^alpha] is convex in alpha: its chord is an upper bound. A_1 = 1.
  const double low = below == 1 ? 0 : log_moment_sum(mu, q, below);
  return low + (alpha - below) * (log_moment_sum(mu, q, below + 1) - low);
}

struct RenyiDivergence {
  double alpha;

  double operator()(const GaussianMechanism& m) const {
    // A mixture of a pair with no loss and the pair 2 mu apart: A_alpha is jointly convex.
    if (m.is_exchange) {
      const double whole = 2 * alpha * (alpha - 1) / (m.noise_multiplier * m.noise_multiplier);
      return log_add(std::log1p(-m.q()), std::log(m.q()) + whole) / (alpha - 1);
    }
    if (m.q() == 1) return alpha / (2 * m.noise_multiplier * m.noise_multiplier);
    return log_moment(1 / m.noise_multiplier, m.q(), alpha) / (alpha - 1);
  }

  // Losses t and t - E with P[t] = (e^E - e^t) / (e^E - 1); with theta = alpha - 1, A_alpha is largest at
  // e^t = theta (e^E - e^(-theta E)) / ((theta + 1) (1 - e^(-theta E))).
  double operator()(const ExponentialMechanism& m) const {
    const double theta = alpha - 1;
    const double range = m.epsilon;
    const double log_t =
        range + std::log(theta / alpha) + std::log(-std::expm1(-alpha * range)) - std::log(-std::expm1(-theta * range));
    const double t = std::clamp(log_t, 0.0, range);
    // Masses under Q: (1 - e^(t-E)) e^-t / (1 - e^-E) on t, (1 - e^-t) / (1 - e^-E) on t - E.
    const double up = t < range ? std::log(-std::expm1(t - range)) - t + log_power_excess(t, alpha) : kNothing;
    const double down = t > 0 ? std::log(-std::expm1(-t)) + log_power_excess(t - range, alpha) : kNothing;
    return log_one_plus_exp(log_add(up, down) - std::log(-std::expm1(-range))) / theta;
  }

  // Losses E and -E, with masses 1/(1 + e^E) and 1/(1 + e^-E) under Q.
  double operator()(const PureMechanism& m) const {
    const double log_p = -std::log1p(std::exp(-m.epsilon));
    const double up = log_p - m.epsilon + log_power_excess(m.epsilon, alpha);
    const double down = log_p + log_power_excess(-m.epsilon, alpha);
    return log_one_plus_exp(log_add(up, down)) / (alpha - 1);
  }
};

double rdp_of_run(std::span<const RepeatedMechanism> run, double order) {
  double total = 0;
  for (const RepeatedMechanism& part : run) total += static_cast<double>(part.count) * rdp(part.mechanism, order);
  return total;
}

std::vector<double> orders_of_grid() {
  std::vector<double> orders;
  for (int tenth = 1; tenth < 100; ++tenth) orders.push_back(1 + tenth / 10.);
  for (int whole = 11; whole < 64; ++whole) orders.push_back(whole);
  for (const double power : {128., 256., 512., 1024.}) orders.push_back(power);
  return orders;
}

}  // namespace

double rdp(const Mechanism& mechanism, double order) {
  require_mechanism(mechanism);
  require_between("order alpha", order, kSmallestOrder, kLargestOrder);
  const double divergence = std::visit(RenyiDivergence{order}, mechanism);
  DPREDUCE_ASSERT(divergence >= 0);
  return divergence * (1 + kRoundingMargin);
}

double epsilon_from_rdp(double rdp, double order, double delta) {
  if (!(rdp >= 0)) throw UsageError("rdp = " + print_number(rdp) + ": must be a number of at least 0");
  if (!(order > 1) || !std::isfinite(order)) {
    throw UsageError("order alpha = " + print_number(order) + ": must be a finite number greater than 1");
  }
  require_probability("delta", delta);
  if (delta * delta + std::expm1(-rdp) > 0) return 0;
  if (order <= 1.01) return std::numeric_limits<double>::infinity();
  const double gain = std::log1p(-1 / order);
  const double price = (-std::log(delta) - std::log(order)) / (order - 1);
  const double epsilon = rdp + gain + price;
  const double rounding = 1e-15 * (rdp - gain + (std::abs(std::log(delta)) + std::log(order)) / (order - 1));
  return std::max(0.0, epsilon + rounding);
}

double rdp_epsilon(std::span<const RepeatedMechanism> run, double delta) {
  require_run(run);
  require_probability("delta", delta);
  double least = std::numeric_limits<double>::infinity();
  const auto epsilon_at = [&](double order) {
    const double epsilon = epsilon_from_rdp(rdp_of_run(run, order), order, delta);
    least = std::min(least, epsilon);
    return epsilon;
  };
  static const std::vector<double> orders = orders_of_grid();
  std::vector<double> epsilons;
  for (const double order : orders) epsilons.push_back(epsilon_at(order));
  const auto best = static_cast<std::size_t>(std::ranges::min_element(epsilons) - epsilons.begin());
  // Orders below the grid's first serve huge budgets; those above its last, tiny ones.
  const double low = best == 0 ? 1.0101 : orders[best - 1];
  const double high = best + 1 == orders.size() ? kLargestOrder : orders[best + 1];
  golden_section(std::log(low - 1), std::log(high - 1), 60, [&](double log_excess) {
    return epsilon_at(std::clamp(1 + std::exp(log_excess), kSmallestOrder, kLargestOrder));
  });
  return least;
}

}  // namespace dpreduce
