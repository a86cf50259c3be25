#include "common/accounting/gaussian_dp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <boost/math/distributions/normal.hpp>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/dear_functions.hpp"
#include "common/accounting/high_precision.hpp"

namespace dpreduce {
namespace {

// Bounds the relative error of every root and tail below, with room: erfc is good to 44 digits up to arguments of 1e4,
// the difference of the two tails cancels at most 22 of them (at mu = 1e-20, delta > 1e-308).
const HighPrecision kTailError("1e-20");
const HighPrecision kRootTolerance("1e-30");
constexpr int kMaxRootSteps = 300;

HighPrecision normal_cdf(const HighPrecision& x) {
  return erfc(-x / root_two()) / 2;
}

HighPrecision normal_density(const HighPrecision& x) {
  static const HighPrecision inverse_root_two_pi(
      "0.3989422804014326779399460599343818684758586311649346576659258296706579258993");
  return exp(-x * x / 2) * inverse_root_two_pi;
}

// The hockey-stick divergence of N(mu, 1) from N(0, 1), and the second of its two terms.
struct HockeyStick {
  HighPrecision delta;
  HighPrecision shifted_tail;  // e^epsilon Phi(-mu/2 - epsilon/mu) = -d delta / d epsilon
};

HockeyStick hockey_stick(const HighPrecision& epsilon, const HighPrecision& mu) {
  const HighPrecision tail = normal_cdf(mu / 2 - epsilon / mu);
  const HighPrecision shifted_tail = exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu);
  return {tail - shifted_tail, shifted_tail};
}

// Root of delta(epsilon, mu) = delta in mu: Newton for log delta against log mu. That curve is increasing and concave,
// so that the steps from the left never pass the root; a bracket guards them all the same.
HighPrecision solve_mu(const HighPrecision& epsilon, const HighPrecision& delta) {
  HighPrecision low(kSmallestMu);
  HighPrecision high(kLargestMu);
  // The simple zCDP conversion gives too small a mu: sqrt(2 rho), sqrt(rho) = sqrt(L + epsilon) - sqrt(L).
  const HighPrecision log_inverse_delta = -log(delta);
  const HighPrecision simple = root_two() * epsilon / (sqrt(log_inverse_delta + epsilon) + sqrt(log_inverse_delta));
  HighPrecision mu = simple > low ? simple : low;
  for (int step = 0; step < kMaxRootSteps; ++step) {
    const HighPrecision value = hockey_stick(epsilon, mu).delta;
    (value <= delta ? low : high) = mu;
    // d delta / d mu = phi(mu/2 - epsilon/mu), so d log delta / d log mu = mu phi / delta.
    HighPrecision next = low * sqrt(high / low);
    if (value > 0) {
      const HighPrecision slope = mu * normal_density(mu / 2 - epsilon / mu) / value;
      const HighPrecision root = mu * exp(-log(value / delta) / slope);
      if (root > low && root < high) next = root;
      if (std::max(root - mu, mu - root) <= kRootTolerance * mu) return root;
    }
    mu = next;
  }
  return low;
}

// Root of delta(epsilon, mu) = delta in epsilon: Newton for log delta, which is decreasing and concave in epsilon, so
// that the steps from the right never pass the root; a bracket guards them all the same.
HighPrecision solve_epsilon(const HighPrecision& mu, const HighPrecision& delta) {
  const HighPrecision rho = mu * mu / 2;
  HighPrecision low(0);
  HighPrecision high = rho + 2 * sqrt(-rho * log(delta));  // simple zCDP conversion: never too small
  HighPrecision epsilon = high;
  for (int step = 0; step < kMaxRootSteps; ++step) {
    const HockeyStick stick = hockey_stick(epsilon, mu);
    (stick.delta > delta ? low : high) = epsilon;
    HighPrecision next = (low + high) / 2;
    if (stick.delta > 0) {
      const HighPrecision root = epsilon + log(stick.delta / delta) * stick.delta / stick.shifted_tail;
      if (root > low && root < high) next = root;
      if (std::max(root - epsilon, epsilon - root) <= kRootTolerance * epsilon) return root;
    }
    epsilon = next;
  }
  return high;
}

constexpr double kRoundingOfDouble = 1e-12;

double raised(double power) {
  return std::min(1.0, power * (1.0 + kRoundingOfDouble));
}

double attack_cdf(double x) {
  return boost::math::cdf(boost::math::normal(), x);
}

double computed_epsilon(double mu, double delta) {
  require_between("mu", mu, kSmallestMu, kLargestMu);
  require_probability("delta", delta);
  const HighPrecision target = HighPrecision(delta) * (1 - kTailError);
  if (hockey_stick(0, mu).delta <= target) return 0;
  double epsilon = round_up(solve_epsilon(mu, target));
  while (hockey_stick(epsilon, mu).delta > target) {
    epsilon = std::nextafter(epsilon, std::numeric_limits<double>::infinity());
  }
  return epsilon;
}

[[noreturn]] void refuse_small_budget(double epsilon, double delta) {
  throw UsageError(
      "epsilon = {}, delta = {}: so small a budget needs noise beyond 1e20 times the sensitivity; give a larger one",
      print_number(epsilon), print_number(delta));
}

double computed_mu(double epsilon, double delta) {
  require_between("epsilon", epsilon, 0, kLargestEpsilon);
  require_probability("delta", delta);
  const HighPrecision target = HighPrecision(delta) * (1 - kTailError);
  if (hockey_stick(epsilon, kSmallestMu).delta > target) refuse_small_budget(epsilon, delta);
  double mu = round_down(solve_mu(epsilon, target));
  while (hockey_stick(epsilon, mu).delta > target) mu = std::nextafter(mu, 0.0);
  return mu;
}

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

double gdp_epsilon(double mu, double delta) {
  static Remembered<std::pair<double, double>, double> answers;
  return answers.to({mu, delta}, [&] { return computed_epsilon(mu, delta); });
}

double gdp_mu(double epsilon, double delta) {
  static Remembered<std::pair<double, double>, double> answers;
  return answers.to({epsilon, delta}, [&] { return computed_mu(epsilon, delta); });
}

double sigma_for_mu(double mu, double sensitivity, std::uint64_t steps) {
  require_between("mu", mu, kSmallestMu, kLargestMu);
  require_positive("sensitivity", sensitivity);
  if (steps == 0) throw UsageError("steps = 0: must be at least 1");
  const HighPrecision one_step = HighPrecision(sensitivity) / mu;
  const double sigma = round_up(steps == 1 ? one_step : one_step * sqrt(HighPrecision(steps)) * (1 + kTailError));
  require_positive("sigma", sigma);
  return sigma;
}

double gdp_compose(std::span<const double> mus) {
  HighPrecision squared_mu = 0;
  for (const double mu : mus) {
    if (!(mu >= 0) || !std::isfinite(mu)) {
      throw UsageError("mu = " + print_number(mu) + ": must be a finite number, at least 0");
    }
    squared_mu += HighPrecision(mu) * mu;
  }
  return round_up(sqrt(squared_mu) * (1 + kTailError));
}

double gdp_attack_power(double mu, double alpha) {
  require_between("mu", mu, kSmallestMu, kLargestMu);
  require_probability("false-positive rate", alpha);
  return raised(attack_cdf(boost::math::quantile(boost::math::normal(), alpha) + mu));
}

double attack_power(double epsilon, double delta, double alpha) {
  require_between("epsilon", epsilon, 0.0, std::numeric_limits<double>::max());
  if (delta != 0.0) require_probability("delta", delta);
  require_probability("false-positive rate", alpha);
  return raised(std::min(std::exp(epsilon) * alpha + delta, 1.0 - std::exp(-epsilon) * (1.0 - delta - alpha)));
}

double gdp_even_odds_accuracy(double mu) {
  require_between("mu", mu, kSmallestMu, kLargestMu);
  return raised(attack_cdf(mu / 2.0));
}

std::vector<NoiseOfBlock> split_blocks(std::span<const WeightedBlock> blocks, double mu) {
  if (blocks.empty()) throw UsageError("no block to give noise to: give at least one");
  HighPrecision total = 0;  // sum_j D_j sqrt(W_j)
  for (const WeightedBlock& block : blocks) {
    require_positive("sensitivity of a block", block.sensitivity);
    require_positive("loss weight of a block", block.loss_weight);
    total += block.sensitivity * sqrt(HighPrecision(block.loss_weight));
  }
  require_between("mu", mu, kSmallestMu, kLargestMu);

  const HighPrecision squared_mu = HighPrecision(mu) * mu;
  std::vector<NoiseOfBlock> noise;
  for (const WeightedBlock& block : blocks) {
    const HighPrecision sensitivity = block.sensitivity;
    const HighPrecision variance = sensitivity / sqrt(HighPrecision(block.loss_weight)) * total / squared_mu;
    const double sigma = round_up(sqrt(variance) * (1 + kArithmeticError));
    require_positive("sigma of a block", sigma);
    const HighPrecision realized = HighPrecision(sigma) * sigma;
    noise.push_back({.sigma = sigma,
                     .variance = round_up(realized),
                     .share_of_mu2 = static_cast<double>(sensitivity * sensitivity / (realized * squared_mu))});
  }
  return noise;
}

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
  if (rho < HighPrecision(kSmallestRho)) refuse_small_budget(epsilon, delta);
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
