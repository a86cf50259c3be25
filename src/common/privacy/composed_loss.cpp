#include "dpreduce/privacy/composed_loss.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "dpreduce/config/error.hpp"
#include "dpreduce/privacy/fourier.hpp"

namespace dpreduce {
namespace {

constexpr double kUnitRoundoff = 0x1p-53;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Coefficients below e^-90 are dropped; their bound stays in the error.
constexpr double kLogNegligible = -90;
// Weights e^(-theta (s - c)) beyond e^600 are not needed: delta is 1 there.
constexpr double kLargestLogWeight = 600;

// One mechanism's tilted masses, x[j] = mass[j] e^(theta l_j) / M.
struct TiltedLoss {
  double offset;
  std::int64_t first;
  std::vector<double> mass;
  double count;
  double log_moment;    // ln M
  double largest_loss;  // absolute value
};

TiltedLoss tilted(const RepeatedGrid& part, double tilt) {
  const LossGrid& grid = part.grid;
  TiltedLoss result{grid.offset, grid.first, std::vector<double>(grid.mass.size()), static_cast<double>(part.count),
                    0,           0};
  const auto loss = [&](std::size_t index) {
    return grid.offset + static_cast<double>(grid.first + static_cast<std::int64_t>(index)) * grid.step;
  };
  // Exponents relative to the largest: mass * e^shifted stays in range even where either factor does not.
  double shift = -kInfinity;
  for (std::size_t index = 0; index < grid.mass.size(); ++index) {
    if (grid.mass[index] > 0)
      shift = std::max(shift, tilt * loss(index) + std::ilogb(grid.mass[index]) * std::log(2.0));
  }
  double sum = 0;
  for (std::size_t index = 0; index < grid.mass.size(); ++index) {
    if (grid.mass[index] == 0) continue;
    const double half = std::exp((tilt * loss(index) - shift) / 2);
    result.mass[index] = grid.mass[index] * half * half;
    sum += result.mass[index];
  }
  for (double& mass : result.mass) mass /= sum;
  result.log_moment = shift + std::log(sum);
  result.largest_loss = std::max(std::abs(loss(0)), std::abs(loss(grid.mass.size() - 1)));
  return result;
}

// count * ln E[e^(rate L)] under the tilted law.
double log_moment_beyond_tilt(const TiltedLoss& part, double rate, double step) {
  const auto loss = [&](std::size_t index) {
    return part.offset + static_cast<double>(part.first + static_cast<std::int64_t>(index)) * step;
  };
  double mean = 0;
  for (std::size_t index = 0; index < part.mass.size(); ++index) mean += part.mass[index] * loss(index);
  // Around the mean the sum is at least about 1; what underflows cannot matter.
  double sum = 0;
  for (std::size_t index = 0; index < part.mass.size(); ++index) {
    if (part.mass[index] > 0) sum += part.mass[index] * std::exp(rate * (loss(index) - mean));
  }
  return part.count * (rate * mean + std::log(sum));
}

std::complex<double> power(std::complex<double> base, std::uint64_t exponent) {
  // Own products: std::complex multiplies with recovery of infinities, which cannot occur here.
  const auto product = [](std::complex<double> a, std::complex<double> b) {
    return std::complex<double>(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  };
  std::complex<double> result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = product(result, base);
    if (exponent > 1) base = product(base, base);
  }
  return result;
}

// The transform of the tilted sum, mode by mode.
struct Spectrum {
  std::vector<std::complex<double>> value;
  std::vector<double> log_bound;  // ln of a bound of the exact modulus
  double rounding = 0;            // relative error of the powers
  double l2_error = 0;            // of the tilted sum, from the errors of the single transforms
  double growth = 0;              // ln prod (1 + e_i)^count_i
};

void multiply_by(Spectrum& spectrum, RealFourier& fourier, const TiltedLoss& part) {
  const std::span<double> values = fourier.values();
  std::fill(values.begin(), values.end(), 0.0);
  const auto n = static_cast<std::int64_t>(fourier.size());
  std::int64_t position = ((part.first % n) + n) % n;
  for (const double mass : part.mass) {
    values[static_cast<std::size_t>(position)] += mass;
    position = position + 1 == n ? 0 : position + 1;
  }
  double squared_norm = 0;
  for (const double mass : values) squared_norm += mass * mass;
  fourier.forward();
  // |error of all modes|_2 <= g sqrt(N) |x|_2, so each single one is bounded by it too.
  const double l2_error = fourier.relative_error() * std::sqrt(squared_norm) * (1 + 1e-9);
  const double mode_error = l2_error * std::sqrt(static_cast<double>(n));
  const std::span<const std::complex<double>> coefficients = fourier.coefficients();
  for (std::size_t mode = 0; mode < coefficients.size(); ++mode) {
    if (spectrum.log_bound[mode] < kLogNegligible) continue;
    const double bound = std::hypot(coefficients[mode].real(), coefficients[mode].imag()) + mode_error;
    spectrum.log_bound[mode] += part.count * (std::log(bound) + 4 * kUnitRoundoff);
    if (spectrum.log_bound[mode] < kLogNegligible) {
      spectrum.value[mode] = 0;
    } else {
      spectrum.value[mode] *= power(coefficients[mode], static_cast<std::uint64_t>(part.count));
    }
  }
  spectrum.rounding += part.count * 8 * kUnitRoundoff;
  spectrum.l2_error += part.count * l2_error;
  spectrum.growth += part.count * (mode_error + 1e-9 / part.count);
}

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

ComposedLoss::ComposedLoss(std::span<const RepeatedGrid> parts, const LossWindow& window, Side side)
    : side_(side), step_(parts.front().grid.step), tilt_(window.tilt), centre_(window.centre) {
  for (const RepeatedGrid& part : parts) offset_ += static_cast<double>(part.count) * part.grid.offset;
  const double low_node = std::floor((window.low - offset_) / step_);
  const auto cells = static_cast<std::size_t>(std::ceil((window.high - offset_) / step_) - low_node) + 2;
  RealFourier fourier(fourier_length(cells));
  const std::size_t n = fourier.size();
  const auto first = static_cast<std::int64_t>(low_node);
  const double low_edge = offset_ + low_node * step_;
  const double high_edge = offset_ + (low_node + static_cast<double>(n)) * step_;

  const std::size_t modes = n / 2 + 1;
  Spectrum spectrum{std::vector<std::complex<double>>(modes, 1), std::vector<double>(modes)};
  double log_scale = -tilt_ * centre_;
  double log_magnitude = std::abs(log_scale);
  double log_above = -window.rate_above * high_edge;
  double log_below = window.rate_below * low_edge;
  for (const RepeatedGrid& part : parts) {
    DPREDUCE_ASSERT(part.grid.step == step_ && part.count > 0);
    const TiltedLoss loss = tilted(part, tilt_);
    multiply_by(spectrum, fourier, loss);
    log_scale += loss.count * loss.log_moment;
    log_magnitude += loss.count * std::abs(loss.log_moment);
    log_above += log_moment_beyond_tilt(loss, window.rate_above, step_);
    log_below += log_moment_beyond_tilt(loss, -window.rate_below, step_);
    relative_margin_ += loss.count * kUnitRoundoff * (20 + 4 * (1 + tilt_) * loss.largest_loss);
    infinite_mass_ += loss.count * part.grid.infinite_mass;
    loss_error_ += loss.count * part.grid.loss_error;
  }
  relative_margin_ += kUnitRoundoff * (8 * static_cast<double>(n) + 8 * log_magnitude);
  relative_margin_ = std::expm1(relative_margin_);
  scale_ = std::exp(log_scale);

  const std::span<std::complex<double>> coefficients = fourier.coefficients();
  double squared_error = 0;
  for (std::size_t mode = 0; mode < modes; ++mode) {
    const double relative = spectrum.log_bound[mode] < kLogNegligible ? 1 : spectrum.rounding;
    const double error = std::exp(spectrum.log_bound[mode]) * relative;
    squared_error += (mode == 0 || mode == modes - 1 ? 1 : 2) * error * error;
    coefficients[mode] = spectrum.value[mode];
  }
  fourier.backward();
  const std::span<double> values = fourier.values();
  double squared_norm = 0;
  for (double& value : values) {
    value /= static_cast<double>(n);
    squared_norm += value * value;
  }
  // The transforms' share, by Parseval; the margin is for the sums of squares.
  const double l2_error =
      (std::exp(spectrum.growth) * spectrum.l2_error + std::sqrt(squared_error / static_cast<double>(n)) +
       2 * fourier.relative_error() * std::sqrt(squared_norm)) *
      (1 + 1e-6);
  error_at_centre_ = l2_error * weight_norm(tilt_, step_, n);
  const double above = std::exp(log_above) * (1 + 1e-6);
  const double below = std::exp(log_below) * (1 + 1e-6);
  if (side_ == Side::kUpper) {
    missing_above_ = above * std::exp(-tilt_ * (high_edge - centre_));
  } else {
    error_at_centre_ += (above + below) * largest_weight(tilt_);
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
    const double log_weight = -tilt_ * (offset_ + static_cast<double>(above_index) * step_ - centre_);
    if (log_weight > kLargestLogWeight) break;
    const auto position = static_cast<std::size_t>(((above_index % size) + size) % size);
    weight_above += std::max(0.0, values[position]) * std::exp(log_weight);
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
  const double error = error_at_centre_ * std::exp(-tilt_ * (node(index) - centre_)) * (1 + 1e-9);
  if (side_ == Side::kUpper) {
    return std::min(1.0, (hockey * (1 + relative_margin_) + error + missing_above_) * scale_ + infinite_mass_);
  }
  return std::max(0.0, (hockey * (1 - relative_margin_) - error) * scale_);
}

double ComposedLoss::delta_at(double epsilon) const {
  const double moved = side_ == Side::kUpper ? epsilon - loss_error_ : epsilon + loss_error_;
  if (moved < node(0)) return side_ == Side::kUpper ? 1.0 : bound_at(0, hockey_[0]);
  const double cell = std::floor((moved - node(0)) / step_);
  if (cell >= static_cast<double>(hockey_.size() - 1)) {
    return side_ == Side::kUpper ? bound_at(hockey_.size() - 1, 0) : 0.0;
  }
  const auto index = static_cast<std::size_t>(cell);
  const double share = std::clamp(std::expm1(moved - node(index)) / std::expm1(step_), 0.0, 1.0);
  return bound_at(index, hockey_[index] + share * (hockey_[index + 1] - hockey_[index]));
}

double ComposedLoss::epsilon_at(double delta) const {
  // The last node whose bound is above delta; the bounds fall with epsilon.
  std::size_t above = hockey_.size();
  while (above > 0 && bound_at(above - 1, hockey_[above - 1]) <= delta) --above;
  if (above == hockey_.size()) return side_ == Side::kUpper ? kInfinity : std::max(0.0, node(above - 1) - loss_error_);
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
