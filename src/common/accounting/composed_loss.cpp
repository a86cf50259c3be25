#include "common/accounting/composed_loss.hpp"

#include <algorithm>
#include <cmath>

#include "common/accounting/dear_functions.hpp"
#include "common/accounting/loss_spectrum.hpp"
#include "common/base/error.hpp"
#include "common/base/floating_point.hpp"

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

// Weights e^(-theta (s - c)) beyond e^600 are not needed: delta is 1 there.
constexpr double kLargestLogWeight = 600;

// sqrt(sum_(i >= 1) (e^(-theta i h) (1 - e^(-i h)))^2) over at most n terms: the L2 norm of delta's weights.
double weight_norm(double tilt, double step, std::size_t n) {
  double sum = 0;
  for (std::size_t term = 1; term <= n; ++term) {
    const double distance = static_cast<double>(term) * step;
    const double weight = std::exp(-tilt * distance) * -std::expm1(-distance);
    sum += weight * weight;
    if (tilt * distance > 40) break;
  }
  return std::sqrt(sum) * (1 + 1e-9);
}

// max over s > 0 of e^(-theta s) (1 - e^-s), at e^-s = theta / (1 + theta).
double largest_weight(double tilt) {
  return tilt == 0 ? 1 : std::exp(tilt * std::log(tilt / (1 + tilt))) / (1 + tilt);
}

}  // namespace

LossSketch::LossSketch(const LossLaw& law, std::uint64_t count)
    : count_(static_cast<double>(count)), smallest_(kInfinity), largest_(-kInfinity) {
  if (law.smooth) {
    const double range = law.smooth->high - law.smooth->low;
    const double points = std::ceil(std::max(2000.0, range / 0.05));
    const double width = range / points;
    for (double point = 0.5; point < points; ++point) {
      const SmoothLoss::Point at = law.smooth->at(law.smooth->low + point * width);
      if (at.density > 0) samples_.push_back({at.loss, std::log(at.density * width)});
    }
  }
  for (const LossAtom& atom : law.atoms) samples_.push_back({atom.loss, std::log(atom.mass)});
  for (const Sample& sample : samples_) {
    smallest_ = std::min(smallest_, sample.loss);
    largest_ = std::max(largest_, sample.loss);
  }
}

LossSketch::Moments LossSketch::moments(double theta) const {
  double largest = -kInfinity;
  for (const Sample& sample : samples_) largest = std::max(largest, theta * sample.loss + sample.log_mass);
  double sum = 0;
  double first = 0;
  for (const Sample& sample : samples_) {
    const double weight = std::exp(theta * sample.loss + sample.log_mass - largest);
    sum += weight;
    first += weight * sample.loss;
  }
  return {count_ * (largest + std::log(sum)), count_ * first / sum};
}

double LossSketch::reach(double theta, double sign) const {
  const double center = mean(theta) / count_;
  return sign > 0 ? largest_ - center : center - smallest_;
}

