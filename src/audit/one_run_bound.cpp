#include "audit/one_run_bound.hpp"

#include <algorithm>
#include <cmath>

#include "audit/confidence_bounds.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr double kLargestMu = 64.0;
constexpr double kLargestEpsilon = 64.0;
constexpr double kStep = 1e-6;
constexpr double kStepOfChoice = 1e-3;  // of best_guess_count: the number of guesses is no bound
constexpr double kFewestGuesses = 16;

void require_counts(const CoinGuesses& seen, double error) {
  DPREDUCE_ASSERT(seen.canaries >= 1 && seen.guesses <= seen.canaries && seen.correct <= seen.guesses);
  DPREDUCE_ASSERT(error > 0.0 && error < 1.0);
}

// Whether the smallest tails pass 1; `inverse` is G.
template <typename Inverse>
bool refutes(const CoinGuesses& seen, double error, Inverse inverse) {
  const auto m = static_cast<double>(seen.canaries);
  const auto r = static_cast<double>(seen.guesses);
  double tail = error;      // S_i
  double tail_sum = error;  // U_i
  for (auto i = static_cast<double>(seen.correct); i >= 1.0; --i) {
    const double right = tail_sum + (i - 1.0) * tail;  // A_i
    if (right >= m) return true;
    const double next = (tail_sum + m * inverse(right / m)) / (r - i + 1.0);
    if (next > 1.0) return true;
    if (next <= tail) return false;  // A stays where it is from here on, and so does the tail
    tail = next;
    tail_sum += next;
  }
  return false;
}

// The largest value in [0, most] that is refuted, to a step; 0 where none is. What refutes a value refutes smaller
// ones.
template <typename Refuted>
double largest_refuted(double most, double step, Refuted refuted) {
  if (!refuted(0.0)) return 0.0;
  double low = 0.0;
  double high = most;
  while (high - low > step) {
    const double middle = (low + high) / 2;
    (refuted(middle) ? low : high) = middle;
  }
  return low;
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

bool refutes_mu(const CoinGuesses& seen, double mu, double error) {
  require_counts(seen, error);
  DPREDUCE_ASSERT(mu >= 0.0);
  return refutes(seen, error, [mu](double y) { return normal_cdf(normal_quantile(y) - mu); });
}

bool refutes_epsilon(const CoinGuesses& seen, double epsilon, double delta, double error) {
  require_counts(seen, error);
  DPREDUCE_ASSERT(epsilon >= 0.0 && delta >= 0.0 && delta < 1.0);
  const double odds = std::exp(epsilon);
  return refutes(seen, error, [=](double y) {
    return std::max({(y - delta) / odds, 1.0 - delta - odds * (1.0 - y), 0.0});
  });
}

double one_run_mu(const CoinGuesses& seen, double error) {
  return largest_refuted(kLargestMu, kStep, [&](double mu) { return refutes_mu(seen, mu, error); });
}

double one_run_epsilon(const CoinGuesses& seen, double delta, double error) {
  return largest_refuted(kLargestEpsilon, kStep,
                         [&](double epsilon) { return refutes_epsilon(seen, epsilon, delta, error); });
}

std::size_t best_guess_count(std::size_t canaries, double mu, double error) {
  DPREDUCE_ASSERT(canaries >= 2 && mu > 0.0);
  const auto all = static_cast<double>(canaries);
  std::size_t best = canaries;
  double best_mu = -1.0;
  for (double share = 1.0; share == 1.0 || share * all >= kFewestGuesses; share *= 0.8) {
    const double guesses = std::floor(share * all);
    const double correct = std::floor(expected_accuracy(mu, share) * guesses);
    const CoinGuesses expected{canaries, static_cast<std::size_t>(guesses), static_cast<std::size_t>(correct)};
    const double proven =
        largest_refuted(mu + 1.0, kStepOfChoice * mu, [&](double other) { return refutes_mu(expected, other, error); });
    if (proven <= best_mu) continue;
    best_mu = proven;
    best = expected.guesses;
  }
  return best;
}

}  // namespace dpreduce
