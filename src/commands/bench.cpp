#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "dpreduce/commands/commands.hpp"
#include "dpreduce/kernels/kernel_choice.hpp"
#include "dpreduce/randomness/noise_key.hpp"
#include "dpreduce/randomness/rounded_gaussian.hpp"

namespace dpreduce {
namespace {

// Median seconds of `repeats` calls, after one that is not counted.
double median_seconds(unsigned repeats, const std::function<void()>& work) {
  std::vector<double> seconds;
  work();
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    const auto started = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

// Rows like those of the lattice: Gaussian directions, integer norm just below S.
std::vector<std::int16_t> lattice_like_rows(std::size_t rows, std::size_t dim) {
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal(0.0, 32000.0 / std::sqrt(static_cast<double>(dim)));
  std::vector<std::int16_t> values(rows * dim);
  for (std::int16_t& value : values) value = static_cast<std::int16_t>(std::clamp(normal(engine), -32767.0, 32767.0));
  return values;
}

nlohmann::json bench_gram(const BenchOptions& options) {
  const IntegerKernel& kernel = select_kernel(options.kernel);
  const std::vector<std::int16_t> values = lattice_like_rows(options.rows, options.dim);
  std::vector<std::int64_t> gram(options.dim * options.dim);
  const double seconds = median_seconds(options.repeats, [&] {
    kernel.accumulate_gram({values.data(), options.rows, options.dim, options.dim},
                           {gram.data(), options.dim, options.dim, options.dim}, options.threads);
  });
  const double d = static_cast<double>(options.dim);
  const double multiply_adds = static_cast<double>(options.rows) * d * (d + 1.0) / 2.0;
  return {{"bench", "gram"},
          {"kernel", kernel.name()},
          {"rows", options.rows},
          {"dim", options.dim},
          {"threads", options.threads},
          {"seconds", seconds},
          {"gmac_per_second", multiply_adds / seconds / 1e9}};
}

nlohmann::json bench_noise(const BenchOptions& options) {
  std::vector<std::int64_t> noise(options.count);
  const NoiseKey key = NoiseKey::from_seed(1);
  const double seconds = median_seconds(options.repeats, [&] {
    std::vector<std::jthread> team;
    for (unsigned thread = 0; thread < options.threads; ++thread) {
      team.emplace_back([&, thread] {
        const std::size_t first = options.count * thread / options.threads;
        const std::size_t last = options.count * (thread + 1) / options.threads;
        RandomStream stream = key.stream("bench", std::as_bytes(std::span(&thread, 1)));
        fill_rounded_gaussian(stream, options.sigma, std::span(noise).subspan(first, last - first));
      });
    }
  });
  return {{"bench", "noise"},       {"sigma", options.sigma},
          {"count", options.count}, {"threads", options.threads},
          {"seconds", seconds},     {"samples_per_second", static_cast<double>(options.count) / seconds}};
}

nlohmann::json bench_reduce(const BenchOptions& options, Communicator& ranks) {
  std::vector<std::uint64_t> values(options.elements, 1);
  const double seconds = median_seconds(options.repeats, [&] { ranks.sum_to_coordinator(values); });
  return {{"bench", "reduce"},
          {"elements", options.elements},
          {"ranks", ranks.size()},
          {"seconds", seconds},
          {"gigabytes_per_second", static_cast<double>(options.elements) * 8.0 / seconds / 1e9}};
}

}  // namespace

void run_command(const BenchOptions& options, Communicator& ranks) {
  nlohmann::json result;
  if (options.kind == BenchKind::kReduce) {
    result = bench_reduce(options, ranks);
  } else {
    ranks.together([&] {
      if (!ranks.is_coordinator()) return;
      result = options.kind == BenchKind::kGram ? bench_gram(options) : bench_noise(options);
    });
  }
  if (!ranks.is_coordinator()) return;
  if (options.format == OutputFormat::kJson) {
    fmt::print("{}\n", result.dump(2));
    return;
  }
  for (const auto& [name, value] : result.items()) fmt::print("{:<20} {}\n", name, value.dump());
}

}  // namespace dpreduce