double log_moment(std::span<const LossSketch> losses, double theta) {
  double total = 0;
  for (const LossSketch& loss : losses) total += loss.moments(theta).log_moment;
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

ComposedLoss::ComposedLoss(std::span<const RepeatedGrid> parts, const LossWindow& window, Side side)
    : side_(side), step_(parts.front().grid.step), tilt_(window.tilt), center_(window.center) {
  for (const RepeatedGrid& part : parts) offset_ += static_cast<double>(part.count) * part.grid.offset;
  const double low_node = std::floor((window.low - offset_) / step_);
  const auto cells = static_cast<std::size_t>(std::ceil((window.high - offset_) / step_) - low_node) + 2;
  RealFourier fourier(fourier_length(cells));
  const std::size_t n = fourier.size();
  const auto first = static_cast<std::int64_t>(low_node);
  const double low_edge = offset_ + low_node * step_;
  const double high_edge = offset_ + (low_node + static_cast<double>(n)) * step_;

  LossSpectrum spectrum(n);
  double log_scale = -tilt_ * center_;
  double log_magnitude = std::abs(log_scale);
  double log_above = -window.rate_above * high_edge;
  double log_below = window.rate_below * low_edge;
  for (const RepeatedGrid& part : parts) {
    DPREDUCE_ASSERT(part.grid.step == step_);
    const auto count = static_cast<double>(part.count);
    const TiltedLoss loss = tilted(part.grid, tilt_);
    spectrum.add(fourier, loss, part.count);
    log_scale += count * loss.log_moment;
    log_magnitude += count * std::abs(loss.log_moment);
    log_above += count * (log_moment(part.grid, tilt_ + window.rate_above) - loss.log_moment);
    log_below += count * (log_moment(part.grid, tilt_ - window.rate_below) - loss.log_moment);
    relative_margin_ += count * kUnitRoundoff * (20 + 4 * (1 + tilt_) * loss.largest_loss);
    infinite_mass_ += count * part.grid.infinite_mass;
    largest_loss_ += count * loss_at(part.grid, part.grid.mass.size() - 1);
    loss_error_ += count * part.grid.loss_error;
  }
  relative_margin_ += spectrum.relative_error() + kUnitRoundoff * (8 * static_cast<double>(n) + 8 * log_magnitude);
  relative_margin_ = std::expm1(relative_margin_);
  scale_ = std::exp(log_scale);

  const LossSpectrum::Sum sum = spectrum.sum(fourier);
  error_at_center_ = sum.l2_error * weight_norm(tilt_, step_, n);
  const double above = std::exp(log_above) * (1 + 1e-6);
  const double below = std::exp(log_below) * (1 + 1e-6);
  if (side_ == Side::kUpper) {
    missing_above_ = above * std::exp(-tilt_ * (high_edge - center_));
  } else {
    error_at_center_ += (above + below) * largest_weight(tilt_);
  }

  // H_j = e^-step H_(j+1) + (1 - e^-step) (weight above j), from the top.
  hockey_.assign(n, 0.0);
  const double decay = std::exp(-step_);
  const double gain = -std::expm1(-step_);
  const auto size = static_cast<std::int64_t>(n);
  double weight_above = 0;
  std::size_t bottom = n - 1;
  for (std::size_t index = n - 1; index-- > 0;) {
    const std::int64_t above_index = first + static_cast<std::int64_t>(index) + 1;
    const double log_weight = -tilt_ * (offset_ + static_cast<double>(above_index) * step_ - center_);
    if (log_weight > kLargestLogWeight) break;
    const auto position = static_cast<std::size_t>((((above_index - spectrum.peak()) % size) + size) % size);
    weight_above += std::max(0.0, sum.mass[position]) * std::exp(log_weight);
    hockey_[index] = decay * hockey_[index + 1] + gain * weight_above;
    bottom = index;
  }
  hockey_.erase(hockey_.begin(), hockey_.begin() + static_cast<std::ptrdiff_t>(bottom));
  first_ = first + static_cast<std::int64_t>(bottom);
}

double ComposedLoss::node(std::size_t index) const {
  return offset_ + static_cast<double>(first_ + static_cast<std::int64_t>(index)) * step_;
}

// The bound of delta where the hockey stick has this value, between the node and the next.
double ComposedLoss::bound_at(std::size_t index, double hockey) const {
  const double error = error_at_center_ * std::exp(-tilt_ * (node(index) - center_)) * (1 + 1e-9);
  if (side_ == Side::kUpper) {
    return std::min(1.0, (hockey * (1 + relative_margin_) + error + missing_above_) * scale_ + infinite_mass_);
  }
  return std::max(0.0, (hockey * (1 - relative_margin_) - error) * scale_);
}

double ComposedLoss::epsilon_at(double delta) const {
  // The last node whose bound is above delta; the bounds fall with epsilon.
  std::size_t above = hockey_.size();
  while (above > 0 && bound_at(above - 1, hockey_[above - 1]) <= delta) --above;
  if (above == hockey_.size()) {
    if (side_ == Side::kLower) return std::max(0.0, node(above - 1) - loss_error_);
    return infinite_mass_ <= delta ? std::max(0.0, largest_loss_ + loss_error_ + 1e-12 * std::abs(largest_loss_))
                                   : kInfinity;
  }
  double epsilon = 0;
  if (above == 0) {
    if (side_ == Side::kLower) return 0;
    epsilon = node(0);
  } else {
    // In the cell, with the errors of its left node: bisection, since only a point that was checked counts.
    const std::size_t left = above - 1;
    double low = 0;
    double high = 1;
    for (int halving = 0; halving < 50; ++halving) {
      const double middle = (low + high) / 2;
      const double hockey = hockey_[left] + middle * (hockey_[above] - hockey_[left]);
      (bound_at(left, hockey) > delta ? low : high) = middle;
    }
    const double share = side_ == Side::kUpper ? high : low;
    epsilon = node(left) + std::log1p(share * std::expm1(step_));
  }
  const double rounding = 4e-16 * (std::abs(epsilon) + step_);
  epsilon += side_ == Side::kUpper ? loss_error_ + rounding : -loss_error_ - rounding;
  return std::max(0.0, epsilon);
}

}  // namespace dpreduce
