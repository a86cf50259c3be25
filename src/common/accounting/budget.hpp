// Privacy budgets as options state them, and what a run within one guarantees.
#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "common/base/described_types.hpp"

namespace dpreduce {

// A run may spend one of (epsilon, delta), rho or mu; it protects neighbors of one kind.

/// Conversion between (epsilon, delta) and the noise of Gaussian releases.
///
/// kGdp: exact. kPld: the same, since the privacy loss of Gaussian releases is Gaussian and its exact conversion is the
/// GDP one. kZcdp: the tight zCDP conversion. kRdp: the same, since Gaussian releases have Renyi divergence alpha rho
/// at every real order alpha, and the best order is the tight conversion's.
enum class Accountant { kGdp, kZcdp, kRdp, kPld };
template <>
inline constexpr auto spellings<Accountant> = spelled<Accountant>("gdp", "zcdp", "rdp", "pld");

/// Exactly one of (epsilon, delta), rho, mu.
struct GivenBudget {
  std::optional<double> epsilon{};
  std::optional<double> delta{};
  std::optional<double> rho{};
  std::optional<double> mu{};
  bool operator==(const GivenBudget&) const = default;
};

DPREDUCE_ARCHIVE(GivenBudget, epsilon, delta, rho, mu)

/// Non-private goes without any of them.
struct BudgetOptions : GivenBudget {
  Accountant accountant = Accountant::kGdp;
  bool non_private = false;
  bool operator==(const BudgetOptions&) const = default;
};

template <typename Archive>
void serialize(Archive& archive, BudgetOptions& options, unsigned) {
  archive_all(archive, static_cast<GivenBudget&>(options), options.accountant, options.non_private);
}

/// Throws UsageError naming the option if a declared number is outside the range that a budget accepts.
void require_ranges(const GivenBudget& stated);

/// Throws UsageError unless exactly one of (epsilon, delta), rho and mu is declared, in range: 0 < epsilon <=
/// kLargestEpsilon, 0 < delta < 1, kSmallestRho <= rho <= kLargestRho, kSmallestMu <= mu <= kLargestMu. A delta beside
/// rho or mu is only the one at which epsilon is reported.
void require_budget(const GivenBudget& stated);

/// The GDP parameter that all Gaussian releases together may reach, rounded down. For a budget in rho, mu = sqrt(2
/// rho), with every accountant. Throws UsageError as require_budget, and if (epsilon, delta) is too small to be met by
/// any noise in range.
double mu_of(const BudgetOptions& budget);

// A run's budget becomes a claim.

/// Delta at which epsilon is reported for a budget that is declared in rho or mu without a delta.
inline constexpr double kReportedDelta = 1e-5;

struct EpsilonAtDelta {
  double epsilon;
  double delta;
};

/// A run's guarantee, in the forms that reports and models carry. Gaussian releases have a mu and a rho; with rounds on
/// samples there are none. A single selection is pure: its delta is 0.
struct Guarantee {
  double epsilon;
  double delta;
  std::optional<double> mu;
  std::optional<double> rho;
  std::optional<EpsilonAtDelta> bounded_range{};  ///< of a single selection: what it costs where a delta is allowed

  bool is_pure() const { return delta == 0.0; }
};

/// mu as realized (at most the budget's), with the declared (epsilon, delta), or epsilon at the delta to report.
Guarantee guarantee_of(const BudgetOptions& options, double mu);

/// Declared (epsilon, delta) of a run with rounds on samples. Precondition (asserted): they are declared.
Guarantee sampled_guarantee_of(const BudgetOptions& options);

/// The epsilon of a single selection by the exponential mechanism that may spend all of the budget: the declared one,
/// pure, whatever delta is beside it; or the largest that keeps to a declared mu or rho. Throws UsageError as
/// require_budget, but that a delta may be missing.
double selection_epsilon_of(const BudgetOptions& options);

/// The guarantee of that selection: (epsilon, 0), mu and rho (mechanism.hpp), and epsilon at the declared delta
/// or the one to report. Throws UsageError if epsilon is out of the accountants' range.
Guarantee selection_guarantee_of(const BudgetOptions& options, double epsilon);

nlohmann::json to_json(const Guarantee& guarantee);

}  // namespace dpreduce
