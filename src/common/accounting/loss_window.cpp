#include "common/accounting/loss_window.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/accounting/dear_functions.hpp"

namespace dpreduce {
namespace {

constexpr double kLogTail = 26;
constexpr double kSmallestTilt = 1e-7;
constexpr double kLargestExponent = 2000;
constexpr double kLargestMeanExponent = 1e5;
// Rates are sought up to this over a loss's range, and up to twice the tilt.
constexpr double kLargestRate = 300;
// The width of a loss that is all but constant, relative to it.
constexpr double kSmallestWidth = 1e-6;
constexpr int kEvaluations = 60;

// Tilts beyond these only pick the topmost atom of one mechanism, or split hairs of a loss that is all but constant.
double largest_tilt(std::span<const LossSketch> losses) {
  double largest = 0;
  double mean = 0;
  for (const LossSketch& loss : losses) {
    largest = std::max(largest, loss.largest_loss());
    mean += std::abs(loss.mean(0));
  }
  return std::max(1.0, std::min(kLargestExponent / largest, kLargestMeanExponent / mean));
}

template <typename Cost>
double best_tilt(std::span<const LossSketch> losses, Cost cost) {
  return std::exp(golden_section(std::log(kSmallestTilt), std::log(largest_tilt(losses)), kEvaluations,
                                 [&](double log_tilt) { return cost(std::exp(log_tilt)); }));
}

// The least w > 0 with E_tilted[e^(s (S - mean - w))] <= e^-kLogTail for some s of the given sign, and that s.
struct HalfWidth {
  double width;
  double rate;
};

HalfWidth half_width(std::span<const LossSketch> losses, double tilt, double mean, double sign) {
  const double start = log_moment(losses, tilt);
  const auto width = [&](double rate) {
    return (log_moment(losses, tilt + sign * rate) - start - sign * rate * mean + kLogTail) / rate;
  };
  double range = kSmallestWidth * std::abs(mean);
  for (const LossSketch& loss : losses) range = std::max(range, loss.reach(tilt, sign));
  const double log_rate = golden_section(std::log(1e-6 / range), std::log(std::max(kLargestRate / range, 2 * tilt)),
                                         kEvaluations, [&](double trial) { return width(std::exp(trial)); });
  return {std::max(kSmallestWidth * std::abs(mean), width(std::exp(log_rate))), std::exp(log_rate)};
}

}  // namespace

LossSketch::LossSketch(const LossLaw& law, std::uint64_t count)
    : count_(static_cast<double>(count)),
      smallest_(std::numeric_limits<double>::infinity()),
      largest_(-std::numeric_limits<double>::infinity()) {
  if (law.smooth) {
    const double range = law.smooth->high() - law.smooth->low();
    const double points = std::ceil(std::max(2000.0, range / 0.05));
    const double width = range / points;
    for (double point = 0.5; point < points; ++point) {
      const SmoothLoss::Point at = law.smooth->at(law.smooth->low() + point * width);
      if (at.density > 0) samples_.push_back({at.loss, std::log(at.density * width)});
    }
  }
  for (const LossAtom& atom : law.atoms) samples_.push_back({atom.loss, std::log(atom.mass)});
  for (const Sample& sample : samples_) {
    smallest_ = std::min(smallest_, sample.loss);
    largest_ = std::max(largest_, sample.loss);
  }
}

double LossSketch::log_moment(double theta) const {
  double largest = -std::numeric_limits<double>::infinity();
  for (const Sample& sample : samples_) largest = std::max(largest, theta * sample.loss + sample.log_mass);
  double sum = 0;
  for (const Sample& sample : samples_) sum += std::exp(theta * sample.loss + sample.log_mass - largest);
  return count_ * (largest + std::log(sum));
}

double LossSketch::mean(double theta) const {
  double largest = -std::numeric_limits<double>::infinity();
  for (const Sample& sample : samples_) largest = std::max(largest, theta * sample.loss + sample.log_mass);
  double sum = 0;
  double first = 0;
  for (const Sample& sample : samples_) {
    const double weight = std::exp(theta * sample.loss + sample.log_mass - largest);
    sum += weight;
    first += weight * sample.loss;
  }
  return count_ * first / sum;
}

double LossSketch::reach(double theta, double sign) const {
  const double center = mean(theta) / count_;
  return sign > 0 ? largest_ - center : center - smallest_;
}

double log_moment(std::span<const LossSketch> losses, double theta) {
  double total = 0;
  for (const LossSketch& loss : losses) total += loss.log_moment(theta);
  return total;
}

double tilt_for_delta(std::span<const LossSketch> losses, double delta) {
  return best_tilt(losses, [&](double tilt) { return epsilon_of_moment(log_moment(losses, tilt), tilt, delta); });
}

double tilt_for_epsilon(std::span<const LossSketch> losses, double epsilon) {
  return best_tilt(losses, [&](double tilt) { return log_delta_of_moment(log_moment(losses, tilt), tilt, epsilon); });
}

double epsilon_of_moment(double log_moment, double tilt, double delta) {
  return (log_moment - std::log(delta) - std::log1p(tilt)) / tilt - std::log1p(1 / tilt);
}

double log_delta_of_moment(double log_moment, double tilt, double epsilon) {
  return log_moment - tilt * epsilon - std::log1p(tilt) - tilt * std::log1p(1 / tilt);
}

LossWindow window_around(std::span<const LossSketch> losses, double tilt) {
  double mean = 0;
  for (const LossSketch& loss : losses) mean += loss.mean(tilt);
  const HalfWidth below = half_width(losses, tilt, mean, -1);
  const HalfWidth above = half_width(losses, tilt, mean, +1);
  return {tilt, mean, mean - below.width, mean + above.width, below.rate, above.rate};
}

}  // namespace dpreduce
