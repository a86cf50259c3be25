// `dpreduce evaluate`: accuracy of a model, exact for the owner of test rows, or private.
#include <numeric>

#include "commands/commands.hpp"
#include "commands/evaluation.hpp"
#include "common/base/paths.hpp"
#include "common/base/public_names.hpp"
#include "common/base/version.hpp"
#include "common/model/classifier_file.hpp"
#include "common/ranks/lifetime.hpp"
#include "fit/machine_memory.hpp"
#include "fit/ranked_rows.hpp"
#include "fit/resolved_fit.hpp"
#include "fit/run_cost.hpp"
#include "report/fit_report.hpp"
#include "report/private_evaluation.hpp"
#include "report/reported_metrics.hpp"

namespace dpreduce {
namespace {

struct EvaluateOptions {
  FitOptions run;                    // its training rows are the test rows
  std::vector<std::string> train_y;  // owner's training labels, to tell which classes are the minority
  std::optional<std::size_t> top_k;  // of label sets: precision and recall of so many scores a row
  std::optional<double> threshold;   // of label sets; empty: the model's
  bool is_private = false;           // figures with noise, charged on a ledger

  const RowFiles& rows() const { return run.data.train; }
  const std::string& model() const { return run.evaluation.files.front(); }
};

// Run of a private evaluation. --threshold is of the score, or of silos.
FitOptions private_run(const EvaluateOptions& options) {
  FitOptions run = options.run;
  run.method.top_k = options.top_k;
  if (options.threshold && run.silos.secure_aggregation) {
    run.silos.threshold = read_count("--threshold", fmt::format("{}", *options.threshold), kMostSilos);
  } else if (options.threshold) {
    run.evaluation.terms.threshold = options.threshold;
  }
  return run;
}

constexpr const char* kExact = "without it metrics are exact, for the owner of the rows";
constexpr const char* kOneClassARow =
    "--train-y: minority accuracy is about rows of one class; leave it out for n x K labels";

// Share of each class among the owner's training labels, over all ranks. Collective.
std::vector<double> training_shares(const EvaluateOptions& options, Communicator& ranks, const Classifier& classifier) {
  const std::size_t classes = classifier.classes();
  std::vector<std::uint64_t> counts(classes, 0);
  ranks.together([&] {
    const bool own_files = paths_are_per_worker(options.train_y);
    ShardedArray labels(expand_paths(options.train_y, static_cast<std::size_t>(ranks.rank())), ArrayRole::kLabels,
                        named_classes(classifier.parts().class_names));
    if (labels.columns() > 1) throw UsageError(kOneClassARow);
    const RowRange range = own_files ? RowRange{0, labels.rows()}
                                     : even_share(labels.rows(), static_cast<std::size_t>(ranks.rank()),
                                                  static_cast<std::size_t>(ranks.size()));
    counts = label_counts(labels, range, classes, ranks);
  });
  ranks.sum_everywhere(counts);
  return {counts.begin(), counts.end()};
}

// Figures of the report, those of at most so many classes.
std::string figures_text(const nlohmann::json& json) {
  constexpr std::size_t kMostClassesToList = 20;
  const JsonFields report(json, "report");
  const std::vector<std::string> class_names = report.texts("class_names");
  Facts facts = exact_figures(report);
  for (Fact& score : facts_of(report, {{"threshold", "F1 at score"}})) facts.push_back(std::move(score));
  if (const std::size_t left_out = report.numbers("classes_without_positives").size(); left_out > 0) {
    facts.push_back({"left out", fmt::format("{} classes without a test row, of the means over classes", left_out)});
  }
  if (report.has("per_target_r2")) facts.push_back({"targets", "the JSON report has all of them"});
  const Table classes = class_figures(report, class_names, true, kMostClassesToList);
  std::string text = text_of(facts) + text_of(classes);
  if (!report.has("confusion_matrix")) return text;
  std::vector<std::string> names;
  for (std::size_t c = 0; c < json["confusion_matrix"].size(); ++c) names.push_back(name_of_class(class_names, c));
  if (names.size() > kMostClassesToList)
    return text + "more classes, and the confusion matrix, are in the JSON report\n";
  return text + text_of(confusion_table(report, "confusion_matrix", names, true));
}

// The report of `ranks` ranks, as JSON.
nlohmann::json report_of(const TestFigures& figures, const std::vector<double>& shares, const Classifier& classifier,
                         int ranks) {
  nlohmann::json report = test_json(figures, shares, kMostClassesInMatrix);
  if (!classifier.parts().class_names.empty()) report["class_names"] = classifier.parts().class_names;
  report["method"] = classifier.parts().method;
  report["ranks"] = ranks;
  report["version"] = version();
  if (!shares.empty()) {
    report["minority_note"] =
        "minority classes follow from the exact sizes of the training classes: for the data's owner only";
  }
  return report;
}

// Refuses options that are about the other form of labels: one class a row, or sets of classes.
void require_labels_for(const EvaluateOptions& options, bool has_one_class) {
  if (!has_one_class && !options.train_y.empty()) throw UsageError(kOneClassARow);
  if (has_one_class && (options.top_k || options.threshold)) {
    throw UsageError("{}: --y has one class index a row; leave it out, or give zeros and ones, n x K",
                     options.top_k ? "--top-k" : "--threshold");
  }
}

// Throws UsageError where testing the model does not fit into this rank's memory. Labels of all ranks' rows are counted
// where rows have several. Collective.
void require_room(const Classifier& classifier, WorkerRows& rows, Communicator& ranks) {
  const std::size_t classes = classifier.classes();
  std::uint64_t labels = 0;
  if (ranks.max_everywhere(rows.has_label_sets() ? 1.0 : 0.0) > 0.0) {
    std::vector<std::uint64_t> counts(classes, 0);
    ranks.together([&] { counts = label_counts(rows.labels(), rows.range(), classes, ranks); });
    ranks.sum_everywhere(counts);
    labels = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
  const MachineShare machine = machine_share(ranks);
  ranks.together([&] {
    const ClassifierParts& parts = classifier.parts();
    const TestedModel model{.input_dim = classifier.input_dim(),
                            .dim = parts.weights.size() / classes,
                            .classes = classes,
                            .labels_per_row = rows.label_slots(classes),
                            .heads = parts.cosine_head.empty() ? std::size_t{1} : std::size_t{2},
                            .threads = default_threads()};
    machine.require(memory_of_test(model) + labels * kBytesOfTestLabel + rows.held_bytes(), rows.mapped_bytes(),
                    "test fewer rows at a time");
  });
}

void run(const EvaluateOptions& options, Communicator& ranks) {
  const OutputOptions& output = options.run.output;
  std::optional<Classifier> classifier;
  std::optional<WorkerRows> rows;
  ranks.together([&] {
    classifier.emplace(load_classifier(options.model()));
    require_top_k(options.top_k, classifier->classes());
    RowFiles test = options.rows();
    require_kind_of_model(*classifier, test);
    test.class_names = classifier->parts().class_names;
    rows.emplace(open_rows_for(*classifier, options.model(), test, ranks.rank(), ranks.size()));
    const std::array outputs{NamedPath{"--report", output.report}};
    require_not_read(outputs, *rows);
    if (ranks.is_coordinator() && !output.report.empty()) {
      AtomicFile check_writable(output.report, output.overwrite ? Existing::kReplace : Existing::kKeep);
    }
  });
  agree_on_columns(*rows, ranks);
  require_room(*classifier, *rows, ranks);
  const std::vector<double> shares =
      options.train_y.empty() ? std::vector<double>{} : training_shares(options, ranks, *classifier);
  const TestFigures figures = evaluate_on_ranks(ranks, *classifier, *rows, options.rows().bad_rows, default_threads(),
                                                {options.top_k, options.threshold});
  const ClassCounts* counts = std::get_if<ClassCounts>(&figures);
  ranks.together([&] {
    if (!classifier->predicts_numbers()) require_labels_for(options, counts != nullptr);
  });
  ranks.at_coordinator([&] {
    const nlohmann::json report = report_of(figures, shares, *classifier, ranks.size());
    if (!output.report.empty()) {
      AtomicFile file(output.report, output.overwrite ? Existing::kReplace : Existing::kKeep);
      file.commit(json_text(report, 2) + "\n");
    }
    print_result(output.format, report, [&] { return figures_text(report); });
  });
}

void declare(OptionTable& table, EvaluateOptions& options) {
  FitOptions& run_options = options.run;
  run_options.data.train.role = "test";
  OutputOptions& output = run_options.output;
  RowFiles& rows = run_options.data.train;
  table.files("--model", run_options.evaluation.files, "model written by fit; with --private, two models are compared")
      .required()
      .of_command_alone(SetBy::kAllOfFiles);
  table.files("--test-x,--x", rows.x, "features").required().of_own_rows();
  table.files("--test-y,--y", rows.y, "labels, or give --test-targets").required().of_own_rows();
  declare_targets(table, rows, "--test-targets", "--test-y", "numbers, where the model predicts these").of_own_rows();
  table
      .files("--train-y", options.train_y,
             "training labels, for the accuracy on the smallest 25 % of classes (private: for the owner)")
      .of_command_alone();
  table.choice("--bad-rows", rows.bad_rows, "rows with NaN or infinity: stop, or score them as zero rows");
  table.count("--top-k", options.top_k, "n x K labels: precision and recall of the k largest scores of a row")
      .at_least(1);
  table
      .number("--threshold", options.threshold,
              "n x K labels: threshold of the score for F1; default: the model's. With --secure-aggregation: silos "
              "that must stay to the end; default: more than two thirds")
      .finite();
  table.flag("--private", options.is_private,
             "metrics with noise and intervals, charged on --ledger; default: exact metrics, for the owner");
  const std::size_t first_of_noise = table.options().size();
  declare_evaluation(table, run_options, "--metrics");
  declare_private_evaluation(table, run_options);
  for (std::size_t own = first_of_noise; own < table.options().size(); ++own) {
    table.needs(table.options()[own].names, "--private", kExact).if_given();
  }
  table.file("--report", output.report, "JSON report, with the confusion matrix for up to 1024 classes")
      .written()
      .of_command_alone(SetBy::kCoordinator);
  table
      .file("--html", output.html,
            "with --private, HTML page: each metric with its interval, the guarantee, and the ledger")
      .written()
      .of_command_alone(SetBy::kCoordinator);
  table.flag("--overwrite", output.overwrite, "replace an existing report or page")
      .of_command_alone(SetBy::kCoordinator);
  declare_format(table, output.format);
  for (const char* own : {"--html", "--model twice"}) table.needs(own, "--private", kExact);
  table.excludes("--train-y", "--private", "sizes of training classes are exact; leave it out");
  table.needs("--threshold", "--max-labels", "it is about rows of several classes")
      .only_where("--private")
      .but_not_where("--secure-aggregation");
  table.excludes("--threshold", "--score-threshold", "both set the threshold of the score; keep one")
      .but_not_where("--secure-aggregation");
  add_evaluation_rules(table, rows, "--metrics", "--model", "--private");
}

}  // namespace

CommandEntry evaluate_command() {
  return command_reading<EvaluateOptions>(
      "evaluate", "accuracy of a model: overall, balanced, by class, on the minority", declare,
      [](const EvaluateOptions& options, const ParsedCommand& parsed) -> RunnableCommand {
        if (!options.is_private) return by_all_ranks(run, options);
        FitOptions asked = private_run(options);
        take_party(asked.silos, parsed, {});
        return FitCommand{std::move(asked)};
      },
      "  dpreduce evaluate --model model.safetensors --test-x tx.npy --test-y ty.npy\n"
      "  dpreduce evaluate --model model.safetensors --test-x tx.npy --test-targets tt.npy\n"
      "  dpreduce evaluate --private --epsilon 0.5 --delta 1e-6 --model model.safetensors --test-x tx.npy --test-y "
      "ty.npy\n"
      "  mpirun -n 4 dpreduce evaluate --model model.safetensors --test-x 'tx_*.npy' --test-y 'ty_*.npy' --format "
      "json");
}

}  // namespace dpreduce
