#include "commands/command_line/fit_command.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "commands/command_line/budget_options.hpp"
#include "commands/command_line/class_options.hpp"
#include "commands/command_line/command_entry.hpp"
#include "commands/command_line/row_options.hpp"
#include "commands/command_line/silo_options.hpp"
#include "fit/validated_options.hpp"
#include "methods/method_terms.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

void declare_data(OptionTable& table, DataOptions& data) {
  table.files("--train-x", data.train.x, "features, .npy or file.h5:/dataset; globs; {rank} for a worker's own files")
      .required();
  table
      .files("--train-y", data.train.y,
             "labels, one a row of the features: integers from 0 to K-1 or, with --class-names, names; or zeros and "
             "ones, n "
             "x K, with --max-labels")
      .required();
  table.files("--train-person", data.train.person,
              "whose each row is: identifiers, one a row of the features, integers or strings; the guarantee is then "
              "for a person with any number of rows, and not for a row");
  table
      .count("--rows-per-person", data.rows_per_person,
             "what a person's rows count for together, in rows: public; a row of a person with m counts for min(1, B / "
             "m); default: 1")
      .typed("B");
  table.choice("--person-bound", data.person_bound,
               "how a person is held to that: every row weighs less, or the person's sum is clipped, so that rows that "
               "point apart cost less; default: weight");
  table.files("--test-x", data.test.x, "features to report the accuracy on (outside the guarantee)");
  table.files("--test-y", data.test.y, "their labels");
  table.files("--validation-x", data.validation.x, "public features that --choose goes by, at no charge");
  table.files("--validation-y", data.validation.y, "their labels");
  table.files("--public-x", data.public_x,
              fmt::format("features that are no secret, read as --train-x is; used without noise, at no charge; with "
                          "--method {} the prototypes to choose from",
                          methods_where([](const MethodEntry& method) { return method.chooses_public_rows; })));
  table
      .number("--imbalance-ratio", data.imbalance_ratio,
              "for experiments: train on a long tail of the rows, of class c a share R^(-c / (K - 1)); order and "
              "shares of classes are the experimenter's word, and public")
      .typed("R")
      .defaults_to("");
  table.count("--imbalance-seed", data.imbalance_seed, "which rows that keeps; default: 1");
  declare_classes(table, data.classes, data.train.class_names, "K: public knowledge, never taken from the data")
      .required();
  table.count("--max-labels", data.max_labels,
              "k: classes a row may have, where labels are n x K zeros and ones; public, as sums are noised for it");
  table.choice("--bad-rows", data.train.bad_rows,
               "rows with NaN, infinity or more than --max-labels labels: stop, or count them nowhere");
}

void declare_privacy(OptionTable& table, PrivacyOptions& privacy) {
  constexpr const char* kGroup = "Privacy";
  declare_budget(table, privacy.budget);
  table.flag("--non-private", privacy.budget.non_private, "no noise, no guarantee: for comparison only")
      .in_group(kGroup);
  table.choice("--adjacency", privacy.adjacency, "which data sets are neighbors").in_group(kGroup);
  table.count("--seed", privacy.seed, "repeatable noise; the run is then NOT private").in_group(kGroup);
  table
      .text("--ledger", privacy.ledger,
            "where each release is recorded before it is made; each silo's own: {rank} is replaced, or silo 3 has "
            "ledger-silo3.jsonl")
      .typed("FILE")
      .written()
      .in_group(kGroup);
  table
      .number("--budget-epsilon", privacy.limit_epsilon,
              "of the data set: refuse (exit 4) what all runs on this ledger would pass; each silo's own")
      .in_group(kGroup);
  table.number("--budget-delta", privacy.limit_delta, "goes with --budget-epsilon").in_group(kGroup);
  table
      .flag("--resume", privacy.resume,
            "go on with a killed run: repeat what is charged at no charge; where there is none, begin")
      .in_group(kGroup);
}

