#include "dpreduce/config/command_options.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "dpreduce/config/command_line.hpp"
#include "dpreduce/config/option_kinds.hpp"
#include "dpreduce/config/validate_options.hpp"

namespace dpreduce {
namespace {

// What decides which statistics are released.
void add_method(CLI::App& app, FitOptions& options) {
  add_choice(app, "--method", options.method, "how to train")->group("Method");
  add_choice(app, "--objective", options.objective,
             "auto: accuracy over rows, or balanced over classes: scores adjusted by noised class sizes, or prototypes "
             "of --public-x where the smallest classes would drown")
      ->group("Method");
  add_choice(app, "--metric", options.metric, "mean: nearest direction, or nearest centre")->group("Method");
  app.add_flag("--auto", options.adaptive,
               "prototypes: mean or public, whichever public knowledge speaks for; both centred by --public-x")
      ->group("Method");
  app.add_option("--expected-rows", options.expected_rows,
                 "prototypes, --objective balanced: about how many training rows there are, where that is public")
      ->type_name("N")
      ->group("Method");
  app.add_option(
         "--smallest-share", options.smallest_share,
         "prototypes, --objective balanced: about which share of the training rows the smallest class has, where "
         "that is public; default: 1 / K")
      ->type_name("S")
      ->group("Method");
  add_count(app, "--top-k", options.top_k, "public: prototypes of a class, chosen among --public-x; default: 1")
      ->group("Method");
  app.add_option("--d-min", options.d_min, "public: 1 + cos of two rows is clipped from below here; default: 0")
      ->group("Method");
  app.add_option("--d-max", options.d_max, "public: and from above here; default: 2")->group("Method");
  add_choice(app, "--normalize", options.normalize, "scale every row to norm C, or only clip longer ones")
      ->group("Method");
  app.add_option("--clip", options.clip_norm, "C: the clip norm")->capture_default_str()->group("Method");
  add_optional_choice(
      app, "--center", options.center,
      "centre rows by a released mean, or that of --public-x, then scale or clip again; moments (ls): by the mean in "
      "its own release, without scaling again; default: dp with --method auto")
      ->group("Method");
  app.add_flag("--shared-gram", options.shared_gram, "ls: one Gram matrix for all classes")->group("Method");
  add_number_or_auto(app, "--alpha", options.alpha, "ls: weight of all rows beside a class's own rows")
      ->group("Method");
  add_number_or_auto(app, "--lambda", options.lambda, "ls: ridge in units of feature^2; auto: from the noise")
      ->group("Method");
  app.add_option("--gram-share", options.gram_share, "ls, fc: share of mu^2 that the Gram matrix takes")
      ->group("Method");
  add_count(
      app, "--rounds", options.rounds,
      "fc, gd, adam, newton, global-adapt, fedavg: each releases its gradient with a share of mu^2; default: 20, 300, "
      "150, 6, 300, 60; on samples at most 400; coinpress: steps, 2")
      ->group("Method");
  add_count(app, "--local-steps", options.local_steps,
            "fedavg: gradient steps of each silo (rank) on its own rows in a round; default: 5")
      ->group("Method");
  app.add_option("--batch", options.batch,
                 "gd, adam: a row enters a round by a secret coin of this probability (Poisson sampling); accounted by "
                 "pld, or rdp; 1, the default: all rows")
      ->type_name("Q")
      ->group("Method");
  add_optional_choice(
      app, "--loss", options.loss,
      "fc, gd, adam, newton, fedavg: what is descended on; default: softmax, or sigmoid with --max-labels above "
      "1")
      ->group("Method");
  add_optional_choice(app, "--iterate", options.iterate,
                      "fc, gd, adam, newton, fedavg: the last weights, or the average of all rounds'; default: last")
      ->group("Method");
  app.add_option(
         "--learning-rate", options.learning_rate,
         "gd, fedavg: W changes by so much of a summed gradient; adam: by so much an entry; default: chosen from "
         "noised values")
      ->group("Method");
  app.add_option("--radius", options.radius, "gd: W is kept within this Frobenius norm; default: not")->group("Method");
  app.add_flag("--warm-start", options.warm_start,
               "fc, gd, adam, newton: release class means first; rounds then learn what their cosines leave open")
      ->group("Method");
  app.add_option("--warm-start-share", options.warm_start_share, "share of mu^2 that those means take; default: 0.2")
      ->group("Method");
  app.add_option("--center-share", options.center_share, "share of mu^2 that the released mean takes")
      ->capture_default_str()
      ->group("Method");
  add_count(app, "--pca", options.pca, "project rows on the first k principal components, of --public-x where given")
      ->group("Method");
  app.add_option("--pca-share", options.pca_share, "share of mu^2 that private components take (0.1)")->group("Method");
  add_count(app, "--select", options.select, "keep the m features in which class means are farthest apart")
      ->group("Method");
  add_optional_choice(app, "--select-by", options.select_by,
                      "distance of class means, or (fisher) that over the standard deviation; default: distance")
      ->group("Method");
  app.add_option("--select-share", options.select_share, "ls, fc: share of mu^2 that the selection takes (0.1)")
      ->group("Method");
  add_count(app, "--pool", options.pool, "average k consecutive features into one")
      ->capture_default_str()
      ->group("Method");
}

// A run among silos.
void add_silos(CLI::App& app, SiloOptions& silos) {
  app.add_flag("--secure-aggregation", silos.secure_aggregation,
               "masked sums: rank 0 is a coordinator without rows, every other rank a silo with files of its own")
      ->group("Silos");
  add_count(app, "--threshold", silos.threshold, "silos that must stay to the end; default: more than two thirds")
      ->group("Silos");
  add_choice(app, "--noise", silos.noise,
             "who adds it: the coordinator, which then could look at the exact sum, or every silo a share")
      ->group("Silos");
  add_count(app, "--colluding", silos.colluding,
            "silos that may show the coordinator what they know, without its learning more of the others")
      ->capture_default_str()
      ->group("Silos");
  app.add_option("--silo-timeout", silos.timeout_seconds, "a silo that is silent for so long is lost")
      ->capture_default_str()
      ->type_name("SECONDS")
      ->group("Silos");
  app.add_option("--roster", silos.roster, "TOML file: names and public keys of all parties; default: a simulation")
      ->type_name("FILE")
      ->group("Silos");
  app.add_option("--identity", silos.identity, "this party's, from dpreduce keygen; {rank} is replaced")
      ->type_name("FILE")
      ->group("Silos");
  app.add_option("--silo-config", silos.own_options,
                 "TOML file of this party alone: paths of its rows, identity, log; {rank} is replaced")
      ->type_name("FILE")
      ->group("Silos");
  app.add_option("--log", silos.log, "what this party did and saw, line by line, for its owner; {rank} is replaced")
      ->type_name("FILE")
      ->group("Silos");
  app.add_option("--fault", silos.fault,
                 "in simulations: one party does something wrong, e.g. 3:kill@masked (docs/silos.md)")
      ->type_name("SILO:KIND@MESSAGE")
      ->group("Silos");
  app.add_option("--round-trip", silos.round_trip_ms,
                 "in simulations: of a silo's line; its messages take half of it, either way; default: none")
      ->type_name("MS")
      ->group("Silos");
  app.add_option("--bandwidth", silos.bandwidth_mbit, "in simulations: of a silo's line; default: without bound")
      ->type_name("MBIT")
      ->group("Silos");
  app.add_option("--packet-loss", silos.packet_loss_percent,
                 "in simulations: packets that a silo's line loses, which lowers what TCP makes of it; default: none")
      ->type_name("PERCENT")
      ->group("Silos");
}

// The options that all parties of a run among silos must have been told alike, one a line: all but what is a party's
// own, or the coordinator's alone. Of files that one party may have elsewhere than another it only says that there are
// some.
std::string agreed_options(const CLI::App& fit) {
  constexpr std::array<std::string_view, 20> kOwn{"train-x", "train-y",     "identity",   "roster",    "log",
                                                  "threads", "memory",      "test-x",     "test-y",    "out",
                                                  "report",  "ledger",      "key",        "format",    "config",
                                                  "fault",   "silo-config", "round-trip", "bandwidth", "packet-loss"};
  constexpr std::array<std::string_view, 3> kFiles{"validation-x", "validation-y", "public-x"};
  const auto is_in = [](const auto& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::string agreed;
  for (const CLI::Option* option : fit.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (is_in(kOwn, name)) continue;
    std::vector<std::string> values = option->results();
    if (is_in(kFiles, name)) values = {"given"};
    if (option->get_expected_max() == 1) values.erase(values.begin(), values.end() - 1);  // the last word wins
    agreed += name;
    for (const std::string& value : values) {
      double number = 0.0;
      agreed += CLI::detail::lexical_cast(value, number) ? fmt::format(" {}", number) : " " + value;
    }
    agreed += '\n';
  }
  return agreed;
}

// `--epsilon 1 ... --epsilon 2`: scripts append what they change. Lists of files still add up.
void let_the_last_word_win(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() == 1) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) let_the_last_word_win(*command);
}

}  // namespace

