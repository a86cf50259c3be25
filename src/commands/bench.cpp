#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "common/base/huge_pages.hpp"
#include "common/base/json_text.hpp"
#include "common/data/worker_rows.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "common/plan/triangle.hpp"
#include "common/randomness/noise_key.hpp"
#include "common/randomness/rounded_gaussian.hpp"
#include "worker/synthetic_round.hpp"

namespace dpreduce {
namespace {

// Median seconds of `repeats` calls, after one that is not counted; each begins when `align` has returned.
double median_seconds(
    unsigned repeats, const std::function<void()>& work, const std::function<void()>& align = [] {}) {
  std::vector<double> seconds;
  work();
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    align();
    const auto started = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

// Rows like those of the lattice: Gaussian directions, integer norm just below S.
LargeVector<std::int16_t> lattice_like_rows(std::size_t rows, std::size_t dim) {
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal(0.0, 32000.0 / std::sqrt(static_cast<double>(dim)));
  LargeVector<std::int16_t> values(rows * dim);
  for (std::int16_t& value : values) value = static_cast<std::int16_t>(std::clamp(normal(engine), -32767.0, 32767.0));
  return values;
}

// Waits for all ranks.
std::function<void()> align(Communicator& ranks) {
  return [&ranks] { ranks.together([] {}); };
}

std::size_t rows_of(const BenchOptions& options, const Communicator& ranks) {
  return even_share(options.rows, static_cast<std::size_t>(ranks.rank()), static_cast<std::size_t>(ranks.size())).count;
}

// Ranks sum up the upper triangles of their Gram matrices. One rank alone only computes its own.
nlohmann::json bench_gram(const BenchOptions& options, Communicator& ranks) {
  const std::size_t rows = rows_of(options, ranks);
  LargeVector<std::int16_t> values;
  LargeVector<std::int64_t> gram;
  std::vector<std::uint64_t> triangle;
  const IntegerKernel* kernel = nullptr;
  ranks.together([&] {
    kernel = &select_kernel(options.kernel);
    values = lattice_like_rows(rows, options.dim);
    gram.resize(options.dim * options.dim);
    triangle.resize(ranks.size() > 1 ? triangle_elements(options.dim) : 0);
  });
  const double seconds = median_seconds(
      options.repeats,
      [&] {
        kernel->accumulate_gram({values.data(), rows, options.dim, options.dim},
                                {gram.data(), options.dim, options.dim, options.dim}, options.threads);
        if (ranks.size() == 1) return;
        for (std::size_t row = 0; row < options.dim; ++row) {
          const auto first = gram.begin() + static_cast<std::ptrdiff_t>(row * options.dim + row);
          const auto end = gram.begin() + static_cast<std::ptrdiff_t>((row + 1) * options.dim);
          std::copy(first, end, triangle.begin() + static_cast<std::ptrdiff_t>(triangle_row(row, options.dim)));
        }
        ranks.sum_to_coordinator(triangle);
      },
      align(ranks));
  const double d = static_cast<double>(options.dim);
  const double multiply_adds = static_cast<double>(options.rows) * d * (d + 1.0) / 2.0;
  return {{"bench", "gram"},       {"kernel", kernel->name()},
          {"rows", options.rows},  {"dim", options.dim},
          {"ranks", ranks.size()}, {"threads", options.threads},
          {"seconds", seconds},    {"gmac_per_second", multiply_adds / seconds / 1e9}};
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
  const double seconds = median_seconds(
      options.repeats, [&] { ranks.sum_to_coordinator(values); }, align(ranks));
  return {{"bench", "reduce"},
          {"elements", options.elements},
          {"ranks", ranks.size()},
          {"seconds", seconds},
          {"gigabytes_per_second", static_cast<double>(options.elements) * 8.0 / seconds / 1e9}};
}

// Multiply-adds a second of all ranks' Gram matrices, each alone: what the products of a round are held against.
double gram_rate(const BenchOptions& options, Communicator& ranks) {
  constexpr std::size_t kEnoughRows = 8192;
  const std::size_t rows = std::min(rows_of(options, ranks), kEnoughRows);
  LargeVector<std::int16_t> values;
  LargeVector<std::int64_t> gram;
  ranks.together([&] {
    values = lattice_like_rows(rows, options.dim);
    gram.resize(options.dim * options.dim);
  });
  const double seconds = median_seconds(
      options.repeats,
      [&] {
        select_kernel().accumulate_gram({values.data(), rows, options.dim, options.dim},
                                        {gram.data(), options.dim, options.dim, options.dim}, options.threads);
      },
      align(ranks));
  const double d = static_cast<double>(options.dim);
  return static_cast<double>(rows) * static_cast<double>(ranks.size()) * d * (d + 1.0) / 2.0 / seconds;
}

// As training does it, on rows that are kept: the gradient's sum goes to the coordinator, weights come back. Parts are
// those of the coordinator's rank, a thread, mean over the calls; the limits are measured in the same run.
nlohmann::json bench_round(const BenchOptions& options, Communicator& ranks) {
  const std::size_t elements = options.classes * options.dim;
  std::optional<SyntheticRound> round;
  std::vector<std::int64_t> gradient;
  std::vector<double> weights;
  ranks.together([&] {
    round.emplace(rows_of(options, ranks), options.dim, options.classes, options.threads);
    gradient.resize(elements);
    weights.resize(elements);
  });
  std::int64_t unused = 0;
  const double read_seconds = median_seconds(
      options.repeats, [&] { unused ^= round->read(); }, align(ranks));
  const double rate_of_gram = gram_rate(options, ranks);
  RoundSeconds parts;
  const double seconds = median_seconds(
      options.repeats,
      [&] {
        std::fill(gradient.begin(), gradient.end(), 0);
        parts += round->accumulate(gradient);
        ranks.sum_to_coordinator({reinterpret_cast<std::uint64_t*>(gradient.data()), elements});
        ranks.broadcast(weights);
      },
      align(ranks));
  const double rate = 2.0 * static_cast<double>(options.rows) * static_cast<double>(elements) / seconds;
  const double calls = (1.0 + options.repeats) * options.threads;
  return {{"bench", "round"},
          {"kernel", select_kernel().name()},
          {"rows", options.rows},
          {"dim", options.dim},
          {"classes", options.classes},
          {"ranks", ranks.size()},
          {"threads", options.threads},
          {"seconds", seconds},
          {"scores_seconds", parts.scores / calls},
          {"residuals_seconds", parts.residuals / calls},
          {"outer_product_seconds", parts.outer_product / calls},
          {"packing_seconds", parts.packing / calls},
          {"bytes_read", options.rows * options.dim * sizeof(std::int16_t)},
          {"read_seconds", read_seconds},
          {"times_read", seconds / read_seconds},
          {"gmac_per_second", rate / 1e9},
          {"gram_gmac_per_second", rate_of_gram / 1e9},
          {"share_of_gram", rate / rate_of_gram}};
}

nlohmann::json bench(const BenchOptions& options, Communicator& ranks) {
  switch (options.kind) {
    case BenchKind::kGram:
      return bench_gram(options, ranks);
    case BenchKind::kRound:
      return bench_round(options, ranks);
    case BenchKind::kReduce:
      return bench_reduce(options, ranks);
    case BenchKind::kNoise:
      break;
  }
  nlohmann::json result;
  ranks.together([&] {
    if (ranks.is_coordinator()) result = bench_noise(options);
  });
  return result;
}

}  // namespace

void run_command(const BenchOptions& options, Communicator& ranks) {
  const nlohmann::json result = bench(options, ranks);
  if (!ranks.is_coordinator()) return;
  if (options.format == OutputFormat::kJson) {
    fmt::print("{}\n", json_text(result, 2));
    return;
  }
  for (const auto& [name, value] : result.items()) fmt::print("{:<22} {}\n", name, json_text(value));
}

}  // namespace dpreduce
