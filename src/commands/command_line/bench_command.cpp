#include "commands/command_line/bench_command.hpp"

#include <memory>
#include <utility>

#include "commands/command_line/command_entry.hpp"
#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"

namespace dpreduce {
namespace {

using Bench = std::shared_ptr<BenchOptions>;

CommandEntry part_of(const Bench& options, BenchKind kind, std::string help, std::string footer) {
  CommandEntry part{.name = std::string(to_string(kind)), .help = std::move(help), .footer = std::move(footer)};
  part.chosen = [options, kind](const ParsedCommand&) {
    BenchOptions bench = *options;
    bench.kind = kind;
    return validated(bench);
  };
  return part;
}

void declare_common(OptionTable& table, BenchOptions& options) {
  table.count("--repeats", options.repeats, "the median is told");
  declare_format(table, options.format);
}

CommandEntry gram_of(const Bench& options) {
  CommandEntry gram = part_of(options, BenchKind::kGram, "exact integer X^T X",
                              "Ranks share the rows, and their matrices are summed.\n"
                              "Examples:\n"
                              "  dpreduce bench gram --rows 8192 --dim 1664 --threads 2 --format json\n"
                              "  mpirun -n 2 dpreduce bench gram --rows 8192 --dim 1664");
  gram.options.count("--rows", options->rows, "n");
  gram.options.count("--dim", options->dim, "d");
  gram.options.count("--threads", options->threads, "threads");
  gram.options.text("--kernel", options->kernel, "auto, or the name of one");
  declare_common(gram.options, *options);
  return gram;
}

CommandEntry noise_of(const Bench& options) {
  CommandEntry noise = part_of(options, BenchKind::kNoise, "exactly rounded Gaussian samples",
                               "Examples:\n  dpreduce bench noise --sigma 1048576 --count 10000000 --format json");
  noise.options.number("--sigma", options->sigma, "standard deviation, lattice units");
  noise.options.count("--count", options->count, "samples");
  noise.options.count("--threads", options->threads, "threads");
  declare_common(noise.options, *options);
  return noise;
}

CommandEntry reduce_of(const Bench& options) {
  CommandEntry reduce = part_of(options, BenchKind::kReduce, "sums over the ranks of this job",
                                "Examples:\n  mpirun -n 2 dpreduce bench reduce --elements 16777216 --format json");
  reduce.options.count("--elements", options->elements, "int64 elements a rank");
  declare_common(reduce.options, *options);
  return reduce;
}

CommandEntry round_of(const Bench& options) {
  CommandEntry round =
      part_of(options, BenchKind::kRound, "a training round: exact scores, residuals, R^T Q, sum, broadcast",
              "Examples:\n"
              "  dpreduce bench round --rows 8192 --dim 1664 --classes 1000 --threads 2 --format json\n"
              "  mpirun -n 2 dpreduce bench round --rows 8192 --dim 1664 --classes 1000");
  round.options.count("--rows", options->rows, "n, shared by the ranks");
  round.options.count("--dim", options->dim, "d");
  round.options.count("--classes", options->classes, "K");
  round.options.count("--threads", options->threads, "threads a rank");
  declare_common(round.options, *options);
  return round;
}

}  // namespace

BenchOptions validated(BenchOptions options) {
  if (options.rows == 0 || options.dim == 0 || options.count == 0 || options.elements == 0 || options.repeats == 0) {
    throw UsageError("bench: sizes and repeats must be at least 1");
  }
  if (options.kind == BenchKind::kRound) check_classes(options.classes);
  check_range("--threads", options.threads, 1, kMostThreads);
  check_positive("--sigma", options.sigma);
  return options;
}

CommandEntry bench_command() {
  const auto options = std::make_shared<BenchOptions>();
  CommandEntry command{.name = "bench", .help = "speed of the parts on this machine", .needs_command = true};
  command.commands = {gram_of(options), noise_of(options), reduce_of(options), round_of(options)};
  return command;
}

}  // namespace dpreduce
