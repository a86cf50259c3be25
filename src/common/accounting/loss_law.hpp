// The privacy loss of one mechanism: how ln(P/Q) is distributed under P, for a pair (P, Q) of output laws.
//
//   H(K) = E_Q[(P/Q - K)+], K = e^epsilon     the pair's hockey stick: delta(epsilon) = H(e^epsilon)
//
// A pair dominates a mechanism if its H is nowhere below the mechanism's; then compositions of dominating pairs
// dominate the adaptive composition of the mechanisms ([zhu2022], Theorem 10). Used here, each exactly or as
// proven:
//   Gaussian, subsampled Gaussian    their own pair, for each direction of adjacency ([zhu2022], Proposition 30)
//   subsampled Gaussian, exchange    (1-q) R + q A against (1-q) R + q B: R = N(0, I), A = N(a, I), B = N(b, I), |a|
//   and
//       |b| at most mu. H(K) for K >= 1 is q E_A[(1 - k T)+], k = 1 + (K-1) / q, T = (1 - K/k) R/A + (K/k) B/A, and
//       R/A = e^(G - Var G / 2), B/A = e^(G' - Var G' / 2) with centered Gaussians of covariance Var G = |a|^2 <= mu^2,
//       Var G' = |b-a|^2 <= 4 mu^2, Cov = |a|^2 - <a,b> <= 2 mu^2. The mean of a convex function of T grows with each
//       of the three (Kahane's inequality [kahane1985]), and a = mu, b = -mu on one line has them all. So that pair
//       dominates; it is its own mirror image, which is the case K < 1
//   pure DP                          randomized response, for any epsilon-DP mechanism
//   exponential mechanism            an E-bounded-range mechanism has H at most the largest over t in [0, E] of the
//       two-point pairs with losses t and t - E [dong2020]. With P[t] = (e^E - e^t)/(e^E - 1) that is,
//       at e^t = sqrt(K) e^(E/2), H(K) = (e^(E/2) - sqrt(K))^2 / (e^E - 1) on e^-E <= K <= e^E. It is convex, so it is
//       a pair's own: H'' > 0 and no atom at either end give the density e^(l/2) / (4 sinh(E/2)) of the loss on [-E,
//       E]. One pair for all t, so that an adversary may choose t anew, and adaptively, in every step.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "common/accounting/mechanism.hpp"

namespace dpreduce {

/// P is the law with the record, Q the one without (remove), or the other way round (add).
enum class Direction { kRemove, kAdd };

/// The part of a loss law that has a density. The outcome u runs over [low, high]; the loss grows with u.
struct SmoothLoss {
  struct Point {
    double density;  ///< of u under P
    double loss;
  };
  double low;
  double high;
  /// Within this distance of [low, high] in the complex plane, densities and their products with e^-loss are analytic
  /// and at most e^5 times as large.
  double radius;
  double loss_error;  ///< bounds how far a computed loss lies from the true one
  std::function<Point(double u)> at;
  std::function<double(double loss)> outcome;  ///< the u of this loss; beyond [low, high] where no u there has it
  double anchor = 0;  ///< a loss around which much mass may lie within less than a step; grids put a node there

  /// The u in [low, high] whose loss is nearest to this one.
  double where(double loss) const { return std::clamp(outcome(loss), low, high); }
};

struct LossAtom {
  double loss;
  double mass;
};

struct LossLaw {
  std::optional<SmoothLoss> smooth;
  std::vector<LossAtom> atoms{};
  double tail = 0;  ///< P-mass above smooth's range is at most this, and below it too
};

/// The dominating pair above. The tail bounds what smooth leaves out. Preconditions: require_mechanism; 1e-290 <= tail
/// < 0.1.
LossLaw pessimistic_law(const Mechanism& mechanism, Direction direction, double tail);

/// A pair that the mechanism itself, or an instance of it, dominates, with its atoms on multiples of step.
///
/// Pure DP is taken at epsilon rounded down to a multiple of step. The exponential mechanism is one with
/// two outcomes and losses {t, t - epsilon}, t the worst for the moment E_P[e^(tilt loss)]. Preconditions: as
/// pessimistic_law; step > 0; tilt >= 0.
LossLaw optimistic_law(const Mechanism& mechanism, Direction direction, double tail, double step, double tilt);

/// Returns whether remove and add have the same law.
bool is_symmetric(const Mechanism& mechanism);

}  // namespace dpreduce
