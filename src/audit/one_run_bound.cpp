#include "dpreduce/audit/one_run_bound.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/binomial.hpp>

#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

constexpr double kLargestEpsilon = 64.0;
constexpr double kStep = 1e-6;
constexpr double kFewestGuesses = 16;

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

// The share of right guesses among those about the `share` most extreme of scores N(-mu/2, 1) and N(mu/2, 1).
double expected_accuracy(double mu, double share) {
  double low = 0.0;
  double high = mu + 10.0;
  for (int step = 0; step < 60; ++step) {
    const double t = (low + high) / 2;
    (normal_cdf(mu / 2 - t) + normal_cdf(-mu / 2 - t) > share ? low : high) = t;
  }
  const double right = normal_cdf(mu / 2 - low);
  return right / (right + normal_cdf(-mu / 2 - low));
}

}  // namespace

double one_run_p_value(std::size_t canaries, std::size_t guesses, std::size_t correct, double epsilon, double delta) {
  DPREDUCE_ASSERT(correct <= guesses && guesses <= canaries);
  DPREDUCE_ASSERT(epsilon >= 0.0 && delta >= 0.0 && delta <= 1.0);
  if (correct == 0) return 1.0;
  const double q = 1.0 / (1.0 + std::exp(-epsilon));
  const double odds_against = std::exp(-epsilon);  // (1 - q) / q
  const auto r = static_cast<double>(guesses);
  const auto v = static_cast<double>(correct);
  const boost::math::binomial_distribution<> w(r, q);
  const double tail = boost::math::cdf(boost::math::complement(w, v - 1.0));

  double alpha = 0.0;
  if (delta > 0.0) {
    double mass = boost::math::pdf(w, v - 1.0);  // P[W = v - i]
    double below = 0.0;                          // P[v - i <= W < v]
    for (std::size_t i = 1; i <= correct; ++i) {
      below += mass;
      alpha = std::max(alpha, below / static_cast<double>(i));
      const double k = v - static_cast<double>(i);
      mass *= k / (r - k + 1.0) * odds_against;
    }
  }
  return std::min(1.0, tail + 2.0 * static_cast<double>(canaries) * delta * alpha);
}

double one_run_epsilon(std::size_t canaries, std::size_t guesses, std::size_t correct, double delta, double error) {
  DPREDUCE_ASSERT(error > 0.0 && error < 1.0);
  double low = 0.0;
  double high = kLargestEpsilon;
  if (one_run_p_value(canaries, guesses, correct, low, delta) >= error) return 0.0;
  while (high - low > kStep) {
    const double middle = (low + high) / 2;
    (one_run_p_value(canaries, guesses, correct, middle, delta) < error ? low : high) = middle;
  }
  return low;
}

std::size_t best_guess_count(std::size_t canaries, double mu, double delta, double error) {
  DPREDUCE_ASSERT(canaries >= 2 && mu > 0.0);
  const auto all = static_cast<double>(canaries);
  std::size_t best = canaries;
  double best_epsilon = -1.0;
  for (double share = 1.0; share == 1.0 || share * all >= kFewestGuesses; share *= 0.8) {
    const double guesses = std::floor(share * all);
    const double correct = std::round(expected_accuracy(mu, share) * guesses);
    const double epsilon =
        one_run_epsilon(canaries, static_cast<std::size_t>(guesses), static_cast<std::size_t>(correct), delta, error);
    if (epsilon <= best_epsilon) continue;
    best_epsilon = epsilon;
    best = static_cast<std::size_t>(guesses);
  }
  return best;
}

}  // namespace dpreduce
