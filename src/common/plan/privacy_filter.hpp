// Adaptive budgets: the parameters of later releases may depend on earlier outputs, as long as a filter admits them.
//
//   Gaussian   "stop before sum mu_i^2 would exceed mu^2" is mu-GDP (Smith and Thakurta 2022; Koskela et al. 2023)
//   zCDP       "stop before sum rho_i would exceed rho" is rho-zCDP (Feldman and Zrnic 2021)
//
// Sums are exact: doubles are dyadic rationals and are added up as such. So four releases of mu/2 fit into mu and
// nothing more, however small, does. A refused release costs nothing and later, smaller ones may still fit. Not for any
// other accountant: for epsilon and delta, or Renyi orders chosen afterwards, such a rule is not valid.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

namespace dpreduce {

class GaussianFilter {
 public:
  /// @pre kSmallestMu <= mu <= kLargestMu.  @throws UsageError naming the value.
  explicit GaussianFilter(double mu);
  /// True, and mu_i counts as spent, if sum mu^2 with it stays at most the budget's mu^2; otherwise nothing changes.
  /// @pre mu_i is finite and >= 0.  @throws UsageError naming the value.
  [[nodiscard]] bool try_spend(double mu_i);
  /// sqrt of the sum of what was spent, rounded up, and of what is left, rounded down.
  double spent_mu() const;
  double remaining_mu() const;

 private:
  boost::multiprecision::cpp_rational squared_budget_;
  boost::multiprecision::cpp_rational squared_spent_;
};

class ZcdpFilter {
 public:
  /// @pre kSmallestRho <= rho <= kLargestRho.  @throws UsageError naming the value.
  explicit ZcdpFilter(double rho);
  /// True, and rho_i counts as spent, if the sum of all rho with it stays at most the budget; else nothing changes.
  /// @pre rho_i is finite and >= 0.  @throws UsageError naming the value.
  [[nodiscard]] bool try_spend(double rho_i);
  /// What was spent, rounded up, and what is left, rounded down.
  double spent_rho() const;
  double remaining_rho() const;

 private:
  boost::multiprecision::cpp_rational budget_;
  boost::multiprecision::cpp_rational spent_;
};

}  // namespace dpreduce
