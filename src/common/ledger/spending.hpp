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
//     epsilon(Gaussian(mu_plain) + T Subsampled(z, q); delta) <= epsilon           found by bisection (composition.hpp)
//
// Under replace-one a sample holds none, one or both of two records that are exchanged. The pair of that (loss_law.hpp)
// goes by the mu of one record, and charges state twice it: the profile of a sampled release is that of add-remove with
// all D_b doubled, as a gradient's is. z is of one record here, too.
//
// epsilon(.) an upper bound, by the accountant asked for; the bound that ledgers count by (epsilon_of) was checked at
// the answer. At q = 1 this would be the plan of noise_plan.hpp.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/accounting/budget.hpp"
#include "common/accounting/mechanism.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/ledger/ledger_record.hpp"
#include "common/ledger/ledger_state.hpp"
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

// Budget of a data set for all runs on its ledger, and whether it has room for one more run.

using DataSetBudget = EpsilonAtDelta;

/// Returns the stricter of `least` and of the relations of all private lines: replace-one where one of them has it.
Adjacency strictest_adjacency(const LedgerState& state, Adjacency least = Adjacency::kAddRemove);

/// The spending of the charges of private runs, as if all were about the same data. `adjacency` is that of the result:
/// a charge under add-remove counts twice (a group of two) for replace-one. A charge under replace-one counts once for
/// add-remove: noise that protects a replacement here also protects an addition (worker/statistics,
/// mechanism.hpp). Rounds on samples count by the pair of their neighbors (sampled_rounds), both ways.
Spending spending_of(std::span<const LedgerCharge> charges, Adjacency adjacency);

/// The spending of all that a reservation may still charge, in the same way.
Spending spending_of(const Reservation& reservation, Adjacency adjacency);

/// The spending of all charges and of all that open runs may still charge.
Spending spending_of_all(const LedgerState& state, Adjacency adjacency);

/// Returns if the recorded charges, the reservations of other open runs, and this reservation together stay within the
/// budget, under the strictest relation of them all. Reservations of runs that are not private cost nothing.
///
/// With Gaussian releases alone, sqrt(sum mu^2) is compared with the mu that the budget allows: runs add up exactly,
/// also when chosen adaptively. As soon as a selection or a sampled round is on file or reserved, the upper bound of
/// epsilon at the budget's delta decides (the head of this file says what that assumes). Preconditions: the budget is
/// one that gdp_mu takes; with selections or sampled rounds its delta is at least kSmallestPldDelta. Throws
/// BudgetRefused, naming `path` and the figures; UsageError naming the argument.
void require_room(const LedgerState& state, const Reservation& reservation, const DataSetBudget& limit,
                  const std::filesystem::path& path);

/// "epsilon 1.142 at delta 1e-06"; where no accountant reaches, "rho 12.5".
std::string spent_text(const Spending& spending, double delta);

/// Cost of the private charges on file together, and what the budget, if there is one, leaves of that: "epsilon 0.6893
/// at delta 1e-06 is spent in total, of the data set's budget of epsilon 1; room for a run of epsilon 0.6892".
/// Reservations of open runs are subtracted; with selections or sampled rounds the room is not reported. The relation
/// is strictest_adjacency(state, least). Epsilons are reported at the budget's delta, or at `delta` without a budget.
/// Throws UsageError as require_room.
std::string balance_text(const LedgerState& state, Adjacency least, const std::optional<DataSetBudget>& limit,
                         double delta = kReportedDelta);

/// Refuses to add up charges of different units: the cost of a row is no bound on that of a person with many rows.
/// Throws BudgetRefused if a line of the ledger has another unit than `unit`.
void require_one_unit(const LedgerState& state, PrivacyUnit unit, const std::filesystem::path& path);

/// "one row", or "one person with any number of rows".
std::string_view name_of(PrivacyUnit unit);

}  // namespace dpreduce
