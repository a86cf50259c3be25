// A run may spend one of (epsilon, delta), rho or mu; it protects neighbors of one kind.
#pragma once

#include <optional>

#include "common/base/archive_all.hpp"
#include "common/base/spelling.hpp"

namespace dpreduce {

/// Which conversion links (epsilon, delta) with the noise of Gaussian releases.
///
/// kGdp: exact. kPld: the same, since the privacy loss of Gaussian releases is Gaussian and its exact conversion is the
/// GDP one. kZcdp: the tight zCDP conversion. kRdp: the same, since Gaussian releases have Renyi divergence alpha rho
/// at every real order alpha, and the best order is the tight conversion's.
enum class Accountant { kGdp, kZcdp, kRdp, kPld };
template <>
inline constexpr std::array spellings<Accountant>{
    std::pair{std::string_view{"gdp"}, Accountant::kGdp}, std::pair{std::string_view{"zcdp"}, Accountant::kZcdp},
    std::pair{std::string_view{"rdp"}, Accountant::kRdp}, std::pair{std::string_view{"pld"}, Accountant::kPld}};

/// Exactly one of (epsilon, delta), rho, mu; checked when a budget is made of it.
struct StatedBudget {
  std::optional<double> epsilon{};
  std::optional<double> delta{};
  std::optional<double> rho{};
  std::optional<double> mu{};
  bool operator==(const StatedBudget&) const = default;
};

template <typename Archive>
void serialize(Archive& archive, StatedBudget& options, unsigned) {
  auto& [epsilon, delta, rho, mu] = options;
  archive_all(archive, epsilon, delta, rho, mu);
}

/// Non-private goes without any of them.
struct BudgetOptions : StatedBudget {
  Accountant accountant = Accountant::kGdp;
  bool non_private = false;
  bool operator==(const BudgetOptions&) const = default;
};

template <typename Archive>
void serialize(Archive& archive, BudgetOptions& options, unsigned) {
  archive_all(archive, static_cast<StatedBudget&>(options), options.accountant, options.non_private);
}

/// Throws UsageError naming the option where a number that is stated is outside the range that a budget takes.
void require_ranges(const StatedBudget& stated);

/// A privacy budget, stated in one of three ways; what it allows is one number, mu.
class PrivacyBudget {
 public:
  /// Preconditions: exactly one of epsilon (with delta), rho, mu; 0 < epsilon <= kLargestEpsilon; 0 < delta < 1;
  /// kSmallestRho <= rho <= kLargestRho; kSmallestMu <= mu <= kLargestMu; no delta with rho or mu. Throws UsageError
  /// naming the options and their values.
  static PrivacyBudget from_options(const StatedBudget& options);
  static PrivacyBudget from_mu(double mu);

  /// The GDP parameter that all Gaussian releases together may reach, rounded down. For a budget in rho, mu = sqrt(2
  /// rho), with every accountant. Throws UsageError if (epsilon, delta) is too small to be met by any noise in range.
  double mu(Accountant accountant = Accountant::kGdp) const;

  /// The epsilon that a run with this budget can claim at the given delta, rounded up: at the budget's own delta its
  /// own epsilon, elsewhere what mu(accountant) converts to. Throws UsageError unless 0 < delta < 1.
  double epsilon_at(double delta, Accountant accountant = Accountant::kGdp) const;

  /// The figures as the user stated them; empty for a budget in rho or mu.
  std::optional<double> epsilon() const { return options_.epsilon; }
  std::optional<double> delta() const { return options_.delta; }

 private:
  explicit PrivacyBudget(const StatedBudget& options) : options_(options) {}
  StatedBudget options_;
};

}  // namespace dpreduce
