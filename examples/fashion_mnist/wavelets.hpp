// The filters of the scattering transform: Morlet wavelets and the Gaussian low-pass, on a periodic square.
//
//   N        side of the square, 32 pixels
//   J, L     2 octaves, scale j = 0 .. J-1; 8 angles, theta_l = (L/2 - 1 - l) pi / L from the y axis, l = 0 .. L-1
//   omega    frequency in radians a pixel, (2 pi / N) (k_y, k_x)
//   sigma_j  0.8 * 2^j, width of wavelet j
//   xi_j     (3 pi / 4) / 2^j, its center frequency
//   s        4 / L, its slant
//
// With G_{sigma,s}(omega) = exp(-sigma^2 (omega_par^2 + omega_perp^2 / s^2) / 2), where par runs along theta:
//
//   psi_hat_{j,l}(omega) = G(omega - xi_j e_theta) - kappa G(omega),   kappa such that psi_hat(0) = 0
//   phi_hat(omega)       = G_{sigma_{J-1}, 1}(omega)
//
// Sampling a filter on the pixel grid sums its spectrum over shifts by 2 pi (Poisson's formula): so the filters are
// written down in the frequency domain, where they are real. Parameters and order are those of Kymatio's Scattering2D;
// only its cut of phi_hat at pi / 2, before the average of subsampled paths, is not made: phi stays a Gaussian.
#pragma once

#include <vector>

namespace dpreduce::fashion_mnist {

inline constexpr int kSide = 32;
inline constexpr int kScales = 2;
inline constexpr int kAngles = 8;
inline constexpr int kGrid = kSide >> kScales;  ///< 8: the low-pass leaves one sample in 2^J

/// A filter's spectrum at omega = (2 pi / 32)(k_y, k_x), row-major over k_y, k_x = 0 .. 31; real.
using Spectrum = std::vector<float>;

/// psi_hat_{scale, angle}: 32 x 32. Preconditions: 0 <= scale < J, 0 <= angle < L.
/// Source: [bruna2013] (Morlet wavelets); constants as in Kymatio's Scattering2D.
Spectrum morlet_spectrum(int scale, int angle);

/// phi_hat: 32 x 32. The order-0 filter, and the average of every path.
Spectrum low_pass_spectrum();

/// The low-pass and the subsampling to 8 x 8, as one matrix for each axis: row p of A (8 x m, row-major, m = 32 or 16)
/// is
///   A[p][u] = h sum_k g(4 p - h u + 32 k),   h = 32 / m,   g(t) = exp(-t^2 / (2 sigma^2)) / (sigma sqrt(2 pi)),
/// so that (U * phi)(4 p, 4 q) = (A U A^T)[p][q] where U holds every h-th sample of an image. The Gaussian is
/// separable: this is the convolution itself, not an approximation. Precondition: m is 32 or 16.
std::vector<float> low_pass_matrix(int samples);

}  // namespace dpreduce::fashion_mnist
