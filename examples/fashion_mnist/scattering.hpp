// The wavelet scattering transform of a 28 x 28 image: 81 channels on an 8 x 8 grid.
//
//   x          an image with pixels in [0, 1], and 2 pixels of 0 around it: 32 x 32
//   psi, phi   the filters of wavelets.hpp; * is the circular convolution on 32 x 32
//   S0         (x * phi)(4 p, 4 q)                                       1 channel
//   S1[j,l]    (|x * psi_{j,l}| * phi)(4 p, 4 q)                        16 channels, j outer, l inner
//   S2[l,m]    (||x * psi_{0,l}| * psi_{1,m}| * phi)(4 p, 4 q)          64 channels, l outer, m inner
//
// Second order needs j1 < j2, which leaves (0, 1) when J = 2. The second modulus and the first one at j = 1 are taken
// on every second pixel: their spectra are folded from 32 x 32 to 16 x 16 before the inverse transform.
//
// Departure from Kymatio, which reflects an image at its borders: the background of these images is 0, and zeros keep
// the outline of what reaches a border (nearest class mean gains 0.016 in accuracy, ridge regression 0.005).
//
// Sources: [mallat2012]; [bruna2013]; [oyallon2015]; as features for private learning: [tramer2021].
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wavelets.hpp"

namespace dpreduce::fashion_mnist {

inline constexpr int kImageSide = 28;
inline constexpr int kImagePixels = kImageSide * kImageSide;
inline constexpr int kChannels = 1 + kScales * kAngles + kAngles * kAngles;  ///< 81
inline constexpr int kCells = kGrid * kGrid;                                 ///< 64 positions of a channel
inline constexpr int kCoefficients = kChannels * kCells;                     ///< 5184

/// Images that go through the transform side by side, one a SIMD lane. No lane's arithmetic touches another's, and all
/// do the same: an image's coefficients have the same bits whatever stands beside it, and wherever it stands.
inline constexpr int kLanes = 8;

/// Filters and transform plans: made once, then shared by all threads. Plans are estimated, never timed, so that two
/// runs take the same one and give the same bits.
class Scattering {
 public:
  Scattering();
  ~Scattering();
  Scattering(const Scattering&) = delete;
  Scattering& operator=(const Scattering&) = delete;

  /// The buffers of one thread.
  class Workspace;

  /// coefficients[i] = (S0, S1, S2) of image i, row-major over channel, p, q: n x 5184 for n = pixels.size() / 784.
  /// `pixels`: n x 784 bytes, 255 becomes 1. Preconditions: pixels.size() is a multiple of 784; n <= kLanes;
  /// coefficients.size() = n * 5184. An assertion fails where one is broken. About 2 Mflop an image.
  void transform(std::span<const std::uint8_t> pixels, std::span<float> coefficients, Workspace& workspace) const;

 private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
  std::vector<Spectrum> fine_;    // psi_hat_{0,l} / 32^2: the inverse transform's factor is in the filter
  std::vector<Spectrum> coarse_;  // psi_hat_{1,l} / 32^2
  std::vector<float> low_pass_32_, low_pass_16_;
};

/// An array that FFTW's SIMD code can work on.
template <typename T>
class AlignedArray {
 public:
  explicit AlignedArray(std::size_t size);
  T* data() { return data_.get(); }

 private:
  struct Free {
    void operator()(T* memory) const;
  };
  std::unique_ptr<T[], Free> data_;
};

class Scattering::Workspace {
 public:
  Workspace();

 private:
  friend class Scattering;
  using Complex = std::complex<float>;
  AlignedArray<float> image_;         // 32 x 32 x lanes: x
  AlignedArray<Complex> spectrum_;    // 32 x 32 x lanes: x_hat
  AlignedArray<Complex> filtered_;    // 32 x 32 x lanes: x * psi, also folded to 16 x 16
  AlignedArray<float> modulus_[2];    // 32 x 32 x lanes: |x * psi_{0,l}| of two angles
  AlignedArray<Complex> packed_;      // 32 x 32 x lanes: U_l + i U_{l+1}
  AlignedArray<Complex> spectra_[2];  // 32 x 32 x lanes: their spectra
  AlignedArray<float> averaged_;      // 8 x 32 x lanes: A U
  AlignedArray<float> channels_;      // 81 x 64 x lanes
};

}  // namespace dpreduce::fashion_mnist
