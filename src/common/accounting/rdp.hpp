// Renyi differential privacy (RDP): the divergence D_alpha of a mechanism's outputs, for orders alpha > 1.
//
//   A_alpha = E_Q[(dP/dQ)^alpha],  rdp(alpha) = ln A_alpha / (alpha - 1)     the larger over both directions
//
// RDP composes by addition at every order and any order gives a true (epsilon, delta). It holds for adaptive choices
// too, but is looser than the privacy loss distribution (privacy_loss.hpp). Values are computed in double and raised by
// 1e-11 relative, far more than their rounding errors.
// Sources: [mironov2017] (Gaussian, pure DP); [mironov2019] (sampled Gaussian); [dong2020] (bounded range);
// [canonne2020], Proposition 12, and [balle2020] (conversion).
#pragma once

#include <span>

#include "common/accounting/mechanism.hpp"

namespace dpreduce {

/// Orders outside are not computed.
inline constexpr double kSmallestOrder = 1.001;
inline constexpr double kLargestOrder = 1e6;

/// rdp(alpha) of one use of the mechanism, E its epsilon:
///
///   Gaussian      alpha / (2 z^2)
///   sampled       whole alpha: A_alpha = sum_k C(alpha,k) (1-q)^(alpha-k) q^k e^((k^2-k)/(2 z^2)); others: by its
///                 integral. Where that takes more than 1e5 points, an upper bound: the chord of ln A, which is convex
///                 in alpha; above order 4096 the Gaussian of all records
///   exponential   the largest over all pairs of losses {t, t - E}, 0 <= t <= E
///   pure DP       that of randomized response
///
/// All are summed as A_alpha - 1, term by term not negative, so that tiny divergences keep their digits. Preconditions:
/// require_mechanism; kSmallestOrder <= order <= kLargestOrder. Throws UsageError naming the argument.
double rdp(const Mechanism& mechanism, double order);

/// The epsilon of one order: rdp + ln(1 - 1/alpha) - ln(delta alpha) / (alpha - 1), at least 0, rounded up; 0 also
/// where delta^2 > 1 - e^-rdp (then the total variation is at most delta); infinite for orders up to 1.01, whose
/// conversion loses its digits. Preconditions: rdp >= 0; order > 1; 0 < delta < 1. Throws UsageError naming the
/// argument.
double epsilon_from_rdp(double rdp, double order, double delta);

/// The least epsilon_from_rdp over all real orders in range, by golden section from the best of 1.1, 1.2, ..., 10.9;
/// 11, 12, ..., 63; 128, 256, 512, 1024: never more than theirs. Throws UsageError.
double rdp_epsilon(std::span<const RepeatedMechanism> run, double delta);

}  // namespace dpreduce
