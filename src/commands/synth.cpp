// `dpreduce synth`: synthetic features and labels.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "commands/commands.hpp"
#include "common/base/error.hpp"
#include "common/simulation/synthetic.hpp"

namespace dpreduce {
namespace {

struct SynthOptions {
  ClassMeans kind = ClassMeans::kNeuralCollapse;
  std::string out_dir;
  std::size_t rows = 10000;
  std::size_t test_rows = 2000;
  std::size_t dim = 128;
  std::size_t classes = 10;
  std::size_t shards = 1;
  double offset = 0.0;                    // sup-norm of a constant vector added to every training row
  double stochastic = 0.0;                // standard deviation of noise on training rows
  double test_stochastic = 0.0;           // standard deviation of noise on test rows
  double adversarial = 0.0;               // sup-norm of a worst-case perturbation of test rows
  double spread = 1.0;                    // Gaussian mixture: standard deviation around class means
  double separation = 3.0;                // Gaussian mixture: norm of class means
  double imbalance_ratio = 1.0;           // largest over smallest class, exponential long tail
  std::optional<std::size_t> max_labels;  // n x K zeros and ones, so many ones a row at most; empty: class indices
  std::optional<double> majority_share;   // share of class 0, the others equal
  std::optional<std::uint64_t> rows_per_person;  // of the training rows, on average; empty: no persons
  std::uint64_t seed = 0;
  bool overwrite = false;  // replace what is there already
};

SynthOptions validated(SynthOptions options) {
  if (options.out_dir.empty()) throw UsageError("synth: --out is required, a folder for the files");
  return options;
}

SyntheticSpec spec_of(const SynthOptions& options) {
  return {.means = options.kind,
          .train_rows = options.rows,
          .test_rows = options.test_rows,
          .dim = options.dim,
          .classes = options.classes,
          .separation = options.separation,
          .spread = options.spread,
          .offset = options.offset,
          .train_noise = options.stochastic,
          .test_noise = options.test_stochastic,
          .adversarial = options.adversarial,
          .imbalance_ratio = options.imbalance_ratio,
          .max_labels = options.max_labels,
          .first_class_share = options.majority_share,
          .rows_per_person = options.rows_per_person,
          .seed = options.seed};
}

void run(const SynthOptions& options) {
  const SyntheticFiles files = write_synthetic(SyntheticRows(spec_of(options)), options.out_dir, options.shards,
                                               options.overwrite ? Existing::kReplace : Existing::kKeep);
  for (const auto* paths : {&files.train_x, &files.train_y, &files.train_person, &files.test_x, &files.test_y}) {
    for (const std::string& path : *paths) fmt::print("{}\n", path);
  }
}

}  // namespace

CommandEntry synth_command() {
  const auto options = std::make_shared<SynthOptions>();
  CommandEntry command{.name = "synth", .help = "write synthetic features and labels as .npy"};
  OptionTable& table = command.options;
  table
      .text("--out", options->out_dir,
            "folder for train_x.npy (shards: train_x_0.npy, ...), train_y.npy, test_x.npy, test_y.npy")
      .typed("DIR");
  table.flag("--overwrite", options->overwrite, "replace files that are there already");
  table.choice("--kind", options->kind, "simplex frame with perturbations, or Gaussians around class means");
  table.count("--rows", options->rows, "training rows");
  table.count("--test-rows", options->test_rows, "test rows");
  table.count("--dim", options->dim, "features");
  table.count("--classes", options->classes, "K");
  table.count("--shards", options->shards, "files for the training rows");
  table.number("--imbalance-ratio", options->imbalance_ratio, "largest over smallest class, exponential long tail");
  table.number("--majority-share", options->majority_share, "alpha: share of class 0, the other classes equal");
  table.number("--offset", options->offset, "sup-norm of a vector added to every training row");
  table.number("--stochastic", options->stochastic, "standard deviation of noise on training rows");
  table.number("--test-stochastic", options->test_stochastic, "the same on test rows");
  table.number("--adversarial", options->adversarial, "sup-norm of a worst-case shift of test rows");
  table.number("--separation", options->separation, "Gaussian mixture: norm of the class means");
  table.number("--spread", options->spread, "Gaussian mixture: standard deviation a feature");
  table.count(
      "--max-labels", options->max_labels,
      "labels as n x K zeros and ones, 1 to k classes a row, features the sum of their means; default: a class index");
  table
      .count("--rows-per-person", options->rows_per_person,
             "train_person.npy as well: whose each training row is, with so many rows a person on average, and a long "
             "tail")
      .typed("R");
  table.count("--seed", options->seed, "same seed, same bytes");
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce synth --out data --rows 10000 --dim 512 --classes 10 --offset 0.1 --imbalance-ratio 10\n"
      "  dpreduce synth --out data --kind gaussian-mixture --rows 100000 --dim 256 --classes 100 --shards 8\n"
      "  dpreduce synth --out data --rows 10000 --classes 20 --stochastic 0.05 --max-labels 3";
  command.chosen = [options](const ParsedCommand&) { return by_coordinator(run, validated(*options)); };
  return command;
}

}  // namespace dpreduce
