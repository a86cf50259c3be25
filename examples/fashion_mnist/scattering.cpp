#include "scattering.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include <fftw3.h>

#include "common/base/error.hpp"

// Every array is [position][lane]: arithmetic on a position is one loop over lanes of the same operation.
namespace dpreduce::fashion_mnist {
namespace {

using Complex = std::complex<float>;
constexpr int kHalf = kSide / 2;
constexpr int kPixels = kSide * kSide;
constexpr int kBorder = (kSide - kImageSide) / 2;

fftwf_plan make_plan(int side, int direction, Complex* in, Complex* out) {
  const int sides[2] = {side, side};
  fftwf_plan plan =
      fftwf_plan_many_dft(2, sides, kLanes, reinterpret_cast<fftwf_complex*>(in), nullptr, kLanes, 1,
                          reinterpret_cast<fftwf_complex*>(out), nullptr, kLanes, 1, direction, FFTW_ESTIMATE);
  if (plan == nullptr) throw std::bad_alloc();
  return plan;
}

void execute(fftwf_plan plan, Complex* in, Complex* out) {
  fftwf_execute_dft(plan, reinterpret_cast<fftwf_complex*>(in), reinterpret_cast<fftwf_complex*>(out));
}

// out = x_hat psi_hat, 32 x 32.
void multiply(const Complex* spectrum, const Spectrum& filter, Complex* out) {
  const float* in = reinterpret_cast<const float*>(spectrum);
  float* to = reinterpret_cast<float*>(out);
  for (int k = 0; k < kPixels; ++k) {
    for (int part = 0; part < 2 * kLanes; ++part) to[k * 2 * kLanes + part] = in[k * 2 * kLanes + part] * filter[k];
  }
}

// out[k] = sum_{a,b in {0,1}} (x_hat psi_hat)[k + 16 (a, b)], 16 x 16: the spectrum of every second sample. With the
// filter's 1/32^2 the inverse transform of 16^2 points gives these samples.
void multiply_and_fold(const Complex* spectrum, const Spectrum& filter, Complex* out) {
  const float* in = reinterpret_cast<const float*>(spectrum);
  float* to = reinterpret_cast<float*>(out);
  for (int ky = 0; ky < kHalf; ++ky) {
    for (int kx = 0; kx < kHalf; ++kx) {
      const int k00 = ky * kSide + kx, k01 = k00 + kHalf, k10 = k00 + kHalf * kSide, k11 = k10 + kHalf;
      for (int part = 0; part < 2 * kLanes; ++part) {
        const auto term = [&](int k) { return in[k * 2 * kLanes + part] * filter[k]; };
        to[(ky * kHalf + kx) * 2 * kLanes + part] = (term(k00) + term(k01)) + (term(k10) + term(k11));
      }
    }
  }
}

void take_modulus(const Complex* values, int count, float* out) {
  const float* in = reinterpret_cast<const float*>(values);
  for (int entry = 0; entry < count * kLanes; ++entry) {
    out[entry] = std::sqrt(in[2 * entry] * in[2 * entry] + in[2 * entry + 1] * in[2 * entry + 1]);
  }
}

// One complex transform serves two real images a, b of the same lane: with Z the spectrum of a + i b,
//   a_hat[k] = (Z[k] + conj Z[-k]) / 2,   b_hat[k] = (Z[k] - conj Z[-k]) / (2 i).
void separate(const Complex* packed, Complex* first, Complex* second) {
  for (int ky = 0; ky < kSide; ++ky) {
    for (int kx = 0; kx < kSide; ++kx) {
      const int k = (ky * kSide + kx) * kLanes;
      const int mirrored = ((kSide - ky) % kSide * kSide + (kSide - kx) % kSide) * kLanes;
      for (int lane = 0; lane < kLanes; ++lane) {
        const Complex z = packed[k + lane], w = packed[mirrored + lane];
        first[k + lane] = {(z.real() + w.real()) / 2, (z.imag() - w.imag()) / 2};
        second[k + lane] = {(z.imag() + w.imag()) / 2, (w.real() - z.real()) / 2};
      }
    }
  }
}

// out = A U A^T, 8 x 8, where U is m x m and A is 8 x m.
void average(const float* in, int samples, const std::vector<float>& matrix, float* half_done, float* out) {
  const int row = samples * kLanes;
  for (int p = 0; p < kGrid; ++p) {
    float* sum = half_done + p * row;
    std::fill_n(sum, row, 0.0f);
    for (int u = 0; u < samples; ++u) {
      const float weight = matrix[p * samples + u];
      for (int entry = 0; entry < row; ++entry) sum[entry] += weight * in[u * row + entry];
    }
  }
  for (int p = 0; p < kGrid; ++p) {
    for (int q = 0; q < kGrid; ++q) {
      float sum[kLanes] = {};
      for (int u = 0; u < samples; ++u) {
        for (int lane = 0; lane < kLanes; ++lane) {
          sum[lane] += matrix[q * samples + u] * half_done[(p * samples + u) * kLanes + lane];
        }
      }
      std::copy_n(sum, kLanes, out + (p * kGrid + q) * kLanes);
    }
  }
}

std::vector<Spectrum> wavelets_for_inverse(int scale) {
  std::vector<Spectrum> filters;
  for (int angle = 0; angle < kAngles; ++angle) {
    filters.push_back(morlet_spectrum(scale, angle));
    for (float& value : filters.back()) value /= kPixels;
  }
  return filters;
}

}  // namespace

template <typename T>
AlignedArray<T>::AlignedArray(std::size_t size) : data_(static_cast<T*>(fftwf_malloc(size * sizeof(T)))) {
  if (data_ == nullptr) throw std::bad_alloc();
  std::fill_n(data_.get(), size, T{});
}

template <typename T>
void AlignedArray<T>::Free::operator()(T* memory) const {
  fftwf_free(memory);
}

template class AlignedArray<float>;
template class AlignedArray<Complex>;

struct Scattering::Plans {
  fftwf_plan forward_32, inverse_32, inverse_16;
};

Scattering::Workspace::Workspace()
    : image_(kPixels * kLanes),
      spectrum_(kPixels * kLanes),
      filtered_(kPixels * kLanes),
      modulus_{AlignedArray<float>(kPixels * kLanes), AlignedArray<float>(kPixels * kLanes)},
      packed_(kPixels * kLanes),
      spectra_{AlignedArray<Complex>(kPixels * kLanes), AlignedArray<Complex>(kPixels * kLanes)},
      averaged_(kGrid * kSide * kLanes),
      channels_(kCoefficients * kLanes) {}

Scattering::Scattering()
    : plans_(std::make_unique<Plans>()),
      fine_(wavelets_for_inverse(0)),
      coarse_(wavelets_for_inverse(1)),
      low_pass_32_(low_pass_matrix(kSide)),
      low_pass_16_(low_pass_matrix(kHalf)) {
  AlignedArray<Complex> scratch(kPixels * kLanes);
  plans_->forward_32 = make_plan(kSide, FFTW_FORWARD, scratch.data(), scratch.data());
  plans_->inverse_32 = make_plan(kSide, FFTW_BACKWARD, scratch.data(), scratch.data());
  plans_->inverse_16 = make_plan(kHalf, FFTW_BACKWARD, scratch.data(), scratch.data());
}

Scattering::~Scattering() {
  fftwf_destroy_plan(plans_->forward_32);
  fftwf_destroy_plan(plans_->inverse_32);
  fftwf_destroy_plan(plans_->inverse_16);
}

void Scattering::transform(std::span<const std::uint8_t> pixels, std::span<float> coefficients,
                           Workspace& workspace) const {
  const int count = static_cast<int>(pixels.size() / kImagePixels);
  DPREDUCE_ASSERT(pixels.size() % kImagePixels == 0);
  DPREDUCE_ASSERT(count <= kLanes);
  DPREDUCE_ASSERT(coefficients.size() == static_cast<std::size_t>(count) * kCoefficients);

  float* image = workspace.image_.data();
  Complex* spectrum = workspace.spectrum_.data();
  Complex* filtered = workspace.filtered_.data();
  Complex* packed = workspace.packed_.data();
  float* half_done = workspace.averaged_.data();
  float* channels = workspace.channels_.data();
  const auto channel = [&](int index) { return channels + index * kCells * kLanes; };
  const auto first_order = [&](int scale, int angle) { return channel(1 + scale * kAngles + angle); };
  const auto second_order = [&](int from, int to) { return channel(1 + kScales * kAngles + from * kAngles + to); };

  std::fill_n(image, kPixels * kLanes, 0.0f);
  for (int lane = 0; lane < count; ++lane) {
    for (int y = 0; y < kImageSide; ++y) {
      for (int x = 0; x < kImageSide; ++x) {
        const float value = static_cast<float>(pixels[lane * kImagePixels + y * kImageSide + x]) / 255.0f;
        image[((y + kBorder) * kSide + x + kBorder) * kLanes + lane] = value;
      }
    }
  }
  std::copy_n(image, kPixels * kLanes, spectrum);
  average(image, kSide, low_pass_32_, half_done, channel(0));  // S0
  execute(plans_->forward_32, spectrum, spectrum);             // x_hat

  // |x_hat psi_hat_1| * phi: on every second sample.
  const auto coarse_path = [&](const Complex* from, int angle, float* out) {
    float* modulus = workspace.image_.data();  // x itself is no longer needed
    multiply_and_fold(from, coarse_[angle], filtered);
    execute(plans_->inverse_16, filtered, filtered);
    take_modulus(filtered, kHalf * kHalf, modulus);
    average(modulus, kHalf, low_pass_16_, half_done, out);
  };
  for (int angle = 0; angle < kAngles; ++angle) coarse_path(spectrum, angle, first_order(1, angle));

  for (int pair = 0; pair < kAngles; pair += 2) {
    for (int member = 0; member < 2; ++member) {
      float* modulus = workspace.modulus_[member].data();
      multiply(spectrum, fine_[pair + member], filtered);
      execute(plans_->inverse_32, filtered, filtered);
      take_modulus(filtered, kPixels, modulus);
      average(modulus, kSide, low_pass_32_, half_done, first_order(0, pair + member));
    }
    for (int entry = 0; entry < kPixels * kLanes; ++entry) {
      packed[entry] = {workspace.modulus_[0].data()[entry], workspace.modulus_[1].data()[entry]};
    }
    execute(plans_->forward_32, packed, packed);
    separate(packed, workspace.spectra_[0].data(), workspace.spectra_[1].data());
    for (int member = 0; member < 2; ++member) {
      for (int angle = 0; angle < kAngles; ++angle) {
        coarse_path(workspace.spectra_[member].data(), angle, second_order(pair + member, angle));
      }
    }
  }

  for (int lane = 0; lane < count; ++lane) {
    float* row = coefficients.data() + static_cast<std::size_t>(lane) * kCoefficients;
    for (int entry = 0; entry < kCoefficients; ++entry) row[entry] = channels[entry * kLanes + lane];
  }
}

}  // namespace dpreduce::fashion_mnist
