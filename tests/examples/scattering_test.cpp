// The scattering transform against what its definition promises, and against direct convolution with filters sampled in
// space: an implementation that shares neither a filter nor a Fourier transform with the one under test.
#include "scattering.hpp"

#include <numbers>

#include "tests/testing.hpp"

namespace dpreduce::fashion_mnist {
namespace {

using std::numbers::pi;
using Complex = std::complex<double>;
using Field = std::vector<Complex>;  // 32 x 32
constexpr int kPixels = kSide * kSide;

std::vector<std::uint8_t> random_images(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count) * kImagePixels);
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random() & 0xff);
  return pixels;
}

// A soft blob with its center at (y, x) that is 0 at the borders' pixels.
std::vector<std::uint8_t> blob(int y, int x) {
  std::vector<std::uint8_t> pixels(kImagePixels);
  for (int k = 0; k < kImagePixels; ++k) {
    const int down = k / kImageSide - y, right = k % kImageSide - x;
    const double squared = down * down + 2.0 * right * right + down * right;
    pixels[k] = static_cast<std::uint8_t>(255 * std::exp(-squared / 12));
  }
  return pixels;
}

std::vector<float> transform(std::span<const std::uint8_t> pixels) {
  const Scattering scattering;
  Scattering::Workspace workspace;
  std::vector<float> coefficients(pixels.size() / kImagePixels * kCoefficients);
  scattering.transform(pixels, coefficients, workspace);
  return coefficients;
}

// Place of the pixel (y, x), which may be one period before the first.
constexpr int place(int y, int x) {
  return (y + kSide) % kSide * kSide + (x + kSide) % kSide;
}

Field padded(std::span<const std::uint8_t> pixels) {
  Field field(kPixels);
  for (int k = 0; k < kImagePixels; ++k) field[place(k / kImageSide + 2, k % kImageSide + 2)] = pixels[k] / 255.0;
  return field;
}

// sum over periods of g(u) exp(i xi . u), g a Gaussian of unit integral that is `slant` times as narrow along theta.
Field gabor(double sigma, double theta, double xi, double slant) {
  Field field(kPixels);
  for (int k = 0; k < kPixels; ++k) {
    for (int period = 0; period < 49; ++period) {  // three before and three after, down and across
      const double v = k / kSide + kSide * (period / 7 - 3), u = k % kSide + kSide * (period % 7 - 3);
      const double along = v * std::cos(theta) + u * std::sin(theta);
      const double across = u * std::cos(theta) - v * std::sin(theta);
      const double envelope = std::exp(-(along * along + slant * slant * across * across) / (2 * sigma * sigma));
      field[k] += std::polar(envelope * slant / (2 * pi * sigma * sigma), xi * along);
    }
  }
  return field;
}

Field morlet(int scale, int angle) {
  const double dilation = 1 << scale, theta = (3 - angle) * pi / 8;
  Field wave = gabor(0.8 * dilation, theta, 0.75 * pi / dilation, 0.5);
  const Field envelope = gabor(0.8 * dilation, theta, 0, 0.5);
  Complex wave_sum = 0, envelope_sum = 0;
  for (int k = 0; k < kPixels; ++k) wave_sum += wave[k], envelope_sum += envelope[k];
  for (int k = 0; k < kPixels; ++k) wave[k] -= wave_sum / envelope_sum * envelope[k];
  return wave;
}

Field convolve(const Field& image, const Field& filter) {
  Field result(kPixels);
  for (int k = 0; k < kPixels; ++k) {
    for (int j = 0; j < kPixels; ++j) {
      result[k] += image[j] * filter[place(k / kSide - j / kSide, k % kSide - j % kSide)];
    }
  }
  return result;
}

Field modulus(Field field) {
  for (Complex& value : field) value = std::abs(value);
  return field;
}

// (field * phi)(4 p, 4 q). Where `step` is 2 the field counts on every second sample only, each for four pixels.
std::vector<double> averaged(const Field& field, int step) {
  const Field low_pass = gabor(1.6, 0, 0, 1);
  std::vector<double> result;
  for (int cell = 0; cell < kCells; ++cell) {
    double sum = 0;
    for (int v = 0; v < kSide; v += step) {
      for (int u = 0; u < kSide; u += step) {
        const int k = place(4 * (cell / kGrid) - v, 4 * (cell % kGrid) - u);
        sum += step * step * field[place(v, u)].real() * low_pass[k].real();
      }
    }
    result.push_back(sum);
  }
  return result;
}

void expect_channel(std::span<const float> coefficients, int channel, const std::vector<double>& expected) {
  for (int cell = 0; cell < kCells; ++cell) {
    EXPECT_NEAR(coefficients[channel * kCells + cell], expected[cell], 2e-6)
        << "channel " << channel << " cell " << cell;
  }
}

// A(omega) = |phi_hat|^2 + 1/2 sum (|psi_hat(omega)|^2 + |psi_hat(-omega)|^2): the energy that the wavelet transform of
// a real image keeps at omega.
std::vector<double> kept_energy() {
  std::vector<double> energy(kPixels);
  const Spectrum low_pass = low_pass_spectrum();
  for (int k = 0; k < kPixels; ++k) energy[k] = static_cast<double>(low_pass[k]) * low_pass[k];
  for (int scale = 0; scale < kScales; ++scale) {
    for (int angle = 0; angle < kAngles; ++angle) {
      const Spectrum psi = morlet_spectrum(scale, angle);
      for (int k = 0; k < kPixels; ++k) {
        const double here = psi[k], opposite = psi[place(-(k / kSide), -(k % kSide))];
        energy[k] += (here * here + opposite * opposite) / 2;
      }
    }
  }
  return energy;
}

