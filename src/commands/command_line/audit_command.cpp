#include "commands/command_line/audit_command.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "commands/command_line/budget_options.hpp"
#include "commands/command_line/command_entry.hpp"
#include "commands/command_line/row_options.hpp"
#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"
#include "fit/validated_options.hpp"
#include "methods/method_terms.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

constexpr double kLargestConfidence = 1.0 - 1e-12;
constexpr double kFewestTrials = 100;
constexpr double kMostTrials = 1e9;
constexpr double kFewestCanaries = 100;
constexpr double kMostCanaries = 1e6;
constexpr double kSilosOfCanary = 3;  // over so many its rows are cut (audit/world_rows.hpp)
constexpr double kMostSilosOfPerson = 1000;
constexpr double kMostRowsOfCanary = 1000;  // B: canaries are persons of several times so many rows

}  // namespace

AuditOptions validated(AuditOptions options) {
  if (method_entry(options.fit.method).chooses_public_rows) {
    if (options.kind == AuditKind::kOneRun) {
      throw UsageError(fmt::format(
          "audit --one-run --method {}: a choice among public rows releases no class sums; leave --one-run out",
          options.fit.method.name));
    }
    options.fit.data.public_x = {"public rows of the audit"};
    options.fit.rows.normalize = Normalize::kL2;  // what rows are compared by
  }
  if (method_entry(options.fit.method).whitens_rows) {
    options.fit.rows.normalize =
        Normalize::kL2;  // whitened rows are short where they are only clipped, and hide a canary
  }
  check_both_or_none("--train-x", !options.fit.data.train.x.empty(), "--train-y", !options.fit.data.train.y.empty());
  if (!options.fit.data.train.x.empty() && options.kind != AuditKind::kOneRun) {
    throw UsageError("--train-x: only an audit by one run takes rows; add --one-run");
  }
  if (options.fit.data.rows_per_person) {
    check_range("--rows-per-person", static_cast<double>(*options.fit.data.rows_per_person), 1, kMostRowsOfCanary);
    options.fit.data.train.person = {"persons of the audit"};
  }
  if (const auto silos = options.fit.silos.silos_per_person) {
    check_range("--silos-per-person", *silos, kSilosOfCanary, kMostSilosOfPerson);
    if (options.kind == AuditKind::kOneRun || options.fit.method.batch) {
      throw UsageError("audit --silos-per-person: goes with whole runs on all rows; leave --one-run and --batch out");
    }
    if (!options.fit.data.rows_per_person) throw UsageError("audit --silos-per-person: goes with --rows-per-person");
    options.fit.silos.under_engine = true;  // the audit's own
  }
  check_range("--confidence", options.confidence, 0.5, kLargestConfidence);
  if (options.trials) check_range("--trials", static_cast<double>(*options.trials), kFewestTrials, kMostTrials);
  check_range("--canaries", static_cast<double>(options.canaries), kFewestCanaries, kMostCanaries);
  options.fit = validated(std::move(options.fit));
  return options;
}

CommandEntry audit_command() {
  const auto options = std::make_shared<AuditOptions>();
  CommandEntry command{.name = "audit", .help = "try to refute a privacy claim on adjacent data sets (exit 8)"};
  OptionTable& table = command.options;
  declare_method(table, options->fit.method);
  declare_rows(table, options->fit.rows);
  declare_budget(table, options->fit.privacy.budget);
  table.choice("--adjacency", options->fit.privacy.adjacency, "which data sets are neighbors").in_group("Privacy");
  table
      .count("--rows-per-person", options->fit.data.rows_per_person,
             "the claim is about a person, whose rows count for so many together: canaries are whole persons with more "
             "rows than that, on several ranks")
      .typed("B");
  table.choice("--person-bound", options->fit.data.person_bound, "how a person is held to that; default: weight");
  table
      .count("--silos-per-person", options->fit.silos.silos_per_person,
             "the claim is about silos, each of which holds a person to B over so many: canaries have rows in three")
      .typed("S");
  table.number("--confidence", options->confidence, "a true claim is refuted with probability at most 1 minus this");
  table.count("--trials", options->trials,
              "whole runs of the method, on small data sets; default: as many as prove most of mu 1 (some minutes "
              "where rows are "
              "whitened)");
  table.count("--threads", options->fit.machine.threads, "default: all cores").defaults_to("");
  constexpr const char* kOneRun = "One run";
  table
      .add({.names = "--one-run",
            .help = "one run, with many canaries in one training set",
            .values = OptionValues::kNone,
            .read = [options](const std::vector<std::string>&) { options->kind = AuditKind::kOneRun; }})
      .in_group(kOneRun);
  table.count("--canaries", options->canaries, "each in or out by a fair coin; they hide each other beyond K times d")
      .in_group(kOneRun);
  table.files("--train-x", options->fit.data.train.x, "rows that the canaries go among; default: synthetic ones")
      .in_group(kOneRun);
  table.files("--train-y", options->fit.data.train.y, "their labels").in_group(kOneRun);
  table.count("--classes", options->fit.data.classes, "K").in_group(kOneRun);
  declare_format(table, options->fit.output.format);
  declare_config(table);
  table.put_first("--method", "whose claim: mean, ls, fc, gd, ...");
  table.put_first("--epsilon", "the claim, with --delta");
  table.put_first("--delta", "goes with --epsilon");
  table.put_first("--mu", "or the claim in Gaussian DP");
  table.put_first("--adjacency", "neighbors: a record is there or not, or another one");
  table.put_first("--confidence", "a true claim is refuted more rarely than 1 minus this");
  table.put_first("--trials", "runs in all; by default as many as take minutes");
  table.put_first("--one-run", "one run with many canaries, instead of many runs");
  table.put_first("--train-x", "with --one-run: rows that the canaries go among");
  table.put_first("--train-y", "their labels");
  table.put_first("--classes", "their number of classes");
  table.put_first("--format", "text, or json");
  command.first_footer =
      "Examples:\n"
      "  dpreduce audit --epsilon 1 --delta 1e-5\n"
      "  dpreduce audit --method mean --one-run --train-x x.npy --train-y y.npy --classes 10 \\\n"
      "    --epsilon 4 --delta 1e-6";
  command.footer =
      "Examples:\n"
      "  dpreduce audit --epsilon 1 --delta 1e-5\n"
      "  dpreduce audit --method mean --metric euclidean --mu 2 --adjacency replace-one --trials 1000000\n"
      "  dpreduce audit --method mean --one-run --train-x x.npy --train-y y.npy --classes 10 --epsilon 4 --delta 1e-6 "
      "--format json";
  command.chosen = [options](const ParsedCommand& parsed) {
    AuditOptions audit = *options;
    choose_accountant(audit.fit.privacy.budget, audit.fit.method.batch.value_or(1.0), parsed.options);
    return validated(std::move(audit));
  };
  return command;
}

}  // namespace dpreduce
