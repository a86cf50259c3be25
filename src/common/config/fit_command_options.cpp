// The options of `dpreduce fit` and of many fits at once, `dpreduce sweep`.
#include "dpreduce/config/command_options.hpp"
#include "dpreduce/config/method_options.hpp"
#include "dpreduce/config/option_kinds.hpp"
#include "dpreduce/config/silo_options.hpp"

namespace dpreduce {

void CommandOptions::let_rows_be_own() {
  fit_command_->get_option("--train-x")->required(false);
  fit_command_->get_option("--train-y")->required(false);
  fit_.silos.rows_are_own = true;
}

void CommandOptions::declare_fit(CLI::App& app) {
  CLI::App& fit = *app.add_subcommand("fit", "train a classifier and write model and report");
  fit_command_ = &fit;
  add_files(fit, "--train-x", fit_.train.x,
            "features, .npy or file.h5:/dataset; globs; {rank} for a worker's own files")
      ->required();
  add_files(fit, "--train-y", fit_.train.y,
            "integer labels 0..K-1, one a row of the features, or zeros and ones, n x K, with --max-labels")
      ->required();
  add_files(fit, "--test-x", fit_.test.x, "features to report the accuracy on (outside the guarantee)");
  add_files(fit, "--test-y", fit_.test.y, "their labels");
  add_files(fit, "--validation-x", fit_.validation.x, "public features that --choose goes by, at no charge");
  add_files(fit, "--validation-y", fit_.validation.y, "their labels");
  add_files(
      fit, "--public-x", fit_.public_x,
      "features that are no secret, read as --train-x is; used without noise, at no charge; with --method public the "
      "prototypes to choose from");
  fit.add_option("--imbalance-ratio", fit_.imbalance_ratio,
                 "for experiments: train on a long tail of the rows, of class c a share R^(-c / (K - 1)); order and "
                 "shares of classes are the experimenter's word, and public")
      ->type_name("R");
  add_count(fit, "--imbalance-seed", fit_.imbalance_seed, "which rows that keeps; default: 1");
  add_count(fit, "--classes", fit_.classes, "K: public knowledge, never taken from the data")->required();
  add_count(fit, "--max-labels", fit_.max_labels,
            "k: classes a row may have, where labels are n x K zeros and ones; public, as sums are noised for it");
  add_choice(fit, "--bad-rows", fit_.train.bad_rows,
             "rows with NaN, infinity or more than --max-labels labels: stop, or count them nowhere");

  add_method(fit, fit_);
  fit.add_flag("--choose", fit_.choose,
               "ls, fc, gd, adam, newton: try several ridges, alphas or iterates of the one release; the best on "
               "--validation-x is kept, or one drawn by training rows, charged")
      ->group("Method");
  fit.add_option("--choose-share", fit_.choose_share, "share of mu^2 that a choice by training rows takes (0.02)")
      ->group("Method");
  add_budget(fit, fit_.budget);
  fit.add_flag("--non-private", fit_.budget.non_private, "no noise, no guarantee: for comparison only")
      ->group("Privacy");
  add_choice(fit, "--adjacency", fit_.adjacency, "which data sets are neighbours")->group("Privacy");
  add_count(fit, "--seed", fit_.seed, "repeatable noise; the run is then NOT private")->group("Privacy");
  fit.add_option("--ledger", fit_.ledger,
                 "where each release is recorded before it is made; each silo's own: {rank} is replaced, or silo 3 has "
                 "ledger-silo3.jsonl")
      ->capture_default_str()
      ->group("Privacy");
  fit.add_option("--budget-epsilon", fit_.limit_epsilon,
                 "of the data set: refuse (exit 4) what all runs on this ledger would pass; each silo's own")
      ->group("Privacy");
  fit.add_option("--budget-delta", fit_.limit_delta, "goes with --budget-epsilon")->group("Privacy");
  fit.add_flag("--resume", fit_.resume,
               "go on with a killed run: repeat what is charged at no charge; where there is none, begin")
      ->group("Privacy");
  fit.add_option("--checkpoint", fit_.checkpoint,
                 "folder that keeps each release as it becomes public, so that --resume need not make it again")
      ->type_name("DIR")
      ->group("Output");
  fit.add_option("--checkpoint-every", fit_.checkpoint_every, "at most every so many seconds; 0: after every release")
      ->capture_default_str()
      ->type_name("SECONDS")
      ->group("Output");

  fit.add_option("--out", fit_.out, "the model")->capture_default_str()->group("Output");
  fit.add_option("--report", fit_.report, "JSON report")->group("Output");
  add_silos(fit, fit_.silos);
  add_format(fit, fit_.format);
  fit.add_flag("--dry-run", fit_.dry_run, "print noise plan, expected error and cost; read no rows, spend nothing")
      ->group("Output");
  add_count(fit, "--threads", fit_.threads, "a rank; default: all cores alone, 1 under mpirun");
  add_count(fit, "--memory", fit_.memory_mib,
            "for the rows of a rank; default: 64; with rounds or class Gram matrices half of what is free, at most "
            "4096 (with less: rows read again)")
      ->type_name("MIB");
  add_config(fit);
  fit.footer(
      "Examples:\n"
      "  dpreduce fit --train-x x.npy --train-y y.npy --classes 10 --epsilon 1 --delta 1e-6\n"
      "  mpirun -n 8 dpreduce fit --train-x 'x_*.npy' --train-y 'y_*.npy' --classes 1000 --center dp --mu 0.5 --report "
      "r.json\n"
      "  mpirun -n 3 dpreduce fit --train-x 'silo{rank}/x.npy' --train-y 'silo{rank}/y.npy' --classes 10 --rho 0.1\n"
      "  mpirun -n 6 dpreduce fit --secure-aggregation --threshold 4 --train-x 'silo{rank}/x.npy' --train-y "
      "'silo{rank}/y.npy' --classes 10 --mu 1\n"
      "  mpirun -n 6 dpreduce fit --secure-aggregation --config common.toml --silo-config 'silo{rank}.toml'\n"
      "  dpreduce fit --train-x x.npy --train-y y.npy --classes 10 --mu 1 --checkpoint run1 [--resume after a crash]\n"
      "  dpreduce fit --method public --public-x p.npy --train-x x.npy --train-y y.npy --classes 10 --epsilon 1\n"
      "  dpreduce fit --config run.toml --dry-run");
}

void CommandOptions::declare_sweep(CLI::App& app) {
  CLI::App& sweep =
      *app.add_subcommand("sweep", "many fits on the same rows, into one table: an experiment, not private");
  add_files(sweep, "--train-x", sweep_.train.x, "as in fit")->required();
  add_files(sweep, "--train-y", sweep_.train.y, "one class index a row")->required();
  add_files(sweep, "--test-x", sweep_.test.x, "features that every figure is about")->required();
  add_files(sweep, "--test-y", sweep_.test.y, "their labels")->required();
  add_files(sweep, "--public-x", sweep_.public_x, "as in fit, for the methods that take them");
  add_count(sweep, "--classes", sweep_.classes, "K")->required();
  add_choice(sweep, "--bad-rows", sweep_.train.bad_rows, "as in fit");
  sweep.add_option("--methods", sweep_.methods, "each what would follow --method of fit, with options of its own")
      ->delimiter(',')
      ->required();
  sweep.add_option("--epsilons", sweep_.epsilons, "budgets, each with --delta")->delimiter(',')->required();
  sweep.add_option("--delta", sweep_.delta, "of every budget; not spent by methods that are pure")
      ->capture_default_str();
  sweep
      .add_option("--imbalance", sweep_.ratios,
                  "ratios of long tails to train on, as --imbalance-ratio of fit; 1: all rows")
      ->delimiter(',')
      ->capture_default_str();
  add_count(sweep, "--seeds", sweep_.seeds, "runs of every kind, with seeds 1, 2, ... for noise and long tail")
      ->capture_default_str();
  add_choice(sweep, "--adjacency", sweep_.adjacency, "which data sets are neighbours");
  sweep.add_option("--out", sweep_.out, "writes OUT.csv, one line a run, and OUT.json")->capture_default_str();
  add_count(sweep, "--threads", sweep_.threads, "a rank; default: all cores alone, 1 under mpirun");
  add_count(sweep, "--memory", sweep_.memory_mib, "for the rows of a rank, as in fit")->type_name("MIB");
  add_config(sweep);
  sweep.footer(
      "Examples:\n"
      "  dpreduce sweep --train-x x.npy --train-y y.npy --test-x tx.npy --test-y ty.npy --classes 10 --public-x p.npy "
      "\\\n"
      "    --methods 'mean --center public,public --center public,auto' --epsilons 0.1,1,8 --imbalance 1,10,100 "
      "--seeds 3\n"
      "  mpirun -n 4 dpreduce sweep ... --methods 'ls --shared-gram --center dp,fc --center dp' --epsilons 1 --out "
      "flagships");
}

}  // namespace dpreduce