void CommandOptions::declare(CLI::App& app) {
  app.require_subcommand(1);
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", version());
  app.footer(
      "Each command has its own --help with examples. Exit codes: 0 done, 2 usage, 3 bad input, 4 budget refused,\n"
      "5 aggregation aborted, 6 ledger corrupt, 7 resume mismatch, 8 claim refuted.");
  declare_fit(app);
  declare_sweep(app);
  declare_predict(app);
  declare_evaluate(app);
  declare_privacy(app);
  declare_ledger(app);
  declare_synth(app);
  declare_inspect(app);
  declare_audit(app);
  declare_bench(app);
  declare_keygen(app);
  let_the_last_word_win(app);
}

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
  fit.add_option("--ledger", fit_.ledger, "where each release is recorded before it is made")
      ->capture_default_str()
      ->group("Privacy");
  fit.add_option("--key", fit_.key, "secret noise key, made if absent (0600); default: the ledger's name and .key")
      ->group("Privacy");
  fit.add_option("--budget-epsilon", fit_.limit_epsilon,
                 "of the data set: refuse (exit 4) what all runs on this ledger would pass")
      ->group("Privacy");
  fit.add_option("--budget-delta", fit_.limit_delta, "goes with --budget-epsilon")->group("Privacy");
  fit.add_flag("--resume", fit_.resume,
               "after a crash: repeat what is charged, at no further charge; with --checkpoint go on from there")
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

