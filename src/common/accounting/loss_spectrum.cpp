#include "common/accounting/loss_spectrum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <new>
#include <numbers>

#include <fftw3.h>

#include "common/base/error.hpp"
#include "common/base/floating_point.hpp"

namespace dpreduce {
namespace {

// FFTW keeps global state. Recursive: a shared_ptr::reset that throws calls destroy under the lock.
std::recursive_mutex planner;

void destroy(fftw_plan plan) {
  const std::scoped_lock lock(planner);
  fftw_destroy_plan(plan);
}

using Complex = std::complex<double>;

// Modes below e^-90 are taken for 0; their bound stays in the error.
constexpr double kLogNegligible = -90;
// A mode below its square root is all rounding error.
constexpr double kSmallestSquare = 1e-300;
// Nodes of the core on each side of the peak: at most this many, and as few as leave the rest this much of the norm.
constexpr std::int64_t kLargestCore = 64;
constexpr double kRestOfNorm = 1e-3;

// Own products: std::complex multiplies with recovery of infinities, which cannot occur here.
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// The largest theta l_j + ln mass_j, up to ln 2.
double largest_exponent(const LossGrid& grid, double theta) {
  double largest = -kInfinity;
  for (std::size_t index = 0; index < grid.mass.size(); ++index) {
    if (grid.mass[index] > 0) {
      largest = std::max(largest, theta * loss_at(grid, index) + std::ilogb(grid.mass[index]) * std::numbers::ln2);
    }
  }
  return largest;
}

// mass_j e^(theta l_j - shift): the factors may leave the range of double where the product does not.
double tilted_mass(const LossGrid& grid, std::size_t index, double theta, double shift) {
  if (grid.mass[index] == 0) return 0;
  const double half = std::exp((theta * loss_at(grid, index) - shift) / 2);
  return grid.mass[index] * half * half;
}

// sum_j x_j e^(-i omega j) = 1 - w over the core, j from -K to K around the peak.
class Core {
 public:
  Core(const TiltedLoss& loss, std::int64_t reach) {
    above_ = sums_beyond(loss, reach, +1);
    below_ = sums_beyond(loss, reach, -1);
    double sum = 0;
    for (const double coefficient : above_) sum += coefficient;
    for (const double coefficient : below_) sum += coefficient;
    relative_error_ = kUnitRoundoff * sum * (16 + 6 * static_cast<double>(reach));
  }
  bool is_empty() const { return above_.empty(); }

  struct Deficit {
    Complex value;
    double error;  // every coefficient carries at most K roundings, and so does Horner's rule
  };
  Deficit deficit(double omega) const {
    const double sine = std::sin(omega / 2);
    const Complex v(std::cos(omega), -std::sin(omega));
    const Complex one_less_v(2 * sine * sine, std::sin(omega));
    const Complex value =
        product(one_less_v, polynomial(above_, v)) + product(std::conj(one_less_v), polynomial(below_, std::conj(v)));
    return {value, 2 * std::abs(sine) * relative_error_};
  }

 private:
  // Coefficient m is the sum of x over the nodes peak + side (m + 1), ..., peak + side K.
  static std::vector<double> sums_beyond(const TiltedLoss& loss, std::int64_t reach, std::int64_t side) {
    std::vector<double> sums(static_cast<std::size_t>(reach));
    double sum = 0;
    for (std::int64_t distance = reach; distance > 0; --distance) {
      const std::int64_t index = loss.peak + side * distance - loss.first;
      if (index >= 0 && index < static_cast<std::int64_t>(loss.mass.size())) {
        sum += loss.mass[static_cast<std::size_t>(index)];
      }
      sums[static_cast<std::size_t>(distance - 1)] = sum;
    }
    return sums;
  }
  static Complex polynomial(const std::vector<double>& coefficients, Complex v) {
    Complex value = 0;
    for (auto coefficient = coefficients.rbegin(); coefficient != coefficients.rend(); ++coefficient) {
      value = product(value, v) + *coefficient;
    }
    return value;
  }

