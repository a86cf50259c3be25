#include "common/accounting/fourier.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <new>

#include <fftw3.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// FFTW's planner keeps global state.
std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

struct RealFourier::Plans {
  double* values = nullptr;
  fftw_complex* coefficients = nullptr;
  fftw_plan forward = nullptr;
  fftw_plan backward = nullptr;

  explicit Plans(std::size_t n) : values(fftw_alloc_real(n)), coefficients(fftw_alloc_complex(n / 2 + 1)) {
    if (values == nullptr || coefficients == nullptr) {
      release();
      throw std::bad_alloc();
    }
    const std::scoped_lock lock(planner());
    // ESTIMATE: no timing, hence the same algorithm and the same bits in every run.
    forward = fftw_plan_dft_r2c_1d(static_cast<int>(n), values, coefficients, FFTW_ESTIMATE);
    backward = fftw_plan_dft_c2r_1d(static_cast<int>(n), coefficients, values, FFTW_ESTIMATE);
  }
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;
  ~Plans() {
    const std::scoped_lock lock(planner());
    if (forward != nullptr) fftw_destroy_plan(forward);
    if (backward != nullptr) fftw_destroy_plan(backward);
    release();
  }
  void release() {
    fftw_free(values);
    fftw_free(coefficients);
  }
};

RealFourier::RealFourier(std::size_t n) : n_(n) {
  DPREDUCE_ASSERT(n > 0 && n % 2 == 0 && n < (std::size_t{1} << 30));
  plans_ = std::make_unique<Plans>(n);
  DPREDUCE_ASSERT(plans_->forward != nullptr && plans_->backward != nullptr);
}

RealFourier::~RealFourier() = default;

std::span<double> RealFourier::values() {
  return {plans_->values, n_};
}

std::span<std::complex<double>> RealFourier::coefficients() {
  return {reinterpret_cast<std::complex<double>*>(plans_->coefficients), n_ / 2 + 1};
}

void RealFourier::forward() {
  fftw_execute(plans_->forward);
}

void RealFourier::backward() {
  fftw_execute(plans_->backward);
}

double RealFourier::relative_error() const {
  return 8 * std::ldexp(1, -53) * std::log2(static_cast<double>(n_));
}

std::size_t fourier_length(std::size_t n) {
  const std::size_t power = std::bit_ceil(std::max<std::size_t>(n, 2));
  const std::size_t three_quarters = power / 4 * 3;
  return three_quarters >= n && three_quarters % 2 == 0 ? three_quarters : power;
}

}  // namespace dpreduce