TEST(Wavelets, KeepAtMostAllOfTheEnergyAndLoseNoFrequency) {
  const std::vector<double> energy = kept_energy();
  const auto [least, most] = std::minmax_element(energy.begin(), energy.end());
  RecordProperty("least", std::to_string(*least));
  RecordProperty("most", std::to_string(*most));
  EXPECT_LE(*most, 1 + 1e-6);
  EXPECT_GE(*least, 0.1);
}

TEST(Wavelets, HaveNoMeanAndTheLowPassKeepsIt) {
  for (int scale = 0; scale < kScales; ++scale) {
    for (int angle = 0; angle < kAngles; ++angle) EXPECT_NEAR(morlet_spectrum(scale, angle)[0], 0, 1e-7);
  }
  EXPECT_NEAR(low_pass_spectrum()[0], 1, 1e-6);
}

TEST(Wavelets, RefuseAScaleOrAngleThatIsNotThere) {
  EXPECT_THROW(morlet_spectrum(kScales, 0), std::logic_error);
  EXPECT_THROW(morlet_spectrum(-1, 0), std::logic_error);
  EXPECT_THROW(morlet_spectrum(0, kAngles), std::logic_error);
  EXPECT_THROW(low_pass_matrix(8), std::logic_error);
}

TEST(Scattering, AgreesWithDirectConvolution) {
  const std::vector<std::uint8_t> pixels = random_images(1, 1);
  const std::vector<float> coefficients = transform(pixels);
  const Field image = padded(pixels);
  expect_channel(coefficients, 0, averaged(image, 1));
  for (int angle = 0; angle < kAngles; ++angle) {
    const Field first = modulus(convolve(image, morlet(0, angle)));
    expect_channel(coefficients, 1 + angle, averaged(first, 1));
    expect_channel(coefficients, 9 + angle, averaged(modulus(convolve(image, morlet(1, angle))), 2));
    if (angle % 3 != 0) continue;  // three parents, each with two of its paths: direct convolution is slow
    for (const int second : {angle, (angle + 3) % kAngles}) {
      const Field path = modulus(convolve(first, morlet(1, second)));
      expect_channel(coefficients, 17 + angle * kAngles + second, averaged(path, 2));
    }
  }
}

TEST(Scattering, OfAConstantInteriorIsItsAverageAndLittleElse) {
  const std::vector<float> coefficients = transform(std::vector<std::uint8_t>(kImagePixels, 255));
  const int center = 4 * kGrid + 4;
  EXPECT_NEAR(coefficients[center], 1, 1e-6);
  for (int channel = 1; channel < kChannels; ++channel) EXPECT_LT(coefficients[channel * kCells + center], 1e-2);
}

TEST(Scattering, OfABlackImageIsZero) {
  EXPECT_THAT(transform(std::vector<std::uint8_t>(kImagePixels)), testing::Each(0));
}

TEST(Scattering, MovesWithTheImage) {
  // 4 pixels are one cell: where all is inside, the convolution is circular and so is the shift.
  const std::vector<float> here = transform(blob(12, 12)), there = transform(blob(16, 8));
  double largest = 0;
  for (int k = 0; k < kCoefficients; ++k) {
    const int channel = k / kCells, p = k % kCells / kGrid, q = k % kGrid;
    const float after = there[channel * kCells + (p + 1) % kGrid * kGrid + (q + kGrid - 1) % kGrid];
    EXPECT_NEAR(here[k], after, 1e-6);
    largest = std::max(largest, std::abs(static_cast<double>(here[k])));
  }
  EXPECT_GT(largest, 0.1);
}

TEST(Scattering, ContractsEnergy) {
  // A coefficient stands for the 16 pixels of its cell: 16 ||S x||^2 <= ||x||^2.
  const int count = kLanes;
  std::vector<std::uint8_t> pixels = random_images(count - 1, 2);
  const std::vector<std::uint8_t> soft = blob(14, 14);
  pixels.insert(pixels.end(), soft.begin(), soft.end());
  const std::vector<float> coefficients = transform(pixels);
  for (int image = 0; image < count; ++image) {
    double energy = 0, kept = 0;
    for (int k = 0; k < kImagePixels; ++k) energy += std::pow(pixels[image * kImagePixels + k] / 255.0, 2);
    for (int k = 0; k < kCoefficients; ++k) kept += 16 * std::pow(coefficients[image * kCoefficients + k], 2.0);
    EXPECT_LE(kept, energy);
    EXPECT_GE(kept, energy / 4);
  }
}

TEST(Scattering, DoesNotDependOnNeighborsOrPlace) {
  const std::vector<std::uint8_t> alone = random_images(1, 3);
  const std::vector<float> expected = transform(alone);
  for (int place = 0; place < kLanes; ++place) {
    std::vector<std::uint8_t> pixels = random_images(kLanes, 4 + place);
    std::copy(alone.begin(), alone.end(), pixels.begin() + place * kImagePixels);
    const std::vector<float> found = transform(pixels);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin() + place * kCoefficients)) << place;
  }
}

TEST(Scattering, RefusesSizesThatDoNotFit) {
  const Scattering scattering;
  Scattering::Workspace workspace;
  const std::vector<std::uint8_t> pixels((kLanes + 1) * kImagePixels);
  std::vector<float> coefficients((kLanes + 1) * kCoefficients);
  EXPECT_THROW(scattering.transform(pixels, coefficients, workspace), std::logic_error);
  EXPECT_THROW(scattering.transform(std::span(pixels).first(kImagePixels - 1), {}, workspace), std::logic_error);
  EXPECT_THROW(scattering.transform(std::span(pixels).first(kImagePixels), coefficients, workspace), std::logic_error);
}

}  // namespace
}  // namespace dpreduce::fashion_mnist
