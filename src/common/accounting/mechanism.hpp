// The mechanisms that the accountants know, as plain numbers: no data, no noise.
//
//   z = sigma / D    noise multiplier: noise standard deviation over L2 sensitivity; mu = 1 / z
//   q                rate at which Poisson sampling takes every record into a step, by a secret coin of its own
//   epsilon, E       pure-DP parameter in nats
//
// All parameters are for neighbors that differ by one added or removed record; composition.hpp scales them for others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "common/base/privacy_terms.hpp"

namespace dpreduce {

/// Noise N(0, z^2 D^2 I) on a sum of L2 sensitivity D: the pair N(0, 1), N(mu, 1).
///
/// The same on a Poisson sample. Remove: (1-q) N(0,1) + q N(mu,1) against N(0,1); add: the other way round. Where
/// neighbors differ by an exchange of one record for another: (1-q) N(0,1) + q N(mu,1) against (1-q) N(0,1) + q
/// N(-mu,1), mu still that of one record.
struct GaussianMechanism {
  double noise_multiplier;
  std::optional<double> sampling_rate{};  ///< empty: of no sample
  bool is_exchange = false;

  double q() const { return sampling_rate.value_or(1); }
  bool operator==(const GaussianMechanism&) const = default;
};

/// An exponential mechanism whose log probabilities all move by amounts within one interval of length epsilon
/// (epsilon-bounded range), e.g. P ~ exp(epsilon u / D) with a monotone utility u of sensitivity D.
struct ExponentialMechanism {
  double epsilon;
  bool operator==(const ExponentialMechanism&) const = default;
};

/// Arbitrary epsilon-DP mechanism, of which randomized response is the worst: lines of earlier versions on selections
/// whose losses fill [-epsilon, epsilon].
struct PureMechanism {
  double epsilon;
  bool operator==(const PureMechanism&) const = default;
};

using Mechanism = std::variant<GaussianMechanism, ExponentialMechanism, PureMechanism>;

/// Mechanism that is run count times; a run is a sequence of these. Later ones may be chosen by what earlier ones
/// output, as long as the list itself was fixed before.
struct RepeatedMechanism {
  Mechanism mechanism;
  std::uint64_t count = 1;
  bool operator==(const RepeatedMechanism&) const = default;
};

/// Ranges inside which all accountants compute.
inline constexpr double kSmallestNoiseMultiplier = 0.01;
inline constexpr double kLargestNoiseMultiplier = 1e9;
inline constexpr double kSmallestSamplingRate = 1e-9;
inline constexpr double kSmallestPureEpsilon = 1e-6;
inline constexpr double kLargestPureEpsilon = 200;
inline constexpr std::uint64_t kLargestCount = 10'000'000;

/// Throws UsageError naming the parameter, unless each lies in its range above; q = 1 is allowed.
void require_mechanism(const Mechanism& mechanism);

/// Throws UsageError if there is no part, a part's count is 0, all counts together pass kLargestCount, or a parameter
/// is out of its range.
void require_run(std::span<const RepeatedMechanism> run);

/// Epsilon of a mechanism that has it with delta 0, whose losses have atoms there or end there; 0 for Gaussians.
double pure_epsilon(const Mechanism& mechanism);

/// E.g. "subsampled Gaussian, z = 1, q = 0.01".
std::string describe(const Mechanism& mechanism);

// Cost of one private selection by the exponential mechanism.
//
//   P[candidate] ~ exp(epsilon u / D), u monotone in the data (adding a record raises no utility or lowers none) with
//   sensitivity D, under add/remove: the log probabilities move within one interval of length epsilon. That is
//   epsilon-DP and epsilon-bounded range, which is less: epsilon^2/8-zCDP, not epsilon^2/2.
//
// Under replace-one, or with a utility that is not monotone, the same mechanism has range 2 epsilon: pass that.
// Beside Gaussian releases it can be charged as one: epsilon-bounded range is mu-GDP for mu = 2 Phi^-1(1 / (1 +
// e^(-epsilon/2))). The worst such mechanism puts out one bit, with probability p on one data set and q on the other,
// logit q - logit p = epsilon for every p; Phi^-1(q) - Phi^-1(p) is largest where p = 1 - q, since dPhi^-1/dlogit =
// p (1 - p) / phi(Phi^-1(p)) is largest at 1/2. The bit's trade-off function has corners (0, 1), (p, 1 - q), (1, 0);
// G_mu is convex and passes through the outer two, and through or below the middle one.
//
// Sources: [dong2020] (bounded range, exact single use); [cesar2021] (zCDP); [dong2022] (GDP, trade-off functions).

struct SelectionCharge {
  double rho;      ///< epsilon^2 / 8, rounded up
  double epsilon;  ///< of one use: epsilon + 2 ln(1 - sqrt(delta (1 - e^-epsilon))), rounded up, at least 0
};

/// The exact delta of one use at e is (e^(E/2) - e^(e/2))^2 / (e^E - 1) for 0 <= e <= E, else 0; E = epsilon.
/// Preconditions: 0 < epsilon <= kLargestPureEpsilon; 0 < delta < 1. Throws UsageError naming the argument.
SelectionCharge selection_charge(double epsilon, double delta);

/// The smallest mu for which one use is mu-GDP; rounded up, to within 1e-12 of itself. Precondition: as above. Throws
/// UsageError naming the argument.
double selection_mu(double epsilon);

/// The largest epsilon with selection_mu(epsilon) <= mu: 2 ln(Phi(mu/2) / Phi(-mu/2)); rounded down. Precondition: mu >
/// 0, and the result is at most kLargestPureEpsilon. Throws UsageError naming the argument.
double selection_epsilon(double mu);

// Public numbers of a private selection: its plan and its ledger line state the same ones.
//
//   u_gi     utility of candidate i (of `candidates`) in group g (of `groups`): a sum over the records of group g
//   Delta    sensitivity: the most by which what one record adds to the utilities of its group differs between two
//            candidates. Only differences count: adding a constant to all of a group's utilities changes no probability
//   chosen   candidates that every group puts out, in no order; a set is as good as its worst member
//   epsilon  the whole selection's, under the plan's adjacency; the rate gamma is epsilon / Delta under add-remove and
//            epsilon / (2 Delta) under replace-one
//
// A record is in one group, so that all groups together cost what one costs. Add-remove: the logarithms of one group's
// probabilities move within an interval of length gamma Delta. Replace-one: a removal and an addition, in one group or
// two, 2 gamma Delta in all. Both are epsilon.

struct SelectionTerms {
  SelectionMechanism mechanism = SelectionMechanism::kExponential;
  double epsilon = 0;
  std::uint64_t sensitivity = 1;
  std::uint64_t candidates = 0;
  std::uint64_t groups = 1;
  std::uint64_t chosen = 1;

  bool operator==(const SelectionTerms&) const = default;
};

/// Why there is no such selection, naming the number and its value; empty if there is. It must have
/// kSmallestPureEpsilon <= epsilon <= kLargestPureEpsilon; sensitivity, candidates, groups >= 1, candidates x groups
/// <= 2^40; 1 <= chosen <= candidates; chosen = 1 unless the mechanism is the exponential one.
std::string fault_of(const SelectionTerms& terms);

/// Mechanism that the accountants compute with: ExponentialMechanism (a range of epsilon), or PureMechanism for a
/// permute-and-flip line of an earlier version, which is epsilon-DP without such a range.
Mechanism loss_of(const SelectionTerms& terms);

/// Its zCDP parameter to the nearest double: epsilon^2 / 8 of an ExponentialMechanism, epsilon^2 / 2 of a
/// PureMechanism.
double rho_of(const SelectionTerms& terms);

}  // namespace dpreduce
