#include "common/accounting/high_precision.hpp"

#include <cmath>
#include <cstring>
#include <limits>

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
  Number number;
};

namespace {

constexpr auto& number = HighPrecisionDigits::of;
using Digits = HighPrecisionDigits;

}  // namespace

HighPrecision::HighPrecision(const HighPrecisionDigits& digits) {
  std::memcpy(digits_, static_cast<const void*>(&digits.number), sizeof(Number));
}
HighPrecision::HighPrecision(double value) : HighPrecision(Digits{Number(value)}) {}
HighPrecision::HighPrecision(std::uint64_t value) : HighPrecision(Digits{Number(value)}) {}
HighPrecision::HighPrecision(const char* decimal) : HighPrecision(Digits{Number(decimal)}) {}

HighPrecision::operator double() const {
  return static_cast<double>(number(*this));
}

HighPrecision HighPrecision::operator-() const {
  return Digits{-number(*this)};
}

HighPrecision& HighPrecision::operator+=(const HighPrecision& other) {
  return *this = Digits{number(*this) + number(other)};
}

HighPrecision& HighPrecision::operator-=(const HighPrecision& other) {
  return *this = Digits{number(*this) - number(other)};
}

HighPrecision& HighPrecision::operator*=(const HighPrecision& other) {
  return *this = Digits{number(*this) * number(other)};
}

HighPrecision& HighPrecision::operator/=(const HighPrecision& other) {
  return *this = Digits{number(*this) / number(other)};
}

int HighPrecision::compare(const HighPrecision& other) const {
  return number(*this).compare(number(other));
}

HighPrecision sqrt(const HighPrecision& x) {
  return Digits{boost::multiprecision::sqrt(number(x))};
}

HighPrecision exp(const HighPrecision& x) {
  return Digits{boost::multiprecision::exp(number(x))};
}

HighPrecision expm1(const HighPrecision& x) {
  return Digits{boost::multiprecision::expm1(number(x))};
}

HighPrecision log(const HighPrecision& x) {
  return Digits{boost::multiprecision::log(number(x))};
}

HighPrecision erfc(const HighPrecision& x) {
  return Digits{boost::math::erfc(number(x))};
}

HighPrecision erfc_inv(const HighPrecision& x) {
  return Digits{boost::math::erfc_inv(number(x))};
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
