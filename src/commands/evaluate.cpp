// `dpreduce evaluate`: accuracy of a model.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "commands/evaluation.hpp"
#include "common/base/class_names.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/output_format.hpp"
#include "common/base/version.hpp"
#include "common/data/output_check.hpp"
#include "common/data/row_files.hpp"
#include "common/files/atomic_file.hpp"
#include "common/files/paths.hpp"
#include "common/model/classifier_file.hpp"
#include "common/ranks/lifetime.hpp"
#include "fit/ranked_rows.hpp"

namespace dpreduce {
namespace {

struct EvaluateOptions {
  std::string model;
  RowFiles test;
  std::vector<std::string> train_y;  // owner's training labels, to tell which classes are the minority
  std::optional<std::size_t> top_k;  // of label sets: precision and recall of so many scores a row
  std::optional<double> threshold;   // of label sets; empty: the model's
  std::string report;
  bool overwrite = false;  // replace what is there already
  OutputFormat format = OutputFormat::kText;
};

EvaluateOptions validated(EvaluateOptions options) {
  require_valid_label_set_terms(options.top_k, options.threshold);
  return options;
}

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

void line(const std::string& name, std::optional<double> value) {
  if (value) fmt::print("{:<22} {:.3f}\n", name, *value);
}

void print_text(const LabelSetFigures& figures) {
  const nlohmann::json json = to_json(figures);
  const std::string at_k = figures.top ? fmt::format(" at {}", figures.top->k) : std::string();
  for (const auto& [name, key] :
       {std::pair<std::string, const char*>{"mean average precision", "mean_average_precision"},
        {"hit rate", "hit_rate"},
        {"precision" + at_k, "precision_at_k"},
        {"recall" + at_k, "recall_at_k"},
        {"micro F1", "micro_f1"},
        {"macro F1", "macro_f1"},
        {"F1 at score", "threshold"}}) {
    if (json.contains(key) && json[key].is_number()) line(name, json[key].get<double>());
  }
  const std::size_t left_out = json["classes_without_positives"].size();
  if (left_out > 0) fmt::print("{} classes without a test row are left out of the means over classes\n", left_out);
  fmt::print("per-class figures are in the JSON report\n");
}

void print_text(const ConfusionMatrix& matrix, const std::vector<double>& shares,
                const std::vector<std::string>& class_names) {
  line("accuracy", accuracy(matrix));
  line("balanced accuracy", balanced_accuracy(matrix));
  if (!shares.empty()) line("minority accuracy", minority_accuracy(matrix, shares));
  constexpr std::size_t kMostClassesToList = 20;
  if (matrix.classes() > kMostClassesToList) {
    fmt::print("{} classes: per-class figures and the confusion matrix are in the JSON report\n", matrix.classes());
    return;
  }
  std::vector<std::string> names;
  for (std::size_t c = 0; c < matrix.classes(); ++c) names.push_back(name_of_class(class_names, c));
  std::size_t width = std::string_view("class").size();
  for (const std::string& name : names) width = std::max(width, name.size());
  fmt::print("\n{:>{}}  recall   rows by predicted class, in the order of the lines\n", "class", width);
  for (std::size_t c = 0; c < matrix.classes(); ++c) {
    const std::optional<double> share = recall(matrix, c);
    fmt::print("{:>{}}  {:>6}  ", names[c], width, share ? fmt::format("{:.3f}", *share) : "-");
    for (std::size_t p = 0; p < matrix.classes(); ++p) fmt::print(" {:>6}", matrix.count(c, p));
    fmt::print("\n");
  }
}

// The report of `ranks` ranks, as JSON.
nlohmann::json report_of(const TestFigures& figures, const std::vector<double>& shares, const Classifier& classifier,
                         int ranks) {
  const auto* const matrix = std::get_if<ConfusionMatrix>(&figures);
  nlohmann::json report = matrix != nullptr ? to_json(*matrix, shares) : to_json(figures);
  if (matrix != nullptr) report["confusion_matrix"] = confusion_json(*matrix);
  if (!classifier.parts().class_names.empty()) report["class_names"] = classifier.parts().class_names;
  report["method"] = classifier.parts().method;
  report["ranks"] = ranks;
  report["version"] = version();
  report["note"] = "figures about the test rows: outside the privacy guarantee";
  if (!shares.empty()) {
    report["minority_note"] =
        "which classes are a minority is told by the exact sizes of the training classes: for the data's owner only";
  }
  return report;
}

// Refuses options that are about the other form of labels: one class a row, or sets of classes.
void require_labels_for(const EvaluateOptions& options, bool has_one_class) {
  if (!has_one_class && !options.train_y.empty()) throw UsageError(kOneClassARow);
  if (has_one_class && (options.top_k || options.threshold)) {
    throw UsageError(fmt::format("{}: --y has one class index a row; leave it out, or give zeros and ones, n x K",
                                 options.top_k ? "--top-k" : "--threshold"));
  }
}

void run(const EvaluateOptions& options, Communicator& ranks) {
  std::optional<Classifier> classifier;
  std::optional<WorkerRows> rows;
  ranks.together([&] {
    classifier.emplace(load_classifier(options.model));
    require_top_k(options.top_k, classifier->classes());
    RowFiles test = options.test;
    test.class_names = classifier->parts().class_names;
    rows.emplace(open_rows_for(classifier->input_dim(), test, ranks.rank(), ranks.size()));
    const std::array outputs{NamedPath{"--report", options.report}};
    require_not_read(outputs, *rows);
    if (ranks.is_coordinator() && !options.report.empty()) {
      AtomicFile check_writable(options.report, options.overwrite ? Existing::kReplace : Existing::kKeep);
    }
  });
  const std::vector<double> shares =
      options.train_y.empty() ? std::vector<double>{} : training_shares(options, ranks, *classifier);
  const TestFigures figures = evaluate_on_ranks(ranks, *classifier, *rows, options.test.bad_rows, default_threads(),
                                                {options.top_k, options.threshold});
  const ConfusionMatrix* matrix = std::get_if<ConfusionMatrix>(&figures);
  ranks.together([&] { require_labels_for(options, matrix != nullptr); });
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    const nlohmann::json report = report_of(figures, shares, *classifier, ranks.size());
    if (!options.report.empty()) {
      AtomicFile file(options.report, options.overwrite ? Existing::kReplace : Existing::kKeep);
      file.write(json_text(report, 2) + "\n");
      file.commit();
    }
    if (options.format == OutputFormat::kJson) {
      fmt::print("{}\n", json_text(report, 2));
    } else if (matrix != nullptr) {
      print_text(*matrix, shares, classifier->parts().class_names);
    } else {
      print_text(std::get<LabelSetFigures>(figures));
    }
  });
}

}  // namespace

