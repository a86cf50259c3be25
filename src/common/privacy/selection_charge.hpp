// What one private selection by the exponential mechanism costs.
//
//   P[candidate] ~ exp(epsilon u / D), u monotone in the data (adding a record raises no utility or lowers none) with
//   sensitivity D, under add/remove: the log probabilities move within one interval of length epsilon. That is
//   epsilon-DP and epsilon-bounded range, which is less: epsilon^2/8-zCDP, not epsilon^2/2.
//
// Under replace-one, or with a utility that is not monotone, the same mechanism has range 2 epsilon: pass that.
// Permute-and-flip is epsilon-DP but not epsilon-bounded range: charge it as a PureMechanism, not here.
// Sources: Dong, Durfee, Rogers 2020 (bounded range, exact single use); Cesar and Rogers 2021 (zCDP).
#pragma once

namespace dpreduce {

struct SelectionCharge {
  double pure_epsilon;
  double rho;      ///< epsilon^2 / 8, rounded up
  double epsilon;  ///< of one use: epsilon + 2 ln(1 - sqrt(delta (1 - e^-epsilon))), rounded up, at least 0
};

/// @pre 0 < epsilon <= kLargestPureEpsilon; 0 < delta < 1.  @throws UsageError naming the argument.
SelectionCharge selection_charge(double epsilon, double delta);

/// The exact delta of one use at e: (e^(E/2) - e^(e/2))^2 / (e^E - 1) for 0 <= e <= E, else 0; rounded up. E = epsilon.
/// @pre as above; e >= 0.  @throws UsageError naming the argument.
double selection_delta(double epsilon, double e);

}  // namespace dpreduce
