#include "methods/fit_table.hpp"

#include <fmt/format.h>

#include "common/base/text.hpp"
#include "common/data/named_classes.hpp"
#include "common/data/sharded_array.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

// A float holds these with all bits.
constexpr double kLeastWeightBound = 1e-30;
constexpr double kMostWeightBound = 1e30;

constexpr double kShortestTimeout = 0.05;  // seconds
constexpr double kLongestTimeout = 1e6;    // the simulated line takes no longer for a message
constexpr double kLeastMegabits = 1e-3;    // then a message of 1 MiB takes 2.3 hours
constexpr double kMostMegabits = 1e9;
constexpr double kMostPercentLost = 99;

// Numbers in one form, so that parties who write "0.50" and "0.5" agree.
std::string plain(const std::string& word) {
  const std::optional<double> number = number_of(word);
  return number ? fmt::format("{}", *number) : word;
}

// One group a class, in words: a job reads the file on rank 0 alone.
std::vector<std::string> read_class_groups(const std::string& path) {
  ShardedArray file({path}, ArrayRole::kLabels);
  std::vector<std::int32_t> groups(file.columns() == 1 ? file.rows() : 0);
  if (!groups.empty()) file.read_labels(0, groups.size(), groups.size(), groups);
  std::vector<std::string> words;
  for (const std::int32_t group : groups) words.push_back(std::to_string(group));
  return words;
}

void declare_data(OptionTable& table, FitOptions& options) {
  DataOptions& data = options.data;
  declare_training_rows(table, data);
  table.files("--train-weight", data.train.weight,
              "weights of rows: numbers from 0 to --weight-bound, one per row of the features; each may depend on its "
              "own row alone",
              Option().of_command_alone(SetBy::kParty));
  table.number("--weight-bound", data.weight_bound,
               "the largest weight of a row, public: the noise is sized for a row of weight W, and a row of weight w "
               "counts as w / W of it",
               Option().from(kLeastWeightBound, kMostWeightBound).typed("W"));
  table.files("--test-x", data.test.x,
              "features to report the accuracy on (outside the guarantee, but for --evaluate-share)",
              Option().of_command_alone(SetBy::kCoordinator).of_sweeps());
  table.files("--test-y", data.test.y, "their labels").of_command_alone(SetBy::kCoordinator).of_sweeps();
  declare_targets(table, data.test, kTestTargets, "--test-y", "or their numbers")
      .shown_as([&test = data.test] { return test.has_targets ? option_word(test.y) : std::string(); })
      .of_command_alone(SetBy::kCoordinator);
  declare_target_range(table, data);
  table.number("--evaluate-share", options.evaluation.share,
               "share of mu^2 for accuracy and recall on the test rows, reported with noise and intervals instead of "
               "exact figures: one budget covers training and test rows",
               Option().share().of_command_alone());
  table.files("--test-person", data.test.person, "person of each test row, with --evaluate-share and --train-person")
      .of_command_alone(SetBy::kCoordinator);
  table.files("--validation-x", data.validation.x, "public features by which --choose decides, at no charge")
      .of_command_alone(SetBy::kAllOfFiles);
  table.files("--validation-y", data.validation.y, "their labels").of_command_alone(SetBy::kAllOfFiles);
  declare_public_rows(table, data,
                      fmt::format("; with --method {} the prototypes to choose from",
                                  methods_where([](const MethodEntry& method) { return method.chooses_public_rows; })));
  table.number("--imbalance-ratio", data.imbalance_ratio,
               "for experiments: train on a long-tailed subset of the rows, with a share R^(-c / (K - 1)) of class c; "
               "order and shares of classes are treated as public",
               Option().from(1, kLargestImbalance).typed("R").without_default());
  table.count("--imbalance-seed", data.imbalance_seed, "seed of that subset; default: 1");
  declare_labels(table, data);
}

