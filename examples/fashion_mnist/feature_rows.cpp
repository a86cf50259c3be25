#include "feature_rows.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "common/base/error.hpp"

namespace dpreduce::fashion_mnist {
namespace {

// Group normalization's customary 1e-5 is for activations of order 1; second-order paths of pixels in [0, 1] vary by
// less.
constexpr double kVarianceFloor = 1e-7;
constexpr int kGroupChannels = 3;

void standardize_group(std::span<float> values) {
  double sum = 0, squares = 0;
  for (const float value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const float value : values) squares += (value - mean) * (value - mean);
  const double scale = 1 / std::sqrt(squares / static_cast<double>(values.size()) + kVarianceFloor);
  for (float& value : values) value = static_cast<float>((value - mean) * scale);
}

}  // namespace

std::string_view name(Standardize standardize) {
  switch (standardize) {
    case Standardize::kNone:
      return "none";
    case Standardize::kChannel:
      return "channel";
    case Standardize::kGroup:
      return "group";
  }
  DPREDUCE_ASSERT(!"a member of Standardize");
}

void make_row(std::span<float> coefficients, const RowSettings& settings, std::span<float> row) {
  DPREDUCE_ASSERT(settings.grid == 4 || settings.grid == 8);
  DPREDUCE_ASSERT(coefficients.size() == kCoefficients);
  DPREDUCE_ASSERT(row.size() == settings.dimension());

  if (settings.standardize != Standardize::kNone) {
    const std::size_t group = kCells * (settings.standardize == Standardize::kGroup ? kGroupChannels : 1);
    for (std::size_t begin = 0; begin < kCoefficients; begin += group) {
      standardize_group(coefficients.subspan(begin, group));
    }
  }
  if (settings.grid == kGrid) {
    std::copy(coefficients.begin(), coefficients.end(), row.begin());
    return;
  }
  float* to = row.data();
  for (int channel = 0; channel < kChannels; ++channel) {
    for (int p = 0; p < kGrid; p += 2) {
      for (int q = 0; q < kGrid; q += 2) {
        const float* cell = coefficients.data() + channel * kCells + p * kGrid + q;
        *to++ = ((cell[0] + cell[1]) + (cell[kGrid] + cell[kGrid + 1])) / 4;
      }
    }
  }
}

void encode(const Scattering& scattering, std::span<const std::uint8_t> pixels, const RowSettings& settings,
            int threads, std::span<float> rows, const std::function<void(std::size_t)>& on_progress) {
  const std::size_t images = pixels.size() / kImagePixels, dimension = settings.dimension();
  DPREDUCE_ASSERT(threads >= 1);
  DPREDUCE_ASSERT(pixels.size() % kImagePixels == 0);
  DPREDUCE_ASSERT(rows.size() == images * dimension);

  struct Buffers {
    Scattering::Workspace workspace;
    std::vector<float> coefficients = std::vector<float>(std::size_t{kLanes} * kCoefficients);
  };
  std::vector<Buffers> buffers(threads);  // all allocation happens here: the threads below have nothing to throw

  std::atomic<std::size_t> next{0};
  const auto work = [&](Buffers& own) {
    while (true) {
      const std::size_t first = next.fetch_add(kLanes);
      if (first >= images) return;
      const std::size_t count = std::min<std::size_t>(kLanes, images - first);
      const std::span<float> coefficients(own.coefficients.data(), count * kCoefficients);
      scattering.transform(pixels.subspan(first * kImagePixels, count * kImagePixels), coefficients, own.workspace);
      for (std::size_t lane = 0; lane < count; ++lane) {
        make_row(coefficients.subspan(lane * kCoefficients, kCoefficients), settings,
                 rows.subspan((first + lane) * dimension, dimension));
      }
      on_progress(count);
    }
  };
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back([&, thread] { work(buffers[thread]); });
  work(buffers[0]);
}

}  // namespace dpreduce::fashion_mnist
