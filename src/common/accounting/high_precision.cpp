#include "common/accounting/high_precision.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>

namespace dpreduce {
namespace {

using Number =
    boost::multiprecision::number<boost::multiprecision::backends::cpp_bin_float<50>, boost::multiprecision::et_off>;

}  // namespace

// A number of fixed length holds its limbs in itself, nothing elsewhere: its bytes are its value, and copying them
// copies it.
struct HighPrecisionDigits {
  static_assert(sizeof(Number) <= sizeof(HighPrecision::digits_) && alignof(Number) <= alignof(HighPrecision));
  static_assert(std::is_trivially_destructible_v<Number>);  // holds nothing elsewhere
  static Number of(const HighPrecision& value) {
    Number number;
    std::memcpy(static_cast<void*>(&number), value.digits_, sizeof(Number));
    return number;
  }
  static void set(HighPrecision& value, const Number& number) {
    std::memcpy(value.digits_, static_cast<const void*>(&number), sizeof(Number));
  }
};

namespace {

Number number(const HighPrecision& value) {
  return HighPrecisionDigits::of(value);
}

HighPrecision digits(const Number& number) {
  HighPrecision value;
  HighPrecisionDigits::set(value, number);
  return value;
}

}  // namespace

HighPrecision::HighPrecision(double value) {
  HighPrecisionDigits::set(*this, Number(value));
}

HighPrecision::HighPrecision(unsigned long long value) {
  HighPrecisionDigits::set(*this, Number(value));
}

HighPrecision::HighPrecision(long long value) {
  HighPrecisionDigits::set(*this, Number(value));
}

HighPrecision::HighPrecision(const char* decimal) {
  HighPrecisionDigits::set(*this, Number(decimal));
}

HighPrecision::operator double() const {
  return static_cast<double>(number(*this));
}

HighPrecision HighPrecision::operator-() const {
  return digits(-number(*this));
}

HighPrecision& HighPrecision::operator+=(const HighPrecision& other) {
  return *this = digits(number(*this) + number(other));
}

HighPrecision& HighPrecision::operator-=(const HighPrecision& other) {
  return *this = digits(number(*this) - number(other));
}

HighPrecision& HighPrecision::operator*=(const HighPrecision& other) {
  return *this = digits(number(*this) * number(other));
}

HighPrecision& HighPrecision::operator/=(const HighPrecision& other) {
  return *this = digits(number(*this) / number(other));
}

int HighPrecision::compare(const HighPrecision& other) const {
  return number(*this).compare(number(other));
}

HighPrecision sqrt(const HighPrecision& x) {
  return digits(boost::multiprecision::sqrt(number(x)));
}

HighPrecision exp(const HighPrecision& x) {
  return digits(boost::multiprecision::exp(number(x)));
}

HighPrecision expm1(const HighPrecision& x) {
  return digits(boost::multiprecision::expm1(number(x)));
}

HighPrecision log(const HighPrecision& x) {
  return digits(boost::multiprecision::log(number(x)));
}

HighPrecision fabs(const HighPrecision& x) {
  return digits(boost::multiprecision::fabs(number(x)));
}

HighPrecision erfc(const HighPrecision& x) {
  return digits(boost::math::erfc(number(x)));
}

HighPrecision erfc_inv(const HighPrecision& x) {
  return digits(boost::math::erfc_inv(number(x)));
}

HighPrecision root_two() {
  return digits(boost::math::constants::root_two<Number>());
}

HighPrecision one_div_root_two_pi() {
  return digits(boost::math::constants::one_div_root_two_pi<Number>());
}

double round_up(const HighPrecision& value) {
  double rounded = static_cast<double>(value);
  while (HighPrecision(rounded) < value) rounded = std::nextafter(rounded, std::numeric_limits<double>::infinity());
  return rounded;
}

double round_down(const HighPrecision& value) {
  double rounded = static_cast<double>(value);
  while (HighPrecision(rounded) > value) rounded = std::nextafter(rounded, -std::numeric_limits<double>::infinity());
  return rounded;
}

}  // namespace dpreduce
