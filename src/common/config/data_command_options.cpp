// The options of commands that make or look at data: `dpreduce synth ...` and `dpreduce inspect`.
#include "dpreduce/config/command_options.hpp"
#include "dpreduce/config/option_kinds.hpp"

namespace dpreduce {

void CommandOptions::declare_synth(CLI::App& app) {
  CLI::App& synth = *app.add_subcommand("synth", "write synthetic features and labels as .npy");
  synth.require_subcommand(0, 1);
  declare_sanitize(synth);
  declare_partition(synth);
  synth.add_option("--out", synth_.out_dir,
                   "folder for train_x.npy (shards: train_x_0.npy, ...), train_y.npy, test_x.npy, test_y.npy");
  add_choice(synth, "--kind", synth_.kind, "simplex frame with perturbations, or Gaussians around class means");
  add_count(synth, "--rows", synth_.rows, "training rows")->capture_default_str();
  add_count(synth, "--test-rows", synth_.test_rows, "test rows")->capture_default_str();
  add_count(synth, "--dim", synth_.dim, "features")->capture_default_str();
  add_count(synth, "--classes", synth_.classes, "K")->capture_default_str();
  add_count(synth, "--shards", synth_.shards, "files for the training rows")->capture_default_str();
  synth.add_option("--imbalance-ratio", synth_.imbalance_ratio, "largest over smallest class, exponential long tail")
      ->capture_default_str();
  synth.add_option("--majority-share", synth_.majority_share, "alpha: share of class 0, the other classes equal");
  synth.add_option("--offset", synth_.offset, "sup-norm of a vector added to every training row")
      ->capture_default_str();
  synth.add_option("--stochastic", synth_.stochastic, "standard deviation of noise on training rows")
      ->capture_default_str();
  synth.add_option("--test-stochastic", synth_.test_stochastic, "the same on test rows")->capture_default_str();
  synth.add_option("--adversarial", synth_.adversarial, "sup-norm of a worst-case shift of test rows")
      ->capture_default_str();
  synth.add_option("--separation", synth_.separation, "Gaussian mixture: norm of the class means")
      ->capture_default_str();
  synth.add_option("--spread", synth_.spread, "Gaussian mixture: standard deviation a feature")->capture_default_str();
  add_count(
      synth, "--max-labels", synth_.max_labels,
      "labels as n x K zeros and ones, 1 to k classes a row, features the sum of their means; default: a class index");
  add_count(synth, "--seed", synth_.seed, "same seed, same bytes")->capture_default_str();
  add_config(synth);
  synth.footer(
      "Examples:\n"
      "  dpreduce synth --out data --rows 10000 --dim 512 --classes 10 --offset 0.1 --imbalance-ratio 10\n"
      "  dpreduce synth --out data --kind gaussian-mixture --rows 100000 --dim 256 --classes 100 --shards 8\n"
      "  dpreduce synth --out data --rows 10000 --classes 20 --stochastic 0.05 --max-labels 3");
}

void CommandOptions::declare_sanitize(CLI::App& synth) {
  CLI::App& sanitize = *synth.add_subcommand("sanitize", "rows of yours with noise of their own, each record private");
  add_files(sanitize, "--x", sanitize_.x, "features")->required();
  add_files(sanitize, "--y", sanitize_.y, "labels: public here, copied as they are");
  sanitize.add_option("--out", sanitize_.out_dir, "folder for x.npy and y.npy")->required();
  add_choice(sanitize, "--normalize", sanitize_.normalize, "scale every row to norm C, or only clip longer ones");
  sanitize.add_option("--clip", sanitize_.clip_norm, "C: the clip norm, public")->capture_default_str();
  add_choice(sanitize, "--bad-rows", sanitize_.bad_rows, "rows with NaN or infinity: stop, or take them as zero rows");
  add_budget(sanitize, sanitize_.budget);
  add_count(sanitize, "--seed", sanitize_.seed, "repeatable noise; the rows are then NOT private")->group("Privacy");
  add_format(sanitize, sanitize_.format);
  add_config(sanitize);
  sanitize.footer(
      "Examples:\n"
      "  dpreduce synth sanitize --x x.npy --y y.npy --clip 1 --epsilon 8 --delta 1e-6 --out sanitised");
}

void CommandOptions::declare_partition(CLI::App& synth) {
  CLI::App& partition =
      *synth.add_subcommand("partition", "one data set as the files of simulated silos: a tool for public data");
  add_files(partition, "--x", partition_.x, "features")->required();
  add_files(partition, "--y", partition_.y, "labels")->required();
  partition.add_option("--out", partition_.out_dir, "folder for silo1/x.npy, silo1/y.npy, silo2/x.npy, ...")
      ->required();
  add_count(partition, "--classes", partition_.classes, "K")->required();
  add_count(partition, "--silos", partition_.silos, "how many")->required();
  add_count(partition, "--first-silo", partition_.first_silo,
            "number of the first: 1 as --secure-aggregation counts, 0 for plain ranks")
      ->capture_default_str();
  add_choice(partition, "--scheme", partition_.scheme, "which rows are whose");
  partition.add_option("--alpha", partition_.alpha,
                       "dirichlet, quantity: shares are drawn from Dirichlet(alpha, ..., alpha); small: uneven");
  add_count(partition, "--classes-per-silo", partition_.classes_per_silo, "classes: so many in each silo");
  partition.add_option("--rotation", partition_.rotation,
                       "feature-shift: angle that each silo turns every row by, its own way; degrees");
  partition.add_option("--offset", partition_.offset,
                       "feature-shift: added to or taken from each feature, by the silo's own signs");
  add_count(partition, "--seed", partition_.seed, "same seed, same bytes")->capture_default_str();
  add_format(partition, partition_.format);
  add_config(partition);
  partition.footer(
      "The exact rows and classes of each silo are printed: for simulations, not for private data.\n"
      "Examples:\n"
      "  dpreduce synth partition --x x.npy --y y.npy --classes 10 --silos 8 --scheme dirichlet --alpha 0.3 --out "
      "silos\n"
      "  dpreduce synth partition --x 'x_*.npy' --y 'y_*.npy' --classes 10 --silos 5 --scheme classes "
      "--classes-per-silo 2 --out silos --format json\n"
      "  mpirun -n 9 dpreduce fit --secure-aggregation --train-x 'silos/silo{rank}/x.npy' --train-y "
      "'silos/silo{rank}/y.npy' --classes 10 --mu 1\n"
      "Ranks without --secure-aggregation count from 0, and so must their silos:\n"
      "  dpreduce synth partition --x x.npy --y y.npy --classes 10 --silos 8 --first-silo 0 --out plain\n"
      "  mpirun -n 8 dpreduce fit --train-x 'plain/silo{rank}/x.npy' --train-y 'plain/silo{rank}/y.npy' --classes 10 "
      "--mu 1");
}

void CommandOptions::declare_inspect(CLI::App& app) {
  CLI::App& inspect = *app.add_subcommand("inspect", "check a data set (private: for its owner, never for release)");
  add_files(inspect, "--train-x,--x", inspect_.rows.x, "features")->required();
  add_files(inspect, "--train-y,--y", inspect_.rows.y, "labels");
  add_count(inspect, "--classes", inspect_.classes, "K; needed with labels");
  add_choice(inspect, "--normalize", inspect_.normalize, "as in fit, before the diagnostics");
  inspect.add_option("--clip", inspect_.clip_norm, "C: the share of longer rows is told")->capture_default_str();
  add_format(inspect, inspect_.format);
  add_config(inspect);
  inspect.footer(
      "Examples:\n"
      "  dpreduce inspect --x x.npy --y y.npy --classes 10 --clip 1\n"
      "  mpirun -n 4 dpreduce inspect --x 'x_*.npy' --y 'y_*.npy' --classes 100 --normalize l2 --format json");
}

}  // namespace dpreduce
