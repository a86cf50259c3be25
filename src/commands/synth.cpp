// `dpreduce synth`: synthetic features and labels.
#include "commands/commands.hpp"
#include "common/data/synthetic.hpp"

namespace dpreduce {
namespace {

struct SynthOptions {
  SyntheticSpec rows;
  std::string out_dir;
  std::size_t shards = 1;
  bool overwrite = false;  // replace what is there already
};

SynthOptions validated(SynthOptions options) {
  if (options.out_dir.empty()) throw UsageError("synth: --out is required, a folder for the files");
  return options;
}

void run(const SynthOptions& options) {
  const SyntheticFiles files = write_synthetic(SyntheticRows(options.rows), options.out_dir, options.shards,
                                               options.overwrite ? Existing::kReplace : Existing::kKeep);
  for (const auto* paths : {&files.train_x, &files.train_y, &files.train_person, &files.test_x, &files.test_y}) {
    for (const std::string& path : *paths) fmt::print("{}\n", path);
  }
}

void declare(OptionTable& table, SynthOptions& options) {
  SyntheticSpec& rows = options.rows;
  table
      .text("--out", options.out_dir,
            "folder for train_x.npy (shards: train_x_0.npy, ...), train_y.npy, test_x.npy, test_y.npy")
      .typed("DIR");
  table.flag("--overwrite", options.overwrite, "replace existing files");
  table.choice("--kind", rows.means, "simplex frame with perturbations, or Gaussians around class means");
  table.count("--rows", rows.train_rows, "training rows");
  table.count("--test-rows", rows.test_rows, "test rows");
  table.count("--dim", rows.dim, "features");
  table.count("--classes", rows.classes, "K");
  table.count("--shards", options.shards, "files for the training rows");
  table.number("--imbalance-ratio", rows.imbalance_ratio, "largest over smallest class, exponential long tail");
  table.number("--majority-share", rows.first_class_share, "alpha: share of class 0, the other classes equal");
  table.number("--offset", rows.offset, "sup-norm of a vector added to every training row");
  table.number("--stochastic", rows.train_noise, "standard deviation of noise on training rows");
  table.number("--test-stochastic", rows.test_noise, "the same on test rows");
  table.number("--adversarial", rows.adversarial, "sup-norm of a worst-case shift of test rows");
  table.number("--separation", rows.separation, "Gaussian mixture: norm of the class means");
  table.number("--spread", rows.spread, "Gaussian mixture: standard deviation a feature");
  table.count("--max-labels", rows.max_labels,
              "labels as n x K zeros and ones, 1 to k classes per row, with features about the sum of their means; "
              "default: a class index");
  table
      .count("--rows-per-person", rows.rows_per_person,
             "also write train_person.npy, the person of each training row, with this many rows per person on average, "
             "and a long tail")
      .typed("R");
  table.count("--seed", rows.seed, "same seed, same bytes");
}

}  // namespace

CommandEntry synth_command() {
  return command_reading<SynthOptions>(
      "synth", "write synthetic features and labels as .npy", declare,
      [](const auto& options, auto&) { return by_coordinator(run, validated(options)); },
      "  dpreduce synth --out data --rows 10000 --dim 512 --classes 10 --offset 0.1 --imbalance-ratio 10\n"
      "  dpreduce synth --out data --kind gaussian-mixture --rows 100000 --dim 256 --classes 100 --shards 8\n"
      "  dpreduce synth --out data --rows 10000 --classes 20 --stochastic 0.05 --max-labels 3");
}

}  // namespace dpreduce
