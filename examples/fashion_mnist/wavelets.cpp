#include "wavelets.hpp"

#include <cmath>
#include <numbers>

#include "common/base/error.hpp"

namespace dpreduce::fashion_mnist {
namespace {

using std::numbers::pi;

constexpr double kSigma = 0.8;
constexpr double kSlant = 4.0 / kAngles;
constexpr double kCenter = 3 * pi / 4;
constexpr double kLowPassSigma = kSigma * (1 << (kScales - 1));
// Shifts summed on each side. The widest spectrum (sigma = 0.8) has fallen to exp(-0.32 (5 pi)^2) < 1e-34 beyond them.
constexpr int kAliases = 3;

struct Gaussian {
  double sigma, slant, theta;

  // sum_m G(omega - center e_theta + 2 pi m) at frequency index (k_y, k_x).
  double aliased(int ky, int kx, double center) const {
    const double along_y = std::cos(theta), along_x = std::sin(theta);
    double sum = 0;
    for (int my = -kAliases; my <= kAliases; ++my) {
      for (int mx = -kAliases; mx <= kAliases; ++mx) {
        const double wy = 2 * pi * (static_cast<double>(ky) / kSide + my) - center * along_y;
        const double wx = 2 * pi * (static_cast<double>(kx) / kSide + mx) - center * along_x;
        const double parallel = wx * along_x + wy * along_y;
        const double perpendicular = (wy * along_x - wx * along_y) / slant;
        sum += std::exp(-sigma * sigma * (parallel * parallel + perpendicular * perpendicular) / 2);
      }
    }
    return sum;
  }
};

template <typename Value>
Spectrum sample(Value value) {
  Spectrum spectrum(kSide * kSide);
  for (int ky = 0; ky < kSide; ++ky) {
    for (int kx = 0; kx < kSide; ++kx) spectrum[ky * kSide + kx] = static_cast<float>(value(ky, kx));
  }
  return spectrum;
}

}  // namespace

Spectrum morlet_spectrum(int scale, int angle) {
  DPREDUCE_ASSERT(scale >= 0 && scale < kScales);
  DPREDUCE_ASSERT(angle >= 0 && angle < kAngles);
  const double dilation = 1 << scale;
  const double theta = (kAngles / 2 - 1 - angle) * pi / kAngles;
  const Gaussian gaussian{kSigma * dilation, kSlant, theta};
  const double center = kCenter / dilation;
  const double kappa = gaussian.aliased(0, 0, center) / gaussian.aliased(0, 0, 0);
  return sample([&](int ky, int kx) { return gaussian.aliased(ky, kx, center) - kappa * gaussian.aliased(ky, kx, 0); });
}

Spectrum low_pass_spectrum() {
  const Gaussian gaussian{kLowPassSigma, 1, 0};
  return sample([&](int ky, int kx) { return gaussian.aliased(ky, kx, 0); });
}

std::vector<float> low_pass_matrix(int samples) {
  DPREDUCE_ASSERT(samples == kSide || samples == kSide / 2);
  const double spacing = static_cast<double>(kSide) / samples;
  std::vector<float> matrix(static_cast<std::size_t>(kGrid) * samples);
  for (int p = 0; p < kGrid; ++p) {
    for (int u = 0; u < samples; ++u) {
      double sum = 0;
      for (int period = -kAliases; period <= kAliases; ++period) {
        const double t = (static_cast<double>(kSide) / kGrid * p - spacing * u + kSide * period) / kLowPassSigma;
        sum += std::exp(-t * t / 2);
      }
      matrix[p * samples + u] = static_cast<float>(spacing * sum / (kLowPassSigma * std::sqrt(2 * pi)));
    }
  }
  return matrix;
}

}  // namespace dpreduce::fashion_mnist
