// Arithmetic with 50 decimal digits and a huge exponent range, and its two honest ways back to double.
//
// A privacy parameter is first computed here, with an error far below half an ulp of double, and then rounded once
// toward the side that promises less: noise up, mu down, epsilon and delta up.
#pragma once

#include <cmath>
#include <limits>

#include <boost/multiprecision/cpp_bin_float.hpp>

namespace dpreduce {

/// 168 bits of significand, exponents to +-2^31: exp(1e8) is a number, and Phi(-1e4) is not zero.
using HighPrecision =
    boost::multiprecision::number<boost::multiprecision::backends::cpp_bin_float<50>, boost::multiprecision::et_off>;

/// Far above the rounding of 50 digits in sums, products and roots without cancellation; far below that of double.
inline const HighPrecision kArithmeticError("1e-40");

/// The smallest double >= value.
inline double round_up(const HighPrecision& value) {
  double rounded = static_cast<double>(value);
  while (HighPrecision(rounded) < value) rounded = std::nextafter(rounded, std::numeric_limits<double>::infinity());
  return rounded;
}

/// The largest double <= value.
inline double round_down(const HighPrecision& value) {
  double rounded = static_cast<double>(value);
  while (HighPrecision(rounded) > value) rounded = std::nextafter(rounded, -std::numeric_limits<double>::infinity());
  return rounded;
}

}  // namespace dpreduce
