#include "fit/machine_speed.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "common/base/huge_pages.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "common/plan/triangle.hpp"
#include "common/randomness/noise_key.hpp"
#include "common/randomness/rounded_gaussian.hpp"
#include "fit/synthetic_round.hpp"
#include "worker/chunk_view.hpp"

namespace dpreduce {
namespace {

// Sizes of what is timed: large enough to run at the rate of large problems, small enough to take some tens of
// milliseconds each.
constexpr std::size_t kMostDim = 1024;
constexpr std::size_t kMostClasses = 1024;
constexpr std::uint64_t kMostTimedRows = 512;
constexpr std::size_t kMostFloats = std::size_t{1} << 20;
constexpr std::size_t kEigenDim = 192;
constexpr std::size_t kNoise = 1 << 16;
constexpr double kNoiseSigma = 0x1p20;
constexpr std::size_t kCopiedBytes = std::size_t{16} << 20;
constexpr std::size_t kWords = 1 << 17;
constexpr double kEnoughSeconds = 0.02;
constexpr int kMostRepeats = 50;

// Seconds of one call, measured after a first one that is not counted.
double seconds_of_call(const std::function<void()>& work) {
  work();
  const auto started = std::chrono::steady_clock::now();
  double seconds = 0.0;
  int calls = 0;
  while (seconds < kEnoughSeconds && calls < kMostRepeats) {
    work();
    ++calls;
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  }
  return std::max(seconds / calls, 1e-9);
}

double product_rate(std::size_t dim, unsigned threads) {
  LatticeRows rows(Lattice{1.0, dim}, kMostTimedRows);
  rows.assign(RowTransform({.input_dim = dim, .center = {}}), synthetic_features(kMostTimedRows, dim),
              std::vector<std::int32_t>(kMostTimedRows, 0), threads);
  LargeVector<std::int64_t> gram(dim * dim);
  const double seconds = seconds_of_call([&] {
    select_kernel().accumulate_gram(view_of(rows), {gram.data(), dim, dim, dim}, threads);
  });
  return static_cast<double>(kMostTimedRows * triangle_elements(dim)) / seconds;
}

double round_rate(std::size_t dim, std::size_t classes, unsigned threads) {
  const SyntheticRound round(kMostTimedRows, dim, classes, threads);
  std::vector<std::int64_t> gradient(classes * dim);
  const double seconds = seconds_of_call([&] { round.accumulate(gradient); });
  return 2.0 * static_cast<double>(kMostTimedRows * classes * dim) / seconds;
}

// Rows a second from a mapped file to the lattice, without reading from disk.
double row_rate(const Preprocessing& preprocessing, unsigned threads) {
  const RowTransform transform(preprocessing);
  const std::size_t dim = preprocessing.input_dim;
  const std::uint64_t count = std::clamp<std::uint64_t>(kMostFloats / dim, 1, kMostTimedRows);
  const std::vector<float> features = synthetic_features(count, dim);
  const std::vector<std::int32_t> labels(count, 0);
  std::vector<float> read(features.size());
  LatticeRows rows(Lattice{preprocessing.clip_norm, transform.output_dim()}, count);
  const double seconds = seconds_of_call([&] {
    std::memcpy(read.data(), features.data(), features.size() * sizeof(float));
    rows.assign(transform, read, labels, threads);
  });
  return static_cast<double>(count) / seconds;
}

double noise_rate() {
  std::vector<std::int64_t> noise(kNoise);
  const NoiseKey key = NoiseKey::from_seed(1);
  const double seconds = seconds_of_call([&] {
    RandomStream stream = key.stream("calibration", {});
    fill_rounded_gaussian(stream, kNoiseSigma, noise);
  });
  return static_cast<double>(kNoise) / seconds;
}

double copy_rate() {
  const std::vector<char> from(kCopiedBytes, 1);
  std::vector<char> to(kCopiedBytes);
  const double seconds = seconds_of_call([&] { std::memcpy(to.data(), from.data(), kCopiedBytes); });
  return static_cast<double>(kCopiedBytes) / seconds;
}

double eigen_rate() {
  std::vector<std::int64_t> triangle(triangle_elements(kEigenDim));
  for (std::size_t entry = 0; entry < triangle.size(); ++entry)
    triangle[entry] = static_cast<std::int64_t>(entry * 7919 % 1009);
  const ReleasedBlock gram("gram", std::move(triangle), 0.0);
  const double seconds = seconds_of_call([&] { const GramSpectrum spectrum(gram, Lattice{1.0, kEigenDim}); });
  const double dim = kEigenDim;
  return kEigenFlops * dim * dim * dim / seconds;
}

double sum_rate(Communicator& ranks) {
  if (ranks.size() == 1) return std::numeric_limits<double>::infinity();
  std::vector<std::uint64_t> words(kWords, 1);
  std::vector<double> weights(kWords, 1.0);
  ranks.sum_to_coordinator(words);
  ranks.broadcast(weights);
  const auto started = std::chrono::steady_clock::now();
  ranks.sum_to_coordinator(words);
  ranks.broadcast(weights);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return 2.0 * static_cast<double>(kWords) / ranks.max_everywhere(std::max(seconds, 1e-9));
}

}  // namespace

MachineSpeed measure_speed(const FitOptions& options, const FitPlan& plan, unsigned threads, Communicator& ranks) {
  MachineSpeed speed;
  ranks.together([&] {
    const std::size_t dim = std::min(plan.dim + 1, kMostDim);
    speed.product_macs_per_second = product_rate(dim, threads);
    speed.round_macs_per_second = round_rate(dim, std::min(options.data.classes, kMostClasses), threads);
    speed.rows_per_second = row_rate(plan.preprocessing, threads);
    speed.noise_per_second = noise_rate();
    speed.bytes_per_second = copy_rate();
    speed.flops_per_second = ranks.is_coordinator() ? eigen_rate() : std::numeric_limits<double>::infinity();
  });
  for (double* rate : {&speed.product_macs_per_second, &speed.round_macs_per_second, &speed.rows_per_second,
                       &speed.noise_per_second, &speed.bytes_per_second, &speed.flops_per_second}) {
    *rate = -ranks.max_everywhere(-*rate);  // the slowest rank's
  }
  speed.words_per_second = sum_rate(ranks);
  return speed;
}

}  // namespace dpreduce
