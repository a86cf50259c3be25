// Real discrete Fourier transforms of one length, by FFTW, with a bound of their rounding error.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <span>

namespace dpreduce {

/// Transforms between n real numbers and the n/2 + 1 first of their n coefficients z_k = sum_j x_j e^(-2 pi i jk/n).
class RealFourier {
 public:
  /// Precondition: n even and > 0.
  explicit RealFourier(std::size_t n);
  ~RealFourier();
  RealFourier(const RealFourier&) = delete;
  RealFourier& operator=(const RealFourier&) = delete;

  std::size_t size() const { return n_; }
  /// The buffers of both transforms.
  std::span<double> values();
  std::span<std::complex<double>> coefficients();

  /// values -> coefficients.
  void forward();
  /// coefficients -> n times values; the coefficients are lost.
  void backward();

  /// The L2 norm of a transform's error is at most this times the L2 norm of its exact result: 8 u log2 n, u = 2^-53
  /// ([higham2002], Theorem 24.2, for radix 2 with twiddles good to u; other radices need fewer operations).
  double relative_error() const;

 private:
  struct Plans;
  std::size_t n_;
  std::unique_ptr<Plans> plans_;
};

/// The least even length >= n that is a power of 2, or 3 times one.
std::size_t fourier_length(std::size_t n);

}  // namespace dpreduce
