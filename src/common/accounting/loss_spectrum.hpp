// The Fourier transform of the tilted sum of all losses, mode by mode, with a bound of its error.
//
//   x_i[j] = mass_i[j] e^(theta l_j) / M_i, M_i = sum_j mass_i[j] e^(theta l_j)   one tilted loss, sum 1
//   z_i[k] = sum_j x_i[j] e^(-2 pi i j k / N)                             its modes, j counted from its peak
//   Y[k]   = prod_i z_i[k]^count_i = e^(sum_i count_i ln z_i[k])          the sum's, node 0 = sum of all peaks
//
// A loss that is nearly always the same (small sampling rates) has nearly all of its x in a few nodes, the core, and
// ln z near 0; to take it count times multiplies the error of ln z by count. So 1 - z = w is computed, not z:
//
//   w = sum_core x_j (1 - e^(-i omega j)) + (sum_rest x_j - transform of the rest)
//
// The first sum is (1 - v) times a polynomial in v = e^(-i omega) with the sums of x beyond j as coefficients, plus the
// same with the conjugate of v for j < 0: all of it good to a few roundings of |w|. Only the rest suffers the errors of
// a fast transform, whose L2 norm over all modes is at most g sqrt(N) |x_rest|_2 (relative_error).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/accounting/loss_grid.hpp"

struct fftw_plan_s;  // of fftw3.h

namespace dpreduce {

// Real discrete Fourier transforms of one length, by FFTW, with a bound of their rounding error.

/// Transforms between n real numbers and the n/2 + 1 first of their n coefficients z_k = sum_j x_j e^(-2 pi i jk/n).
class RealFourier {
 public:
  /// Precondition: n even and > 0.
  explicit RealFourier(std::size_t n);
  RealFourier(const RealFourier&) = delete;
  RealFourier& operator=(const RealFourier&) = delete;

  std::size_t size() const { return n_; }
  /// The buffers of both transforms.
  std::span<double> values() { return {values_.get(), n_}; }
  std::span<std::complex<double>> coefficients() { return {coefficients_.get(), n_ / 2 + 1}; }

  /// values -> coefficients.
  void forward();
  /// coefficients -> n times values; the coefficients are lost.
  void backward();

  /// The L2 norm of a transform's error is at most this times the L2 norm of its exact result: 8 u log2 n, u = 2^-53
  /// ([higham2002], Theorem 24.2, for radix 2 with twiddles good to u; other radices need fewer operations).
  double relative_error() const;

 private:
  std::size_t n_;
  std::shared_ptr<double> values_;  // each with what frees it, which only fftw3.h declares
  std::shared_ptr<std::complex<double>> coefficients_;
  std::shared_ptr<fftw_plan_s> forward_;
  std::shared_ptr<fftw_plan_s> backward_;
};

/// The least even length >= n that is a power of 2, or 3 times one.
std::size_t fourier_length(std::size_t n);

/// ln sum_j mass_j e^(theta l_j), the infinite mass left out.
double log_moment(const LossGrid& grid, double theta);

/// One mechanism's tilted masses x.
struct TiltedLoss {
  std::int64_t first;  ///< node of mass[0]
  std::int64_t peak;   ///< node of the largest mass
  std::vector<double> mass;
  double log_moment;    ///< ln M
  double largest_loss;  ///< absolute value
};

TiltedLoss tilted(const LossGrid& grid, double tilt);

class LossSpectrum {
 public:
  /// The spectrum of no loss at all: Y = 1.
  explicit LossSpectrum(std::size_t length);

  /// Takes the loss in, count times. Uses the transform's buffers. Preconditions: fourier has this spectrum's length;
  /// the masses' sum is 1 but for rounding; count > 0.
  void add(RealFourier& fourier, const TiltedLoss& loss, std::uint64_t count);

  /// y = the tilted sum's masses, modulo the length: y[s - peak()] belongs to node s. And at least the L2 norm of the
  /// error of y.
  struct Sum {
    std::vector<double> mass;
    double l2_error;
  };
  Sum sum(RealFourier& fourier) const;

  /// The node of index 0: sum_i count_i peak_i.
  std::int64_t peak() const { return peak_; }

  /// Relative error of every y that comes from the x not having the sum 1 exactly.
  double relative_error() const { return relative_error_; }

 private:
  struct Mode {
    std::complex<double> log_value = 0;
    double log_bound = 0;  // ln of a bound of the exact modulus
    double rounding = 0;   // relative to that bound, of e^log_value
  };
  struct Transform {
    double mass;        // that was transformed
    double l2_error;    // over sqrt(N): of all modes
    double mode_error;  // of each
  };
  static Transform transform(RealFourier& fourier, const TiltedLoss& loss, std::int64_t reach);

  std::vector<Mode> modes_;
  std::int64_t peak_ = 0;
  double transform_error_ = 0;  // L2, of y, from the single transforms, to first order
  double growth_ = 0;           // ln of what higher orders multiply it by, at most
  double relative_error_ = 0;
};

}  // namespace dpreduce
