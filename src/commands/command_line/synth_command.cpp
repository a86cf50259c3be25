#include "commands/command_line/synth_command.hpp"

#include <memory>

#include "commands/command_line/command_entry.hpp"
#include "commands/command_line/partition_command.hpp"
#include "commands/command_line/sanitize_command.hpp"
#include "common/base/error.hpp"

namespace dpreduce {

SynthOptions validated(SynthOptions options) {
  if (options.out_dir.empty()) throw UsageError("synth: --out is required, a folder for the files");
  return options;
}

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
  table.count("--max-labels", options->max_labels,
              "labels as n x K zeros and ones, 1 to k classes a row, features the sum of their means; default: a class "
              "index");
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
  command.chosen = [options](const ParsedCommand&) { return validated(*options); };
  command.commands.push_back(sanitize_command());
  command.commands.push_back(partition_command());
  return command;
}

}  // namespace dpreduce