  std::vector<double> above_;
  std::vector<double> below_;
  double relative_error_ = 0;  // to |1 - v|
};

// K, or 0 where no core of at most kLargestCore holds enough.
std::int64_t core_reach(const TiltedLoss& loss) {
  const auto square_at = [&](std::int64_t node) {
    const std::int64_t index = node - loss.first;
    if (index < 0 || index >= static_cast<std::int64_t>(loss.mass.size())) return 0.0;
    return loss.mass[static_cast<std::size_t>(index)] * loss.mass[static_cast<std::size_t>(index)];
  };
  double whole = 0;
  for (const double mass : loss.mass) whole += mass * mass;
  double core = square_at(loss.peak);
  for (std::int64_t reach = 1; reach <= kLargestCore; ++reach) {
    core += square_at(loss.peak + reach) + square_at(loss.peak - reach);
    if (whole - core <= kRestOfNorm * kRestOfNorm * whole) return reach;
  }
  return core > 0.75 * whole ? kLargestCore : 0;
}

}  // namespace

RealFourier::RealFourier(std::size_t n) : n_(n) {
  DPREDUCE_ASSERT(n > 0 && n % 2 == 0 && n < (std::size_t{1} << 30));
  values_.reset(fftw_alloc_real(n), fftw_free);
  fftw_complex* const modes = fftw_alloc_complex(n / 2 + 1);
  coefficients_.reset(reinterpret_cast<std::complex<double>*>(modes), fftw_free);
  if (values_ == nullptr || coefficients_ == nullptr) throw std::bad_alloc();
  const std::scoped_lock lock(planner);
  // ESTIMATE: no timing, hence the same algorithm and the same bits in every run.
  forward_.reset(fftw_plan_dft_r2c_1d(static_cast<int>(n), values_.get(), modes, FFTW_ESTIMATE), destroy);
  backward_.reset(fftw_plan_dft_c2r_1d(static_cast<int>(n), modes, values_.get(), FFTW_ESTIMATE), destroy);
  DPREDUCE_ASSERT(forward_ != nullptr && backward_ != nullptr);
}

void RealFourier::forward() {
  fftw_execute(forward_.get());
}

void RealFourier::backward() {
  fftw_execute(backward_.get());
}

double RealFourier::relative_error() const {
  return 8 * std::ldexp(1, -53) * std::log2(static_cast<double>(n_));
}

std::size_t fourier_length(std::size_t n) {
  const std::size_t power = std::bit_ceil(std::max<std::size_t>(n, 2));
  const std::size_t three_quarters = power / 4 * 3;
  return three_quarters >= n && three_quarters % 2 == 0 ? three_quarters : power;
}

double log_moment(const LossGrid& grid, double theta) {
  const double shift = largest_exponent(grid, theta);
  double sum = 0;
  for (std::size_t index = 0; index < grid.mass.size(); ++index) sum += tilted_mass(grid, index, theta, shift);
  return shift + std::log(sum);
}

TiltedLoss tilted(const LossGrid& grid, double tilt) {
  TiltedLoss result{grid.first, grid.first, std::vector<double>(grid.mass.size()), 0, 0};
  const double shift = largest_exponent(grid, tilt);
  long double sum = 0;
  for (std::size_t index = 0; index < grid.mass.size(); ++index) {
    result.mass[index] = tilted_mass(grid, index, tilt, shift);
    sum += result.mass[index];
  }
  const auto whole = static_cast<double>(sum);
  for (double& mass : result.mass) mass /= whole;
  const auto largest = std::max_element(result.mass.begin(), result.mass.end());
  result.peak += largest - result.mass.begin();
  result.log_moment = shift + std::log(whole);
  result.largest_loss = std::max(std::abs(loss_at(grid, 0)), std::abs(loss_at(grid, grid.mass.size() - 1)));
  return result;
}

LossSpectrum::LossSpectrum(std::size_t length) : modes_(length / 2 + 1) {}

// The transform of x without the nodes within reach of the peak, and its errors.
LossSpectrum::Transform LossSpectrum::transform(RealFourier& fourier, const TiltedLoss& loss, std::int64_t reach) {
  const auto n = static_cast<std::int64_t>(fourier.size());
  const std::span<double> values = fourier.values();
  std::fill(values.begin(), values.end(), 0.0);
  std::int64_t position = (((loss.first - loss.peak) % n) + n) % n;
  std::int64_t distance = loss.first - loss.peak;
  long double mass_left = 0;
  for (const double mass : loss.mass) {
    if (reach == 0 || std::abs(distance) > reach) {
      values[static_cast<std::size_t>(position)] += mass;
      mass_left += mass;
    }
    ++distance;
    position = position + 1 == n ? 0 : position + 1;
  }
  double squared_norm = 0;
  for (const double mass : values) squared_norm += mass * mass;
  fourier.forward();
  const double l2_error = fourier.relative_error() * std::sqrt(squared_norm) * (1 + 1e-9);
  return {static_cast<double>(mass_left), l2_error, l2_error * std::sqrt(static_cast<double>(n))};
}

void LossSpectrum::add(RealFourier& fourier, const TiltedLoss& loss, std::uint64_t count) {
  DPREDUCE_ASSERT(count > 0 && fourier.size() / 2 + 1 == modes_.size());
  const double repeated = static_cast<double>(count);
  const std::span<const Complex> coefficients = fourier.coefficients();
  const std::int64_t reach = core_reach(loss);
  if (reach > 0) {
    // Most modes are negligible already by the plain transform, and need no core.
    const Transform whole = transform(fourier, loss, 0);
    for (std::size_t mode = 0; mode < modes_.size(); ++mode) {
      const double log_bound = repeated * std::log(std::abs(coefficients[mode]) + whole.mode_error);
      if (modes_[mode].log_bound + log_bound < kLogNegligible) modes_[mode].log_bound += log_bound;
    }
  }
  const Core core(loss, reach);
  const Transform rest = transform(fourier, loss, reach);
  for (std::size_t mode = 0; mode < modes_.size(); ++mode) {
    Mode& at = modes_[mode];
    if (at.log_bound < kLogNegligible) continue;
    const double omega = 2 * std::numbers::pi * static_cast<double>(mode) / static_cast<double>(fourier.size());
    const Core::Deficit near_peak = core.is_empty() ? Core::Deficit{0, 0} : core.deficit(omega);
    const Complex w = near_peak.value + (rest.mass - coefficients[mode]);
    const double squared_w = w.real() * w.real() + w.imag() * w.imag();
    // ln |1 - w| and arg(1 - w), from numbers good to a few roundings of w.
    const Complex z = 1.0 - w;
    const double log_modulus =
        (squared_w < 0.25 ? std::log1p(squared_w - 2 * w.real()) : std::log(std::max(std::norm(z), kSmallestSquare))) /
        2;
    const double rounding = near_peak.error + kUnitRoundoff * (4 * rest.mass + 16 * std::sqrt(squared_w));
    const double bound = std::exp(log_modulus) + rounding + rest.mode_error;
    at.log_bound += repeated * (std::log(bound) + 4 * kUnitRoundoff);
    if (at.log_bound < kLogNegligible) continue;
    at.log_value += Complex(repeated * log_modulus, repeated * std::arg(z));
    at.rounding += repeated * rounding / bound;
  }
  peak_ += static_cast<std::int64_t>(count) * loss.peak;
  transform_error_ += repeated * rest.l2_error;
  growth_ += repeated * rest.mode_error;
  // 1 - w takes the peak's mass for 1 less all others.
  if (!core.is_empty()) {
    relative_error_ += repeated * 4 * kUnitRoundoff / loss.mass[static_cast<std::size_t>(loss.peak - loss.first)];
  }
}

LossSpectrum::Sum LossSpectrum::sum(RealFourier& fourier) const {
  const std::size_t n = fourier.size();
  const auto value_of = [](const Mode& mode) {
    return mode.log_bound < kLogNegligible ? Complex(0) : std::exp(mode.log_value);
  };
  // Y - 1, the transform of y without its peak, each part good to a few roundings of |Y - 1|.
  const auto excess_of = [](const Mode& mode) {
    if (mode.log_bound < kLogNegligible) return Complex(-1);
    const double growth = std::expm1(mode.log_value.real());
    const double sine = std::sin(mode.log_value.imag() / 2);
    return Complex(growth * std::cos(mode.log_value.imag()) - 2 * sine * sine,
                   (1 + growth) * std::sin(mode.log_value.imag()));
  };
  const auto weight_of = [&](std::size_t mode) { return mode == 0 || mode + 1 == modes_.size() ? 1.0 : 2.0; };
  double squared_value = 0;
  double squared_excess = 0;
  for (std::size_t mode = 0; mode < modes_.size(); ++mode) {
    squared_value += weight_of(mode) * std::norm(value_of(modes_[mode]));
    squared_excess += weight_of(mode) * std::norm(excess_of(modes_[mode]));
  }
  // The smaller one has the smaller errors.
  const bool is_peaked = squared_excess < squared_value;
  const std::span<Complex> coefficients = fourier.coefficients();
  double squared_error = 0;
  for (std::size_t mode = 0; mode < modes_.size(); ++mode) {
    const Mode& at = modes_[mode];
    coefficients[mode] = is_peaked ? excess_of(at) : value_of(at);
    const double rounding = 8 * kUnitRoundoff * std::abs(coefficients[mode]);
    const double relative =
        at.log_bound < kLogNegligible ? 1 : at.rounding + 8 * kUnitRoundoff * std::abs(at.log_value);
    const double error = std::exp(at.log_bound) * relative + rounding;
    squared_error += weight_of(mode) * error * error;
  }
  fourier.backward();
  const std::span<double> values = fourier.values();
  Sum result{std::vector<double>(n), 0};
  double squared_norm = 0;
  for (std::size_t index = 0; index < n; ++index) {
    result.mass[index] = values[index] / static_cast<double>(n);
    squared_norm += result.mass[index] * result.mass[index];
  }
  if (is_peaked) result.mass[0] += 1;
  // Parseval; the margin is for the sums of squares.
  const double transforms =
      std::exp(growth_) * transform_error_ + 2 * fourier.relative_error() * std::sqrt(squared_norm);
  result.l2_error = (transforms + std::sqrt(squared_error / static_cast<double>(n))) * (1 + 1e-6);
  return result;
}

}  // namespace dpreduce
