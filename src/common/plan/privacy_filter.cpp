#include "common/plan/privacy_filter.hpp"

#include <cmath>
#include <string_view>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/accounting/zcdp.hpp"

namespace dpreduce {
namespace {

using Rational = boost::multiprecision::cpp_rational;

void check_spending(std::string_view name, double value) {
  if (value >= 0 && std::isfinite(value)) return;
  throw UsageError(std::string(name) + " = " + print_number(value) + ": must be a finite number, at least 0");
}

bool spend(Rational& spent, const Rational& amount, const Rational& budget) {
  const Rational total = spent + amount;
  if (total > budget) return false;
  spent = total;
  return true;
}

HighPrecision rounded(const Rational& value) {
  return HighPrecision(numerator(value)) / HighPrecision(denominator(value));
}

double root_up(const Rational& value) {
  return round_up(sqrt(rounded(value)) * (1 + kArithmeticError));
}

double root_down(const Rational& value) {
  return round_down(sqrt(rounded(value)) * (1 - kArithmeticError));
}

}  // namespace

GaussianFilter::GaussianFilter(double mu) {
  require_between("mu", mu, kSmallestMu, kLargestMu);
  squared_budget_ = Rational(mu) * Rational(mu);
}

bool GaussianFilter::try_spend(double mu_i) {
  check_spending("mu of the release", mu_i);
  return spend(squared_spent_, Rational(mu_i) * Rational(mu_i), squared_budget_);
}

double GaussianFilter::spent_mu() const {
  return root_up(squared_spent_);
}

double GaussianFilter::remaining_mu() const {
  return root_down(squared_budget_ - squared_spent_);
}

ZcdpFilter::ZcdpFilter(double rho) {
  require_between("rho", rho, kSmallestRho, kLargestRho);
  budget_ = Rational(rho);
}

bool ZcdpFilter::try_spend(double rho_i) {
  check_spending("rho of the release", rho_i);
  return spend(spent_, Rational(rho_i), budget_);
}

double ZcdpFilter::spent_rho() const {
  return round_up(rounded(spent_) * (1 + kArithmeticError));
}

double ZcdpFilter::remaining_rho() const {
  return round_down(rounded(budget_ - spent_) * (1 - kArithmeticError));
}

}  // namespace dpreduce