// Declares what may be spent, and where that is recorded.
void declare_privacy(OptionTable& table, PrivacyOptions& privacy, bool may_be_exact = false) {
  table.begin_group("Privacy");
  declare_budget(table, privacy.budget);
  if (may_be_exact) {
    table.flag("--non-private", privacy.budget.non_private, "no noise and no guarantee: for comparison only")
        .not_over_network("silos would send exact sums");
  }
  table.choice("--adjacency", privacy.adjacency, "relation of neighboring data sets").of_sweeps();
  table.count("--seed", privacy.seed, "repeatable noise; the run is then NOT private")
      .not_over_network("anyone who knows the seed can remove the noise");
  table.file("--ledger", privacy.ledger,
             "file that records each release before it is made; each silo has its own: {rank} is replaced, or silo 3 "
             "has ledger-silo3.jsonl",
             Option().written().said(SetBy::kParty));
  table.number("--budget-epsilon", privacy.limit_epsilon,
               "limit of the data set for all runs on this ledger together; beyond it a run is refused (exit 4); each "
               "silo has its own",
               Option().said(SetBy::kParty));
  table.number("--budget-delta", privacy.limit_delta, "goes with --budget-epsilon").said(SetBy::kParty);
  table.flag("--resume", privacy.resume,
             "resume the killed run on this ledger with the same options: its releases are reused, and only the rest "
             "is charged; without such a run, start a new one");
  table.begin_group("");
}

void declare_output(OptionTable& table, OutputOptions& output, bool has_model) {
  table.begin_group("Output");
  const std::size_t first = table.options().size();
  table.file("--out", output.out, has_model ? "the model" : "the statistics").written();
  table.file("--report", output.report, "JSON report").written();
  table.file("--html", output.html, "HTML page: the report and the ledger in words, tables and charts").written();
  table.file("--metrics", output.metrics,
             "JSON lines, appended during the run: phase, round, norms of each release and of its noise, budget spent",
             Option().written());
  table.file("--timings", output.timings, "JSON, readable by its owner alone: the seconds of each phase and rank")
      .written();
  table.flag("--overwrite", output.overwrite, "replace existing files: model, report, page, metrics, timings");
  table.flag("--quiet", output.quiet, "print no progress and no summary; warnings and errors stay");
  for (std::size_t own = first; own < table.options().size(); ++own) {
    table.options()[own].of_command_alone(SetBy::kCoordinator);
  }
  table.flag("--dry-run", output.dry_run, "print noise plan, expected error and cost; read no rows, spend nothing")
      .of_command_alone(SetBy::kCommandLine);
  table.begin_group("");
}

void declare_silos(OptionTable& table, SiloOptions& silos) {
  constexpr const char* kReal = "the network is real, not simulated";
  table.begin_group(kSilosGroup);
  table.flag("--secure-aggregation", silos.secure_aggregation,
             "masked sums: rank 0 is a coordinator without rows, every other rank a silo with files of its own",
             Option().of_command_alone().of_parties());
  if (table.find("--threshold") == nullptr) {
    table.count("--threshold", silos.threshold, "silos that must stay to the end; default: more than two thirds")
        .of_command_alone();
  }
  table.choice("--noise", silos.noise,
               "party that adds noise: the coordinator, which could then see the exact sum, or each silo a share",
               Option().of_command_alone());
  table.count("--colluding", silos.colluding,
              "silos that may collude with the coordinator without revealing the others' sums",
              Option().of_command_alone());
  table.count(
      "--silos-per-person", silos.silos_per_person,
      "the most silos that have rows of one person, declared and public: each silo clips a person's rows to B / "
      "S; default: all silos",
      Option().at_least(1).typed("S"));
  table.number("--silo-timeout", silos.timeout_seconds,
               "longest time for a message of a silo; a silo that is alive but later ends the run for all",
               Option().from(kShortestTimeout, kLongestTimeout).typed("SECONDS").of_command_alone());
  table.file("--roster", silos.roster, "TOML file: names and public keys of all parties; default: a simulation",
             Option().of_command_alone(SetBy::kParty).of_parties());
  table.file("--identity", silos.identity, "identity of this party, from dpreduce keygen; {rank} is replaced",
             Option().of_command_alone(SetBy::kParty).of_parties());
  table.file("--silo-config", silos.own_options,
             "TOML file of this party alone: paths of its rows, identity, log, ledger and budget; {rank} is replaced",
             Option().of_command_alone(SetBy::kCommandLine).of_parties());
  table.file("--log", silos.log, "log of this party, for its owner; {rank} is replaced",
             Option().written().of_command_alone(SetBy::kParty));
  table.number(
      "--round-trip", silos.round_trip_ms, "for simulations: round trip time of each silo's connection; default: none",
      Option().from(0, 1e3 * kLongestTimeout).typed("MS").of_command_alone(SetBy::kParty).not_over_network(kReal));
  table
      .number("--bandwidth", silos.bandwidth_mbit,
              "for simulations: bandwidth of each silo's connection; default: unlimited")
      .from(kLeastMegabits, kMostMegabits)
      .typed("MBIT")
      .of_command_alone(SetBy::kParty)
      .not_over_network(kReal);
  table.number(
      "--packet-loss", silos.packet_loss_percent,
      "for simulations: share of packets lost, which lowers the throughput of TCP; default: none",
      Option().from(0, kMostPercentLost).typed("PERCENT").of_command_alone(SetBy::kParty).not_over_network(kReal));
  table.begin_group("");
}

