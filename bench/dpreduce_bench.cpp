// Speed of the parts on this machine, alone or under mpirun: `dpreduce_bench gram|noise|reduce|round --format json`.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/command_entry.hpp"
#include "commands/command_line.hpp"
#include "commands/job.hpp"
#include "common/base/error.hpp"
#include "common/base/huge_pages.hpp"
#include "common/base/json_text.hpp"
#include "common/base/option_table.hpp"
#include "common/base/standard_output.hpp"
#include "common/data/worker_rows.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/thread_team.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/triangle.hpp"
#include "common/randomness/noise_key.hpp"
#include "common/randomness/rounded_gaussian.hpp"
#include "common/ranks/communicator.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/lattice_stream.hpp"

namespace dpreduce {
namespace {

struct BenchOptions {
  std::size_t rows = 8192;
  std::size_t dim = 1664;
  std::size_t classes = 1000;  // round
  std::size_t count = 10'000'000;
  std::size_t elements = 1 << 24;
  double sigma = 1048576.0;
  unsigned threads = 1;
  unsigned repeats = 3;
  std::string kernel = "auto";
  OutputFormat format = OutputFormat::kText;
};

BenchOptions validated(BenchOptions options) {
  if (options.rows == 0 || options.dim == 0 || options.count == 0 || options.elements == 0 || options.repeats == 0) {
    throw UsageError("sizes and repeats must be at least 1");
  }
  require_classes(options.classes);
  require_option_between("--threads", options.threads, 1, kMostThreads);
  return options;
}

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

// Median seconds of X^T X on so many rows of each rank. Where `sums`, ranks then sum up their upper triangles.
double gram_seconds(const BenchOptions& options, const std::string& kernel_name, std::size_t rows, bool sums,
                    Communicator& ranks) {
  const std::size_t dim = options.dim;
  LargeVector<std::int16_t> values;
  LargeVector<std::int64_t> gram;
  std::vector<std::uint64_t> triangle;
  const IntegerKernel* kernel = nullptr;
  ranks.together([&] {
    kernel = &select_kernel(kernel_name);
    values = lattice_like_rows(rows, dim);
    gram.resize(dim * dim);
    triangle.resize(sums ? triangle_elements(dim) : 0);
  });
  const auto work = [&] {
    kernel->accumulate_gram({values.data(), rows, dim, dim}, {gram.data(), dim, dim, dim}, options.threads);
    if (!sums) return;
    for (std::size_t row = 0; row < dim; ++row) {
      const auto first = gram.begin() + static_cast<std::ptrdiff_t>(row * dim + row);
      const auto end = gram.begin() + static_cast<std::ptrdiff_t>((row + 1) * dim);
      std::copy(first, end, triangle.begin() + static_cast<std::ptrdiff_t>(triangle_row(row, dim)));
    }
    ranks.sum_to_coordinator(triangle);
  };
  return median_seconds(options.repeats, work, align(ranks));
}

// The multiply-adds of the upper triangle of X^T X.
double gram_multiply_adds(std::size_t rows, std::size_t dim) {
  const double d = static_cast<double>(dim);
  return static_cast<double>(rows) * d * (d + 1.0) / 2.0;
}

// One rank alone only computes its own matrix.
nlohmann::json bench_gram(const BenchOptions& options, Communicator& ranks) {
  const double seconds = gram_seconds(options, options.kernel, rows_of(options, ranks), ranks.size() > 1, ranks);
  return {{"bench", "gram"},       {"kernel", select_kernel(options.kernel).name()},
          {"rows", options.rows},  {"dim", options.dim},
          {"ranks", ranks.size()}, {"threads", options.threads},
          {"seconds", seconds},    {"gmac_per_second", gram_multiply_adds(options.rows, options.dim) / seconds / 1e9}};
}

// One rank alone computes: others would compute the same.
nlohmann::json bench_noise(const BenchOptions& options, Communicator& ranks) {
  const NoiseKey key = NoiseKey::from_seed(1);
  double seconds = 0.0;
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    std::vector<std::int64_t> noise(options.count);
    seconds = median_seconds(options.repeats, [&] {
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
  const double seconds = gram_seconds(options, "auto", rows, false, ranks);
  return static_cast<double>(ranks.size()) * gram_multiply_adds(rows, options.dim) / seconds;
}

// n x d floats in [-1, 1), the same in every run.
std::vector<float> synthetic_features(std::uint64_t rows, std::size_t dim) {
  std::mt19937 bits(1);
  std::vector<float> features(rows * dim);
  for (float& feature : features) feature = static_cast<float>(static_cast<std::int32_t>(bits())) * 0x1p-31F;
  return features;
}

// A training round on rows of no data set: uniform features and weights, labels in turn.
class SyntheticRound {
 public:
  SyntheticRound(std::uint64_t rows, std::size_t dim, std::size_t classes, unsigned threads)
      : chunks_(chunks_of(rows, dim, classes, threads)),
        weights_(weights_of(classes, dim), Lattice{1.0, dim}),
        threads_(threads) {}

  // gradient <- gradient + sum_i rho_i q_i^T (K x d, softmax), as the statistic "gradient" does of rows that are kept.
  // Cost: 2 n K d multiply-adds. Tells where the time went.
  RoundSeconds accumulate(std::span<std::int64_t> gradient) const {
    const GradientPoint point{weights_};
    ChunkResiduals residuals(point, threads_);
    for (const LatticeRows& chunk : chunks_) residuals.accumulate(chunk, gradient);
    return residuals.seconds();
  }

  // Rearranges the weights for the products with all rows, once a round.
  void pack_weights() const { select_kernel().row_factors(weights_.view()); }

  // Reads all rows on the threads and does nothing else: what a round cannot be faster than. The result is of no use,
  // but that the compiler must make it.
  std::int64_t read() const {
    std::atomic<std::int64_t> sum{0};
    ThreadTeam team(threads_);
    team.for_each(chunks_.size(), [&](std::size_t index) {
      const std::int16_t* const values = chunks_[index].values();
      std::int64_t of_chunk = 0;
      for (std::size_t value = 0; value + 4 <= chunks_[index].rows() * chunks_[index].dim(); value += 4) {
        std::int64_t four;
        std::memcpy(&four, values + value, sizeof four);
        of_chunk ^= four;
      }
      sum ^= of_chunk;
    });
    return sum;
  }

 private:
  // Lattice rows in memory, in chunks as training has them.
  static KeptChunks chunks_of(std::uint64_t rows, std::size_t dim, std::size_t classes, unsigned threads) {
    constexpr std::uint64_t kRowsOfChunk = 4096;
    const RowTransform transform(Preprocessing{.input_dim = dim, .center = {}});
    KeptChunks chunks;
    for (std::uint64_t first = 0; first < rows; first += kRowsOfChunk) {
      const std::uint64_t count = std::min(kRowsOfChunk, rows - first);
      std::vector<std::int32_t> labels(count);
      for (std::uint64_t row = 0; row < count; ++row) labels[row] = static_cast<std::int32_t>((first + row) % classes);
      chunks.emplace_back(Lattice{1.0, dim}, count);
      chunks.back().assign(transform, synthetic_features(count, dim), labels, threads);
      chunks.back().measure_energies(threads);
    }
    return chunks;
  }
  static std::vector<double> weights_of(std::size_t classes, std::size_t dim) {
    const std::vector<float> uniform = synthetic_features(classes, dim);
    return {uniform.begin(), uniform.end()};
  }

  KeptChunks chunks_;
  LatticeWeights weights_;
  unsigned threads_;
};

// A round as training does it, on rows that are kept: the gradient's sum goes to the coordinator, weights come back.
// Parts are those of the coordinator's rank, a thread, mean over the calls; the limits are measured in the same run.
nlohmann::json bench_round(const BenchOptions& options, Communicator& ranks) {
  const std::size_t elements = options.classes * options.dim;
  std::optional<SyntheticRound> round;
  std::vector<std::int64_t> gradient;
  std::vector<std::int16_t> weights;
  ranks.together([&] {
    round.emplace(rows_of(options, ranks), options.dim, options.classes, options.threads);
    gradient.resize(elements);
    weights.resize(elements);
  });
  std::int64_t unused = 0;
  const double read_seconds = median_seconds(
      options.repeats, [&] { unused ^= round->read(); }, align(ranks));
  const double rate_of_gram = gram_rate(options, ranks);
  const double packing_seconds = median_seconds(options.repeats, [&] { round->pack_weights(); });
  RoundSeconds parts;
  const double seconds = median_seconds(
      options.repeats,
      [&] {
        std::fill(gradient.begin(), gradient.end(), 0);
        parts += round->accumulate(gradient);
        ranks.sum_to_coordinator({reinterpret_cast<std::uint64_t*>(gradient.data()), elements});
        ranks.broadcast(std::as_writable_bytes(std::span(weights)));
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
          {"packing_seconds", packing_seconds},
          {"bytes_read", options.rows * options.dim * sizeof(std::int16_t)},
          {"read_seconds", read_seconds},
          {"times_read", seconds / read_seconds},
          {"gmac_per_second", rate / 1e9},
          {"gram_gmac_per_second", rate_of_gram / 1e9},
          {"share_of_gram", rate / rate_of_gram}};
}

using Bench = nlohmann::json(const BenchOptions& options, Communicator& ranks);

// Adds one of the commands: what it measures, printed by rank 0. Returns the table of its own options, which are
// declared before the next command is added.
OptionTable& add_bench(CommandEntry& parent, const std::shared_ptr<BenchOptions>& options, Bench* bench,
                       std::string name, std::string help, std::string footer) {
  CommandEntry& part = parent.commands.emplace_back(
      CommandEntry{.name = std::move(name), .help = std::move(help), .footer = std::move(footer)});
  part.chosen = [options, bench](const ParsedCommand&) {
    return [bench, options = validated(*options)](Communicator& ranks) {
      const nlohmann::json result = bench(options, ranks);
      if (!ranks.is_coordinator()) return;
      if (options.format == OutputFormat::kJson) return fmt::print("{}\n", json_text(result, 2));
      for (const auto& [figure, value] : result.items()) fmt::print("{:<22} {}\n", figure, json_text(value));
    };
  };
  return part.options;
}

CommandEntry bench_command() {
  const auto options = std::make_shared<BenchOptions>();
  CommandEntry command{.name = "dpreduce_bench", .help = "speed of the parts on this machine", .needs_command = true};
  OptionTable& gram = add_bench(command, options, bench_gram, "gram", "exact integer X^T X",
                                "Ranks share the rows, and their matrices are summed.\n"
                                "Examples:\n"
                                "  dpreduce_bench gram --rows 8192 --dim 1664 --threads 2 --format json\n"
                                "  mpirun -n 2 dpreduce_bench gram --rows 8192 --dim 1664");
  gram.count("--rows", options->rows, "n");
  gram.count("--dim", options->dim, "d");
  gram.count("--threads", options->threads, "threads");
  gram.text("--kernel", options->kernel, "auto, or the name of one");

  OptionTable& noise = add_bench(command, options, bench_noise, "noise", "exactly rounded Gaussian samples",
                                 "Examples:\n  dpreduce_bench noise --sigma 1048576 --count 10000000 --format json");
  noise.number("--sigma", options->sigma, "standard deviation, lattice units").positive();
  noise.count("--count", options->count, "samples");
  noise.count("--threads", options->threads, "threads");

  OptionTable& reduce = add_bench(command, options, bench_reduce, "reduce", "sums over the ranks of this job",
                                  "Examples:\n  mpirun -n 2 dpreduce_bench reduce --elements 16777216 --format json");
  reduce.count("--elements", options->elements, "int64 elements a rank");

  OptionTable& round = add_bench(
      command, options, bench_round, "round", "a training round: exact scores, residuals, R^T Q, sum, broadcast",
      "Examples:\n"
      "  dpreduce_bench round --rows 8192 --dim 1664 --classes 1000 --threads 2 --format json\n"
      "  mpirun -n 2 dpreduce_bench round --rows 8192 --dim 1664 --classes 1000");
  round.count("--rows", options->rows, "n, shared by the ranks");
  round.count("--dim", options->dim, "d");
  round.count("--classes", options->classes, "K");
  round.count("--threads", options->threads, "threads a rank");

  for (CommandEntry& part : command.commands) {
    part.options.count("--repeats", options->repeats, "the median is told");
    declare_format(part.options, options->format);
  }
  return command;
}

}  // namespace
}  // namespace dpreduce

int main(int argc, char** argv) {
  dpreduce::keep_errors_of_standard_output();
  return dpreduce::closed_standard_output(
      dpreduce::run_program(dpreduce::bench_command, dpreduce::with_help_as_option({argv + 1, argv + argc})));
}