void CommandOptions::declare_predict(CLI::App& app) {
  CLI::App& predict = *app.add_subcommand("predict", "labels for new features");
  predict.add_option("--model", predict_.model, "written by fit")->required()->type_name("FILE");
  add_files(predict, "--x,--test-x", predict_.x, "features")->required();
  predict.add_option("--out", predict_.out, "labels, .npy (int64); default: one a line on standard output");
  predict.add_flag("--scores", predict_.scores, "write the n x K scores instead of labels (needs --out)");
  add_count(predict, "--top-k", predict_.top_k, "the k classes of the largest scores, best first, instead of one");
  predict.add_flag("--sets", predict_.sets,
                   "write n x K zeros and ones instead of labels: ones from the model's threshold on (needs --out)");
  predict.add_option("--threshold", predict_.threshold, "with --sets: from this score on, not the model's");
  add_choice(predict, "--bad-rows", predict_.bad_rows, "rows with NaN or infinity: stop, or score them as zero rows");
  add_config(predict);
  predict.footer(
      "Examples:\n"
      "  dpreduce predict --model model.safetensors --x new.npy --out labels.npy\n"
      "  dpreduce predict --model model.safetensors --x new.h5:/features --scores --out scores.npy\n"
      "  dpreduce predict --model model.safetensors --x new.npy --sets --out sets.npy");
}

void CommandOptions::declare_evaluate(CLI::App& app) {
  CLI::App& evaluate =
      *app.add_subcommand("evaluate", "accuracy of a model: overall, balanced, by class, on the minority");
  evaluate.add_option("--model", evaluate_.model, "written by fit")->required()->type_name("FILE");
  add_files(evaluate, "--test-x,--x", evaluate_.test.x, "features")->required();
  add_files(evaluate, "--test-y,--y", evaluate_.test.y, "labels")->required();
  add_files(evaluate, "--train-y", evaluate_.train_y,
            "training labels, to tell the smallest 25 % of classes (private: for the owner)");
  add_choice(evaluate, "--bad-rows", evaluate_.test.bad_rows,
             "rows with NaN or infinity: stop, or score them as zero rows");
  add_count(evaluate, "--top-k", evaluate_.top_k,
            "n x K labels: precision and recall of the k largest scores of a row");
  evaluate.add_option("--threshold", evaluate_.threshold,
                      "n x K labels: F1 of classes from this score on; default: the model's threshold");
  evaluate.add_option("--report", evaluate_.report, "JSON report with the confusion matrix")->type_name("FILE");
  add_format(evaluate, evaluate_.format);
  add_config(evaluate);
  evaluate.footer(
      "Examples:\n"
      "  dpreduce evaluate --model model.safetensors --test-x tx.npy --test-y ty.npy\n"
      "  mpirun -n 4 dpreduce evaluate --model model.safetensors --test-x 'tx_*.npy' --test-y 'ty_*.npy' --format "
      "json");
}

