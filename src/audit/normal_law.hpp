// The standard normal law in double: for attacks and their bounds, whose errors are far larger.
#pragma once

#include <cmath>

#include <boost/math/special_functions/erf.hpp>

namespace dpreduce {

/// Phi(x).
inline double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

/// x with Phi(x) = p. Precondition: 0 < p < 1.
inline double normal_quantile(double p) {
  return -std::sqrt(2.0) * boost::math::erfc_inv(2.0 * p);
}

}  // namespace dpreduce