CommandEntry evaluate_command() {
  const auto options = std::make_shared<EvaluateOptions>();
  CommandEntry command{.name = "evaluate", .help = "accuracy of a model: overall, balanced, by class, on the minority"};
  OptionTable& table = command.options;
  table.file("--model", options->model, "written by fit").required();
  table.files("--test-x,--x", options->test.x, "features").required();
  table.files("--test-y,--y", options->test.y, "labels").required();
  table.files("--train-y", options->train_y,
              "training labels, to tell the smallest 25 % of classes (private: for the owner)");
  table.choice("--bad-rows", options->test.bad_rows, "rows with NaN or infinity: stop, or score them as zero rows");
  table.count("--top-k", options->top_k, "n x K labels: precision and recall of the k largest scores of a row");
  table.number("--threshold", options->threshold,
               "n x K labels: F1 of classes from this score on; default: the model's threshold");
  table.file("--report", options->report, "JSON report with the confusion matrix").written();
  table.flag("--overwrite", options->overwrite, "replace a report that is there already");
  declare_format(table, options->format);
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce evaluate --model model.safetensors --test-x tx.npy --test-y ty.npy\n"
      "  mpirun -n 4 dpreduce evaluate --model model.safetensors --test-x 'tx_*.npy' --test-y 'ty_*.npy' --format json";
  command.chosen = [options](const ParsedCommand&) { return by_all_ranks(run, validated(*options)); };
  return command;
}

}  // namespace dpreduce