void CommandOptions::declare_ledger(CLI::App& app) {
  CLI::App& ledger = *app.add_subcommand("ledger", "what has been released so far");
  ledger.require_subcommand(1);
  CLI::App& show = *ledger.add_subcommand("show", "every release of a ledger, and their sum");
  show.add_option("--ledger,ledger", ledger_show_.ledger, "the ledger file")->capture_default_str();
  add_format(show, ledger_show_.format);
  show.footer(
      "Examples:\n  dpreduce ledger show ledger.jsonl\n  dpreduce ledger show --ledger ledger.jsonl --format json");
  CLI::App& verify = *ledger.add_subcommand("verify", "find any edit, cut or reordering (exit 6)");
  verify.add_option("--ledger,ledger", ledger_verify_.ledger, "the ledger file")->capture_default_str();
  verify.footer("Examples:\n  dpreduce ledger verify ledger.jsonl");
}

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
  partition.add_option("--out", partition_.out_dir, "folder for silo0/x.npy, silo0/y.npy, silo1/x.npy, ...")
      ->required();
  add_count(partition, "--classes", partition_.classes, "K")->required();
  add_count(partition, "--silos", partition_.silos, "how many")->required();
  add_count(partition, "--first-silo", partition_.first_silo, "number of the first: that of the rank it is for")
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
      "  mpirun -n 8 dpreduce fit --train-x 'silos/silo{rank}/x.npy' --train-y 'silos/silo{rank}/y.npy' --classes 10 "
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

void CommandOptions::declare_audit(CLI::App& app) {
  CLI::App& audit = *app.add_subcommand("audit", "try to refute a privacy claim on adjacent data sets (exit 8)");
  add_method(audit, audit_.fit);
  add_budget(audit, audit_.fit.budget);
  add_choice(audit, "--adjacency", audit_.fit.adjacency, "which data sets are neighbours")->group("Privacy");

  audit.add_option("--confidence", audit_.confidence, "a true claim is refuted with probability at most 1 minus this")
      ->capture_default_str();
  add_count(audit, "--trials", audit_.trials, "runs of the method, on small data sets; default: some seconds' worth");
  add_count(audit, "--threads", audit_.fit.threads, "default: all cores");
  audit
      .add_flag_callback(
          "--one-run", [this] { audit_.kind = AuditKind::kOneRun; }, "one run, with many canaries in one training set")
      ->group("One run");
  add_count(audit, "--canaries", audit_.canaries, "each in or out by a fair coin")
      ->capture_default_str()
      ->group("One run");
  add_files(audit, "--train-x", audit_.fit.train.x, "rows that the canaries go among; default: synthetic ones")
      ->group("One run");
  add_files(audit, "--train-y", audit_.fit.train.y, "their labels")->group("One run");
  add_count(audit, "--classes", audit_.fit.classes, "K")->capture_default_str()->group("One run");
  add_format(audit, audit_.fit.format);
  add_config(audit);
  audit.footer(
      "Examples:\n"
      "  dpreduce audit --epsilon 1 --delta 1e-5\n"
      "  dpreduce audit --method mean --metric euclidean --mu 2 --adjacency replace-one --trials 1000000\n"
      "  dpreduce audit --method mean --one-run --train-x x.npy --train-y y.npy --classes 10 --epsilon 4 --delta 1e-6 "
      "--format json");
}