void declare_output(OptionTable& table, OutputOptions& output) {
  constexpr const char* kGroup = "Output";
  table
      .text("--checkpoint", output.checkpoint,
            "folder that keeps each release as it becomes public, so that --resume need not make it again")
      .typed("DIR")
      .in_group(kGroup);
  table.number("--checkpoint-every", output.checkpoint_every, "at most every so many seconds; 0: after every release")
      .typed("SECONDS")
      .in_group(kGroup);
  table.text("--out", output.out, "the model").typed("FILE").written().in_group(kGroup);
  table.text("--report", output.report, "JSON report").typed("FILE").written().in_group(kGroup);
  table.text("--html", output.html, "a page to look at: the report and the ledger in words, tables and charts")
      .typed("FILE")
      .written()
      .in_group(kGroup);
  table
      .text("--metrics", output.metrics,
            "JSON lines that grow with the run: phase, round, norm of what is released beside its noise, budget spent")
      .typed("FILE")
      .written()
      .in_group(kGroup);
  table.text("--timings", output.timings, "JSON, readable by its owner alone: the seconds of each phase and rank")
      .typed("FILE")
      .written()
      .in_group(kGroup);
  table.flag("--overwrite", output.overwrite, "replace what is there already: model, report, page, metrics, timings")
      .in_group(kGroup);
  table.flag("--quiet", output.quiet, "print no progress and no summary; warnings and errors stay").in_group(kGroup);
  declare_format(table, output.format);
  table.flag("--dry-run", output.dry_run, "print noise plan, expected error and cost; read no rows, spend nothing")
      .in_group(kGroup);
}

void declare_machine(OptionTable& table, MachineOptions& machine) {
  table.count("--threads", machine.threads, "a rank; default: all cores alone, 1 under mpirun").defaults_to("");
  table
      .count("--memory", machine.memory_mib,
             "for the rows of a rank; default: 64; with rounds or class Gram matrices half of what is free, at most "
             "4096 (with less: rows read again)")
      .typed("MIB");
}

// What a first fit needs, and no more: --help shows these.
void put_first(OptionTable& table) {
  table.put_first("--train-x", "features: .npy, file.h5:/dataset, or a pattern");
  table.put_first("--train-y", "labels: one integer from 0 to K-1 a row");
  table.put_first("--classes", "K, how many classes there are: public");
  table.put_first("--class-names", "names of classes, one a line, for labels that are names");
  table.put_first("--test-x", "features that the accuracy is told of");
  table.put_first("--test-y", "their labels");
  table.put_first("--method", "how to train: auto suits most data");
  table.put_first("--center", "center rows: none, public or dp, by a released mean");
  table.put_first("--epsilon", "the budget: what may be learned of one record");
  table.put_first("--delta", "goes with it: at most 1 / (10 n), n public");
  table.put_first("--ledger", "where all that is spent is recorded");
  table.put_first("--out", "the model");
  table.put_first("--report", "what was done and promised, as JSON");
  table.put_first("--dry-run", "tell noise, expected error and cost; spend nothing");
}

std::string methods_footer() {
  std::string footer = "Methods:\n";
  for (const MethodEntry* method : all_methods()) footer += fmt::format("  {:<13} {}\n", method->name, method->help);
  return footer;
}

}  // namespace

void declare_fit(OptionTable& table, FitOptions& options) {
  declare_data(table, options.data);
  declare_method(table, options.method);
  declare_rows(table, options.rows);
  declare_choice(table, options.method);
  declare_privacy(table, options.privacy);
  declare_output(table, options.output);
  declare_silos(table, options.silos);
  declare_machine(table, options.machine);
}

CommandEntry fit_command() {
  const auto options = std::make_shared<FitOptions>();
  CommandEntry command{.name = "fit", .help = "train a classifier and write model and report"};
  OptionTable& table = command.options;
  declare_fit(table, *options);
  declare_config(table);
  put_first(table);
  command.first_footer =
      "Examples:\n"
      "  dpreduce fit --train-x x.npy --train-y y.npy --classes 10 --epsilon 1 --delta 1e-6\n"
      "  mpirun -n 8 dpreduce fit --train-x 'x_*.npy' --train-y 'y_*.npy' --classes 10 \\\n"
      "    --epsilon 1 --delta 1e-6 --report report.json";
  command.footer =
      methods_footer() +
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
      "  dpreduce fit --config run.toml --dry-run";
  command.chosen = [options](const ParsedCommand& parsed) {
    FitOptions fit = *options;
    choose_accountant(fit.privacy.budget, fit.method.batch.value_or(1.0), parsed.options);
    fit.silos.rows_are_own = parsed.rows_are_own;
    fit.silos.ledger_is_own = parsed.ledger_is_own;
    fit.silos.agreed = agreed_options(parsed.options, fit.data.train.class_names);
    return validated(std::move(fit));
  };
  return command;
}

}  // namespace dpreduce
