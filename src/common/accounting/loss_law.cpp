#include "common/accounting/loss_law.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "common/base/floating_point.hpp"

namespace dpreduce {
namespace {

double normal_density(double u) {
  return std::exp(-u * u / 2) / std::sqrt(2 * std::numbers::pi);
}

// ln(1 - q + q e^t): the loss of removing, at the point u with t = mu u - mu^2/2.
double mixture_loss(double q, double t) {
  if (q == 1) return t;
  if (t > 30) return t + std::log(q) + std::log1p((1 - q) / q * std::exp(-t));
  return q <= 0.5 ? std::log1p(q * std::expm1(t)) : std::log((1 - q) + q * std::exp(t));
}

// The inverse: t with mixture_loss(q, t) = loss; minus infinity for losses that are never reached.
double mixture_loss_inverse(double q, double loss) {
  if (q == 1) return loss;
  if (loss > 30) return loss - std::log(q) + std::log1p((q - 1) * std::exp(-loss));
  const double excess = std::expm1(loss) / q;
  return excess > -1 ? std::log1p(excess) : -std::numeric_limits<double>::infinity();
}

// u of probability below "tail" under a standard normal: Phi(-U) <= e^(-U^2/2) / 2.
double normal_cut(double tail) {
  return std::sqrt(-2 * std::log(tail));
}

// Error of one mixture_loss, for |u| <= high.
double mixture_error(double mu, double q, double high) {
  return 8 * kUnitRoundoff * (2 * mu * (high + mu) + (q > 0.5 && q < 1 ? 1 : 0));
}

// (1-q) N(0,1) + q N(mu,1) against N(0,1): u in [-U, mu + U]. All growth within the radius 4/(U + 2) is that of a
// normal density around its mean, e^(4 + r^2/2); between far bumps, where that fails, lies less than the tail.
SmoothLoss removed_record(double mu, double q, double cut) {
  const auto at = [mu, q](double u) -> SmoothLoss::Point {
    double density = q * normal_density(u - mu);
    if (q < 1) density += (1 - q) * normal_density(u);
    return {density, mixture_loss(q, mu * (u - mu / 2))};
  };
  const auto outcome = [mu, q](double loss) { return mu / 2 + mixture_loss_inverse(q, loss) / mu; };
  return {-cut, mu + cut, 4 / (cut + 2), mixture_error(mu, q, mu + cut), at, outcome, q < 1 ? at(0).loss : 0.0};
}

// N(0,1) against (1-q) N(0,1) + q N(mu,1), mirrored so that the loss grows with u: u in [-U, U].
SmoothLoss added_record(double mu, double q, double cut) {
  const auto at = [mu, q](double u) -> SmoothLoss::Point {
    return {normal_density(u), -mixture_loss(q, mu * (-u - mu / 2))};
  };
  const auto outcome = [mu, q](double loss) { return -(mu / 2 + mixture_loss_inverse(q, -loss) / mu); };
  return {-cut, cut, 4 / (cut + 2 + mu), mixture_error(mu, q, cut), at, outcome, at(0).loss};
}

// (1-q) N(0,1) + q N(mu,1) against (1-q) N(0,1) + q N(-mu,1): u in [-U, mu + U]. Both bumps of the second are within
// 2 mu + U.
SmoothLoss exchanged_record(double mu, double q, double cut) {
  const double middle = mu * mu / 2;
  const auto at = [mu, q, middle](double u) -> SmoothLoss::Point {
    return {q * normal_density(u - mu) + (1 - q) * normal_density(u),
            mixture_loss(q, mu * u - middle) - mixture_loss(q, -mu * u - middle)};
  };
  // With c = q e^(-mu^2/2) and x = e^(mu u): c x^2 - (1-q) (e^l - 1) x - e^l c = 0, here for l >= 0 and over e^l.
  const auto outcome = [mu, q, log_c = std::log(q) - middle](double loss) {
    const double size = std::abs(loss);
    const double linear = (1 - q) * -std::expm1(-size);
    const double root = linear + std::hypot(linear, 2 * std::exp(log_c - size / 2));
    const double u = root > 0 ? (size + std::log(root / 2) - log_c) / mu : 0;
    return std::copysign(u, loss);
  };
  return {-cut, mu + cut, 4 / (cut + 2 + 2 * mu), 2 * mixture_error(mu, q, mu + cut), at, outcome};
}

// Density scale * e^(u/2) on [-range, range]; the loss is u itself.
SmoothLoss half_exponential(double range, double scale) {
  const auto at = [scale](double u) -> SmoothLoss::Point { return {scale * std::exp(u / 2), u}; };
  return {-range, range, 2, 2 * kUnitRoundoff * range, at, [](double loss) { return loss; }};
}

// P[loss = t] = (e^E - e^t) / (e^E - 1), P[loss = t - E] the rest.
LossLaw two_point_law(double range, double t) {
  const double p = -std::expm1(t - range) / -std::expm1(-range);
  return {{}, {{t - range, std::exp(t - range) * -std::expm1(-t) / -std::expm1(-range)}, {t, p}}};
}

LossLaw randomized_response(double epsilon) {
  return {{}, {{-epsilon, 1 / (1 + std::exp(epsilon))}, {epsilon, 1 / (1 + std::exp(-epsilon))}}};
}

LossLaw no_loss() {
  return {{}, {{0, 1}}};
}

}  // namespace

LossLaw pessimistic_law(const Mechanism& mechanism, Direction direction, double tail) {
  struct Law {
    Direction direction;
    double tail;
    LossLaw operator()(const GaussianMechanism& m) const {
      const double mu = 1 / m.noise_multiplier;
      // The two directions of a plain Gaussian are mirror images.
      const auto& of_record = m.is_exchange                                   ? exchanged_record
                              : direction == Direction::kRemove || m.q() == 1 ? removed_record
                                                                              : added_record;
      return {of_record(mu, m.q(), normal_cut(tail)), {}, tail};
    }
    LossLaw operator()(const ExponentialMechanism& m) const {
      return {half_exponential(m.epsilon, 1 / (4 * std::sinh(m.epsilon / 2)))};
    }
    LossLaw operator()(const PureMechanism& m) const { return randomized_response(m.epsilon); }
  };
  return std::visit(Law{direction, tail}, mechanism);
}

LossLaw optimistic_law(const Mechanism& mechanism, Direction direction, double tail, double step, double tilt) {
  const double atom = pure_epsilon(mechanism);
  if (atom == 0) return pessimistic_law(mechanism, direction, tail);
  // A quotient within 1e-9 of a whole number is that number: the step was made to divide an atom. What this moves a
  // loss by, the grid adds to its loss error.
  const double cells = std::floor(atom / step + 1e-9);
  if (cells < 1) return no_loss();
  const double epsilon = cells * step;
  if (std::holds_alternative<PureMechanism>(mechanism)) return randomized_response(epsilon);
  // The maximum over t of E_P[e^(tilt loss)]; see RenyiDivergence in rdp.cpp.
  double t = epsilon / 2;
  if (tilt > 0) {
    t = epsilon + std::log(tilt / (tilt + 1)) + std::log(-std::expm1(-(tilt + 1) * epsilon)) -
        std::log(-std::expm1(-tilt * epsilon));
  }
  const double node = std::clamp(std::round(t / step), 1.0, cells);
  return cells < 2 ? no_loss() : two_point_law(epsilon, std::min(node, cells - 1) * step);
}

bool is_symmetric(const Mechanism& mechanism) {
  const auto* gaussian = std::get_if<GaussianMechanism>(&mechanism);
  return !gaussian || gaussian->q() == 1 || gaussian->is_exchange;
}

}  // namespace dpreduce