// Declares what every run has: a fit, which may be exact and leaves a model, or a release of statistics.
void declare_run(OptionTable& table, FitOptions& options, bool is_fit) {
  declare_privacy(table, options.privacy, is_fit);
  declare_output(table, options.output, is_fit);
  declare_silos(table, options.silos);
  declare_format(table, options.output.format);
  table.count("--threads", options.machine.threads, "threads per rank; default: all cores, or 1 under mpirun",
              Option().from(0, kMostThreads).without_default().said(SetBy::kParty).of_sweeps());
  table.count("--memory", options.machine.memory_mib,
              "memory for the rows of a rank; default: 64; with rounds or class Gram matrices half of the free memory, "
              "at most 4096 (with less, rows are read again)",
              Option().from(1, kMostMemoryMib).typed("MIB").said(SetBy::kParty));
}

}  // namespace

void declare_given_budget(OptionTable& table, GivenBudget& budget) {
  constexpr const char* kGroup = "Privacy";
  table.number("--epsilon", budget.epsilon, "privacy budget, with --delta").in_group(kGroup);
  table.number("--delta", budget.delta, "at most 1 / (10 n) for a public n of your data's size").in_group(kGroup);
  table.number("--rho", budget.rho, "privacy budget in zCDP").in_group(kGroup);
  table.number("--mu", budget.mu, "privacy budget in Gaussian DP").in_group(kGroup);
  for (const auto& [own, other] : {std::pair{"--epsilon", "--rho"}, {"--epsilon", "--mu"}, {"--rho", "--mu"}}) {
    table.excludes(own, other, "both are privacy budgets; give exactly one");
  }
}

void declare_budget(OptionTable& table, BudgetOptions& budget) {
  declare_given_budget(table, budget);
  table.choice("--accountant", budget.accountant,
               "method of accounting between epsilon, delta and the noise; gdp and pld are exact",
               Option().in_group("Privacy"));
}

