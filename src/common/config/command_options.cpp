#include "dpreduce/config/command_options.hpp"

#include "dpreduce/config/command_line.hpp"
#include "dpreduce/config/method_options.hpp"
#include "dpreduce/config/option_kinds.hpp"
#include "dpreduce/config/silo_options.hpp"
#include "dpreduce/config/validate_options.hpp"

namespace dpreduce {
namespace {

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
  CLI::App& show =
      *ledger.add_subcommand("show", "every release of a ledger, their sum, and what open runs may still charge");
  show.add_option("--ledger,ledger", ledger_show_.ledger, "the ledger file")->capture_default_str();
  add_format(show, ledger_show_.format);
  show.footer(
      "Examples:\n  dpreduce ledger show ledger.jsonl\n  dpreduce ledger show --ledger ledger.jsonl --format json");
  CLI::App& verify = *ledger.add_subcommand("verify", "find any edit, of the last line too (exit 6)");
  verify.add_option("--ledger,ledger", ledger_verify_.ledger, "the ledger file")->capture_default_str();
  verify.add_option("--report", ledger_verify_.report,
                    "of a run on this ledger: find also lines that were cut off at the end, or another ledger");
  verify.footer(
      "Examples:\n  dpreduce ledger verify ledger.jsonl\n  dpreduce ledger verify ledger.jsonl --report r.json");
  CLI::App& release = *ledger.add_subcommand("release", "give up a run that ended early, and what it had reserved");
  release.add_option("run", ledger_release_.run, "the run, as ledger show names it")->required();
  release.add_option("--ledger,ledger", ledger_release_.ledger, "the ledger file")->capture_default_str();
  release.footer(
      "The run can then be resumed no more: what it needs to repeat its noise is destroyed. A run that is alive is\n"
      "refused.\n\nExamples:\n  dpreduce ledger release 0f3a5c1e9b7d4a6288c0d1e2f3a4b5c6 ledger.jsonl");
}

void CommandOptions::declare_audit(CLI::App& app) {
  CLI::App& audit = *app.add_subcommand("audit", "try to refute a privacy claim on adjacent data sets (exit 8)");
  add_method(audit, audit_.fit);
  add_budget(audit, audit_.fit.budget);
  add_choice(audit, "--adjacency", audit_.fit.adjacency, "which data sets are neighbours")->group("Privacy");

  audit.add_option("--confidence", audit_.confidence, "a true claim is refuted with probability at most 1 minus this")
      ->capture_default_str();
  add_count(audit, "--trials", audit_.trials,
            "whole runs of the method, on small data sets; default: as many as prove most of mu 1 (fc: some minutes)");
  add_count(audit, "--threads", audit_.fit.threads, "default: all cores");
  audit
      .add_flag_callback(
          "--one-run", [this] { audit_.kind = AuditKind::kOneRun; }, "one run, with many canaries in one training set")
      ->group("One run");
  add_count(audit, "--canaries", audit_.canaries,
            "each in or out by a fair coin; they hide each other beyond K times d")
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
    if (got(ledger, "release")) return ledger_release_;
    return ledger_show_;
  }
  if (got(app, "keygen")) return keygen_;
  const CLI::App& bench = *app.get_subcommand("bench");
  BenchOptions options = bench_;
  options.kind = *choice_of<BenchKind>(bench.get_subcommands().front()->get_name());
  return validated(options);
}

}  // namespace dpreduce
