#include "audit/confidence_bounds.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/special_functions/erf.hpp>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

using Binomial = boost::math::binomial_distribution<>;  // its bounds are those of Clopper and Pearson

constexpr double kLargestEpsilonToCheck = 500.0;
constexpr int kBisections = 200;

double delta_of(double epsilon, double mu) {
  // ln(e^epsilon Phi(-a)) in one piece, where e^epsilon is large and Phi tiny.
  const double a = mu / 2 + epsilon / mu;
  const double subtrahend = a < 30.0 ? std::exp(epsilon) * normal_cdf(-a) : std::exp(epsilon - a * a / 2) / a * 0.3989;
  return normal_cdf(mu / 2 - epsilon / mu) - subtrahend;
}

// The crossing of an increasing condition between low (false) and high (true), on a logarithmic scale.
template <typename Condition>
double bisect(double low, double high, Condition holds) {
  for (int step = 0; step < kBisections; ++step) {
    const double middle = std::sqrt(low * high);
    (holds(middle) ? high : low) = middle;
  }
  return low;
}

void check_counts(std::size_t successes, std::size_t trials, double error) {
  DPREDUCE_ASSERT(trials >= 1 && successes <= trials);
  DPREDUCE_ASSERT(error > 0.0 && error < 1.0);
}

}  // namespace

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

double normal_quantile(double p) {
  return -std::sqrt(2.0) * boost::math::erfc_inv(2.0 * p);
}

double binomial_lower_bound(std::size_t successes, std::size_t trials, double error) {
  check_counts(successes, trials, error);
  return Binomial::find_lower_bound_on_p(static_cast<double>(trials), static_cast<double>(successes), error);
}

double binomial_upper_bound(std::size_t successes, std::size_t trials, double error) {
  check_counts(successes, trials, error);
  return Binomial::find_upper_bound_on_p(static_cast<double>(trials), static_cast<double>(successes), error);
}

double epsilon_lower_bound(const AttackCounts& counts, Side side, double delta, double error) {
  DPREDUCE_ASSERT(delta >= 0.0 && delta < 1.0);
  const bool accuses = side == Side::kAccusals;
  const std::size_t likely = accuses ? counts.true_positives : counts.world_0 - counts.false_positives;
  const std::size_t unlikely = accuses ? counts.false_positives : counts.world_1 - counts.true_positives;
  const double low = binomial_lower_bound(likely, accuses ? counts.world_1 : counts.world_0, error / 2) - delta;
  const double high = binomial_upper_bound(unlikely, accuses ? counts.world_0 : counts.world_1, error / 2);
  return low > 0.0 ? std::max(0.0, std::log(low / high)) : 0.0;
}

double mu_lower_bound(const AttackCounts& counts, double error) {
  const double true_rate = binomial_lower_bound(counts.true_positives, counts.world_1, error / 2);
  const double false_rate = binomial_upper_bound(counts.false_positives, counts.world_0, error / 2);
  if (true_rate <= false_rate) return 0.0;
  return normal_quantile(true_rate) - normal_quantile(false_rate);
}

double mu_of_claim(double epsilon, double delta) {
  DPREDUCE_ASSERT(epsilon >= 0.0 && epsilon <= kLargestEpsilonToCheck && delta > 0.0 && delta < 1.0);
  return bisect(1e-12, 1e4, [&](double mu) { return delta_of(epsilon, mu) > delta; });
}

double epsilon_of_mu(double mu, double delta) {
  DPREDUCE_ASSERT(mu >= 0.0 && delta > 0.0 && delta < 1.0);
  if (mu == 0.0 || delta_of(0.0, mu) <= delta) return 0.0;
  return bisect(1e-9, kLargestEpsilonToCheck, [&](double epsilon) { return delta_of(epsilon, mu) <= delta; });
}

}  // namespace dpreduce
