// Arithmetic with 50 decimal digits and a huge exponent range, and its two honest ways back to double.
//
// A privacy parameter is first computed here, with an error far below half an ulp of double, and then rounded once
// toward the side that promises less: noise up, mu down, epsilon and delta up.
//
// The digits are Boost.Multiprecision's; its headers, which take seconds to parse, stay in high_precision.cpp.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace dpreduce {

struct HighPrecisionDigits;

/// 168 bits of significand, exponents to +-2^31: exp(1e8) is a number, and Phi(-1e4) is not zero.
class HighPrecision {
 public:
  HighPrecision() : HighPrecision(0.0) {}
  HighPrecision(double value);
  HighPrecision(int value) : HighPrecision(static_cast<double>(value)) {}
  HighPrecision(std::uint64_t value);
  /// A number in decimal notation.
  explicit HighPrecision(const char* decimal);
  HighPrecision(const HighPrecisionDigits& digits);
  explicit operator double() const;  ///< the nearest

  HighPrecision operator-() const;
  HighPrecision& operator+=(const HighPrecision& other);
  HighPrecision& operator-=(const HighPrecision& other);
  HighPrecision& operator*=(const HighPrecision& other);
  HighPrecision& operator/=(const HighPrecision& other);
  friend HighPrecision operator+(HighPrecision a, const HighPrecision& b) { return a += b; }
  friend HighPrecision operator-(HighPrecision a, const HighPrecision& b) { return a -= b; }
  friend HighPrecision operator*(HighPrecision a, const HighPrecision& b) { return a *= b; }
  friend HighPrecision operator/(HighPrecision a, const HighPrecision& b) { return a /= b; }
  friend bool operator==(const HighPrecision& a, const HighPrecision& b) { return a.compare(b) == 0; }
  friend std::weak_ordering operator<=>(const HighPrecision& a, const HighPrecision& b) { return a.compare(b) <=> 0; }

 private:
  friend struct HighPrecisionDigits;  // what the bytes hold, in high_precision.cpp
  int compare(const HighPrecision& other) const;

  alignas(std::max_align_t) std::byte digits_[64];
};

HighPrecision sqrt(const HighPrecision& x);
HighPrecision exp(const HighPrecision& x);
HighPrecision expm1(const HighPrecision& x);
HighPrecision log(const HighPrecision& x);
HighPrecision erfc(const HighPrecision& x);      ///< to 44 digits up to arguments of 1e4
HighPrecision erfc_inv(const HighPrecision& x);  ///< of 0 < x < 2

inline const HighPrecision& root_two() {
  static const HighPrecision root = sqrt(HighPrecision(2));
  return root;
}

/// Far above the rounding of 50 digits in sums, products and roots without cancellation; far below that of double.
inline const HighPrecision kArithmeticError("1e-40");

/// The smallest double >= value.
double round_up(const HighPrecision& value);

/// The largest double <= value.
double round_down(const HighPrecision& value);

}  // namespace dpreduce