void CommandOptions::declare_bench(CLI::App& app) {
  CLI::App& bench = *app.add_subcommand("bench", "speed of the parts on this machine");
  bench.require_subcommand(1);
  const auto add_common = [this](CLI::App& part) {
    add_count(part, "--repeats", bench_.repeats, "the median is told")->capture_default_str();
    add_format(part, bench_.format);
  };
  CLI::App& gram = *bench.add_subcommand("gram", "exact integer X^T X");
  add_count(gram, "--rows", bench_.rows, "n")->capture_default_str();
  add_count(gram, "--dim", bench_.dim, "d")->capture_default_str();
  add_count(gram, "--threads", bench_.threads, "threads")->capture_default_str();
  gram.add_option("--kernel", bench_.kernel, "auto, or the name of one")->capture_default_str();
  add_common(gram);
  gram.footer(
      "Ranks share the rows, and their matrices are summed.\n"
      "Examples:\n"
      "  dpreduce bench gram --rows 8192 --dim 1664 --threads 2 --format json\n"
      "  mpirun -n 2 dpreduce bench gram --rows 8192 --dim 1664");
  CLI::App& noise = *bench.add_subcommand("noise", "exactly rounded Gaussian samples");
  noise.add_option("--sigma", bench_.sigma, "standard deviation, lattice units")->capture_default_str();
  add_count(noise, "--count", bench_.count, "samples")->capture_default_str();
  add_count(noise, "--threads", bench_.threads, "threads")->capture_default_str();
  add_common(noise);
  noise.footer("Examples:\n  dpreduce bench noise --sigma 1048576 --count 10000000 --format json");
  CLI::App& reduce = *bench.add_subcommand("reduce", "sums over the ranks of this job");
  add_count(reduce, "--elements", bench_.elements, "int64 elements a rank")->capture_default_str();
  add_common(reduce);
  reduce.footer("Examples:\n  mpirun -n 2 dpreduce bench reduce --elements 16777216 --format json");
  CLI::App& round = *bench.add_subcommand("round", "a training round: exact scores, residuals, R^T Q, sum, broadcast");
  add_count(round, "--rows", bench_.rows, "n, shared by the ranks")->capture_default_str();
  add_count(round, "--dim", bench_.dim, "d")->capture_default_str();
  add_count(round, "--classes", bench_.classes, "K")->capture_default_str();
  add_count(round, "--threads", bench_.threads, "threads a rank")->capture_default_str();
  add_common(round);
  round.footer(
      "Examples:\n"
      "  dpreduce bench round --rows 8192 --dim 1664 --classes 1000 --threads 2 --format json\n"
      "  mpirun -n 2 dpreduce bench round --rows 8192 --dim 1664 --classes 1000");
}

void CommandOptions::declare_keygen(CLI::App& app) {
  CLI::App& keygen = *app.add_subcommand("keygen", "make the identity of a silo or coordinator, for --roster");
  keygen.add_option("--out", keygen_.out, "file for the private half, 0600; never overwritten")
      ->required()
      ->type_name("FILE");
  keygen.add_option("--name", keygen_.name, "for the roster")->capture_default_str();
  add_format(keygen, keygen_.format);
  add_config(keygen);
  keygen.footer("Examples:\n  dpreduce keygen --out north.key --name north");
}

Command CommandOptions::chosen(const CLI::App& app) const {
  const auto got = [](const CLI::App& parent, const char* name) { return parent.got_subcommand(name); };
  const auto fit_options = [](const CLI::App& command, FitOptions options) {
    if (options.batch.value_or(1.0) < 1.0 && command.count("--accountant") == 0) {
      options.budget.accountant = Accountant::kPld;
    }
    return options;
  };
  if (got(app, "fit")) {
    FitOptions fit = fit_options(*app.get_subcommand("fit"), fit_);
    fit.silos.agreed = agreed_options(*app.get_subcommand("fit"));
    return validated(std::move(fit));
  }
  if (got(app, "sweep")) return validated(sweep_);
  if (got(app, "predict")) return validated(predict_);
  if (got(app, "evaluate")) return validated(evaluate_);
  if (got(app, "privacy")) return chosen_privacy(*app.get_subcommand("privacy"));
  if (got(app, "synth")) {
    if (got(*app.get_subcommand("synth"), "sanitize")) return validated(sanitize_);
    if (got(*app.get_subcommand("synth"), "partition")) return validated(partition_);
    return validated(synth_);
  }
  if (got(app, "inspect")) return validated(inspect_);
  if (got(app, "audit")) {
    AuditOptions audit = audit_;
    audit.fit = fit_options(*app.get_subcommand("audit"), std::move(audit.fit));
    return validated(std::move(audit));
  }
  if (got(app, "ledger")) {
    const CLI::App& ledger = *app.get_subcommand("ledger");
    if (got(ledger, "verify")) return ledger_verify_;
    return ledger_show_;
  }
  if (got(app, "keygen")) return keygen_;
  const CLI::App& bench = *app.get_subcommand("bench");
  BenchOptions options = bench_;
  options.kind = *choice_of<BenchKind>(bench.get_subcommands().front()->get_name());
  return validated(options);
}

}  // namespace dpreduce
