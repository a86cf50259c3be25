// From (epsilon, delta) to the noise of a run with rounds on Poisson samples.
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
// epsilon(.) an upper bound, by the accountant asked for; the bound that ledgers count by (spending.hpp) was checked at
// the answer. At q = 1 this would be the plan of noise_plan.hpp.
#pragma once

#include <vector>

#include "common/accounting/budget.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/plan/noise_plan.hpp"

namespace dpreduce {

/// The plan for one sampled release and any number of others, in the order given.
///
/// Preconditions: the budget is (epsilon, delta); the accountant is kRdp or kPld, under replace-one kPld; exactly one
/// release has a sampling rate below 1, at least kSmallestSamplingRate; the rest as make_noise_plan,
/// calibrated_noise_multiplier. Throws UsageError naming the argument.
NoisePlan make_sampled_noise_plan(const PrivacyBudget& budget, Accountant accountant, Adjacency adjacency,
                                  std::vector<ReleaseRequest> releases);

}  // namespace dpreduce
