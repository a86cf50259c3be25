// Spending of runs: Gaussian releases, which add up to one mu, and selections and sampled rounds.
//
// Gaussians alone have the exact conversion of gaussian_dp.hpp, also when later ones were chosen by what earlier ones
// put out. With others the privacy loss distribution of all of them together decides (privacy_loss.hpp): they may be
// chosen adaptively as long as their epsilons, mus and sampling rates are not.
//
// From (epsilon, delta) to the noise of a run with rounds on Poisson samples:
//
//   mu    what the budget allows Gaussian releases (budget.hpp); shares divide mu^2 as without samples
//   z     noise multiplier of the sampled rounds, the only unknown
//   q, T  sampling rate and number of the rounds
//
// Releases of all rows get the noise that their shares of mu^2 give them. Then z is the smallest for which they and T
// sampled rounds together are within (epsilon, delta):
//
//     epsilon(Gaussian(mu_plain) + T Subsampled(z, q); delta) <= epsilon           found by bisection (calibration.hpp)
//
// Under replace-one a sample holds none, one or both of two records that are exchanged. The pair of that (loss_law.hpp)
// goes by the mu of one record, and charges state twice it: the profile of a sampled release is that of add-remove with
// all D_b doubled, as a gradient's is. z is of one record here, too.
//
// epsilon(.) an upper bound, by the accountant asked for; the bound that ledgers count by (epsilon_of) was checked at
// the answer. At q = 1 this would be the plan of noise_plan.hpp.
#pragma once

#include <vector>

#include "common/accounting/budget.hpp"
#include "common/accounting/mechanism.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/ledger/noise_plan.hpp"

namespace dpreduce {

struct Spending {
  double mu = 0;                              ///< of all Gaussian releases together, rounded up
  std::vector<RepeatedMechanism> selections;  ///< ExponentialMechanism and PureMechanism only
  std::vector<RepeatedMechanism> samples{};   ///< Gaussians on samples only

  bool is_gaussian() const { return selections.empty() && samples.empty(); }
};

/// The spending of a whole plan, under its adjacency.
Spending spending_of(const NoisePlan& plan);

/// `rounds` sampled rounds, each of that mu where a row is drawn, as neighbors by `question` see them. Under
/// replace-one `charged` is twice the mu of one record. Preconditions: mu > 0; 0 < sampling_rate
/// < 1.
RepeatedMechanism sampled_rounds(double mu, double sampling_rate, std::uint64_t rounds, Adjacency charged,
                                 Adjacency question);

/// The noise multiplier that a mu is counted with beside other mechanisms: at most 1 / mu, with 24 binary digits.
double accounted_noise_multiplier(double mu);

/// Spending of both together.
Spending composed(const Spending& one, const Spending& other);

/// The smallest epsilon at delta: exact for Gaussians alone, else the upper bound of the privacy loss distribution,
/// within about 1e-7 of itself; infinity where a parameter passes the accountants' ranges (mechanism.hpp), 0 for
/// nothing. The last digits of mu are rounded away, upwards, before a distribution is made, and equal sampled rounds
/// are counted together, so that the answer is the same at every point of a run. Precondition: 0 < delta < 1, with
/// selections or samples kSmallestPldDelta <= delta. Throws UsageError naming the argument.
double epsilon_of(const Spending& spending, double delta);

/// rho of all together: mu^2/2 (sampled rounds: as if all rows had been drawn), epsilon^2/8 (exponential mechanism) or
/// epsilon^2/2 each; rounded up.
double rho_of(const Spending& spending);

/// mu of Gaussians alone, else sqrt(2 rho); rounded up.
double mu_of(const Spending& spending);

/// The plan for one sampled release and any number of others, in the order given.
///
/// Preconditions (asserted): the budget is (epsilon, delta); the accountant is kRdp or kPld, under replace-one kPld;
/// exactly one release has a sampling rate below 1; shares are > 0 and finite. That rate is at least
/// kSmallestSamplingRate; the rest as make_noise_plan, calibrated_noise_multiplier, which throw UsageError naming the
/// argument.
NoisePlan make_sampled_noise_plan(const BudgetOptions& budget, Adjacency adjacency,
                                  std::vector<ReleaseRequest> releases);

}  // namespace dpreduce
