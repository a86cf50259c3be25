#include "common/accounting/attack_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/math/distributions/normal.hpp>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/gaussian_dp.hpp"

namespace dpreduce {
namespace {

constexpr double kRoundingOfDouble = 1e-12;

double raised(double power) {
  return std::min(1.0, power * (1.0 + kRoundingOfDouble));
}

double attack_cdf(double x) {
  return boost::math::cdf(boost::math::normal(), x);
}

}  // namespace

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

}  // namespace dpreduce