void declare_evaluation(OptionTable& table, FitOptions& options, const char* metrics) {
  EvaluationTerms& terms = options.evaluation.terms;
  RowFiles& rows = options.data.train;
  table.flag("--public-model", options.evaluation.models_are_public,
             "for a private evaluation: declare that the model is public; without it, the metrics of a model that is "
             "not private are not private");
  table.files("--group", rows.group,
              "for a private evaluation: group of each row; the accuracy of each group is reported",
              Option().of_command_alone(SetBy::kParty));
  table.count("--groups", rows.groups, "groups are the integers from 0 to G-1: public knowledge",
              Option().typed("G").without_default());
  table
      .add({.names = "--group-names",
            .help = "public list of groups, one name per line: sets --groups, and groups may be given by name",
            .type = "FILE",
            .read = [&rows](const std::vector<std::string>& list) { rows.group_names = list; },
            .list_in_file = [](const std::string& path) { return read_class_names(path, "--group-names"); }})
      .of_command_alone(SetBy::kParty);
  table.add({.names = metrics,
             .help = "for a private evaluation: a list of accuracy, recall (and balanced accuracy), precision, "
                     "confusion, topk, logloss, brier, calibration, auc, roc; for label sets f1; for numbers r2, rmse; "
                     "default: accuracy,recall, with --max-labels f1, for numbers r2,rmse",
             .type = "LIST",
             .read = [&terms, metrics](const std::vector<std::string>& words) {
               terms.metrics = metrics_of(words.back(), metrics);
             }});
  table
      .add({.names = "--class-groups",
            .help = "a group from 0 for each class, in order: the confusion matrix is reported by these groups; public",
            .type = "FILE",
            .read =
                [&groups = terms.class_groups](const std::vector<std::string>& words) {
                  groups.clear();
                  for (const std::string& word : words) {
                    groups.push_back(read_count("--class-groups", word, kMostGroups));
                  }
                },
            .list_in_file = read_class_groups})
      .of_command_alone(SetBy::kParty);
  if (table.find("--max-labels") == nullptr) {
    table.count("--max-labels", options.data.max_labels,
                "with --private, k: largest number of classes of a row, for labels of n x K zeros and ones; public");
  }
  table.count("--max-predicted", terms.most_predicted,
              "m: largest number of predicted classes of a row, by score, among those above the model's threshold; "
              "default: k",
              Option().typed("M").without_default());
  table.number("--score-threshold", terms.threshold,
               "for f1: threshold of the score from which a class is predicted; default: the model's",
               Option().finite().of_command_alone());
  table.count("--positive", terms.positive,
              "for auc and roc: the class that is compared with all others; default: 1 of two",
              Option().typed("CLASS"));
  if (table.find("--expected-rows") == nullptr) {
    table.number("--expected-rows", options.method.expected_rows,
                 "approximate number of test rows, if it is public: above 10,000 auc and roc use finer bins",
                 Option().from(1, kMostExpectedRows).typed("N"));
  }
  table.number("--level", options.evaluation.level, "for a private evaluation: coverage probability of each interval",
               Option().from(0.5, 0.999999).typed("P"));
}

void declare_private_evaluation(OptionTable& table, FitOptions& options) {
  declare_persons(table, options.data, "--test-person");
  declare_privacy(table, options.privacy);
  declare_silos(table, options.silos);
}

void declare_fit(OptionTable& table, FitOptions& options) {
  declare_data(table, options);
  declare_method(table, options.method);
  declare_rows(table, options.rows);
  declare_choice(table, options.method);
  declare_run(table, options, true);
  choose_accountant(table, options.privacy.budget, options.method.batch);
}

void declare_release(OptionTable& table, FitOptions& options) {
  declare_training_rows(table, options.data);
  declare_target_range(table, options.data);
  declare_public_rows(table, options.data, "");
  declare_labels(table, options.data);
  declare_rows(table, options.rows);
  table.number("--gram-share", options.method.gram_share, "share of mu^2 for Gram matrices, the rest is for class sums")
      .in_group(kMethodGroup);
  declare_run(table, options, false);
}

std::string agreed_options(const OptionTable& fit, const std::vector<std::string>& class_names) {
  std::string agreed;
  for (const Option& option : fit.options()) {
    const bool names_files = option.set_by == SetBy::kAllOfFiles;
    if (!option.is_given() || (option.set_by != SetBy::kAll && !names_files)) continue;
    if (option.is_named("classes") && !class_names.empty()) continue;  // the list says it
    agreed += option.long_name();
    for (const std::string& word : names_files ? std::vector<std::string>{"given"} : option.given) {
      agreed += " " + plain(word);
    }
    agreed += '\n';
  }
  // Each party has a file of its own; what it says must be the same. A name holds no tab and no end of a line.
  if (!class_names.empty()) agreed += fmt::format("class-names\t{}\n", fmt::join(class_names, "\t"));
  return agreed;
}

}  // namespace dpreduce
