// Labels, sets of labels, scores and probabilities of new rows, or numbers where the model predicts these.
//
//     labels alone            each rank predicts its share of the rows; labels are gathered in rank order, which is
//                             the order of the rows
//     with scores, sets or    n x K numbers may not fit into memory: the coordinator reads all rows, and writes what it
//     probabilities           makes of their scores, labels among it, as it goes
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "commands/commands.hpp"
#include "commands/evaluation.hpp"
#include "common/base/csv_writer.hpp"
#include "common/base/error.hpp"
#include "common/base/public_names.hpp"
#include "common/data/npy_writer.hpp"
#include "common/data/row_files.hpp"
#include "common/data/worker_rows.hpp"
#include "common/model/classifier_file.hpp"
#include "common/ranks/lifetime.hpp"
#include "fit/ranked_rows.hpp"

namespace dpreduce {
namespace {

struct PredictOptions {
  std::string model;
  std::vector<std::string> x;
  std::string out;
  std::optional<std::string> scores;         // a file of their own; empty: --out gets them instead of labels
  std::optional<std::string> probabilities;  // likewise
  std::optional<std::size_t> top_k;          // classes a row, instead of one
  bool sets = false;                         // zeros and ones, instead of one class a row
  std::optional<double> threshold;           // of sets; empty: the model's
  BadRows bad_rows = BadRows::kFail;
  bool overwrite = false;  // replace what is there already
};

// The files that are written, each with the option that names it.
std::vector<NamedPath> prediction_files(const PredictOptions& options) {
  std::vector<NamedPath> files;
  for (const auto& [option, path] : {std::pair<const char*, std::string>{"--out", options.out},
                                     {"--scores", options.scores.value_or("")},
                                     {"--probabilities", options.probabilities.value_or("")}}) {
    if (!path.empty()) files.push_back({option, path});
  }
  return files;
}

PredictOptions validated(PredictOptions options) {
  const bool has_bare_scores = options.scores == "";
  const bool has_bare_probabilities = options.probabilities == "";
  if (options.out.empty()) {
    if (has_bare_scores) throw UsageError("--scores needs --out, or a file of its own");
    if (has_bare_probabilities) throw UsageError("--probabilities needs --out, or a file of its own");
    if (options.sets) throw UsageError("--sets needs --out");
  }
  if (int{has_bare_scores} + int{has_bare_probabilities} + int{options.sets} + int{options.top_k.has_value()} > 1) {
    throw UsageError(
        "--scores, --probabilities, --sets and --top-k cannot share one file; give one, or --scores FILE and "
        "--probabilities FILE");
  }
  for (const auto& [option, path] : prediction_files(options)) require_table_path(option, path);
  return options;
}

Existing existing(const PredictOptions& options) {
  return options.overwrite ? Existing::kReplace : Existing::kKeep;
}

// The file that gets the scores, or the probabilities; empty where none does.
std::string file_of(const std::optional<std::string>& asked, const PredictOptions& options) {
  return asked && asked->empty() ? options.out : asked.value_or("");
}

// Returns whether --out gets labels, and not something in their place.
bool writes_labels(const PredictOptions& options) {
  return !options.out.empty() && !options.sets && options.scores != "" && options.probabilities != "";
}

// The rows of this rank of so many, which are not what is written.
WorkerRows open_features(const PredictOptions& options, const Classifier& classifier, int rank, int ranks) {
  WorkerRows rows = open_rows_for(classifier, options.model, {options.x, {}, options.bad_rows}, rank, ranks);
  require_not_read(prediction_files(options), rows);
  return rows;
}

// For each row the class of the largest score, or the classes of the largest.
std::vector<std::int32_t> labels_of(std::span<const double> scores, std::size_t classes,
                                    const std::optional<std::size_t>& top_k) {
  std::vector<std::int32_t> labels;
  for (std::size_t first = 0; first < scores.size(); first += classes) {
    const std::span<const double> row = scores.subspan(first, classes);
    if (!top_k) {
      labels.push_back(argmax(row));
      continue;
    }
    const auto best = largest_classes(row, *top_k);
    labels.insert(labels.end(), best.begin(), best.end());
  }
  return labels;
}

void print_labels(std::span<const std::int32_t> labels, std::size_t per_row, std::span<const std::string> names) {
  const char separator = names.empty() ? ' ' : '\t';  // names hold no tab, but may hold spaces
  for (std::size_t place = 0; place < labels.size(); ++place) {
    const bool is_last = (place + 1) % per_row == 0;
    fmt::print("{}{}", name_of_class(names, static_cast<std::size_t>(labels[place])), is_last ? '\n' : separator);
  }
}

// Predictions of n rows as a table: .csv, whose first line names the columns, or .npy. It appears whole or not at all.
class PredictionFile {
 public:
  // The classes of each row: `per_row`, the best first, or one where it is 0. In .npy their numbers (int64, n, or n x
  // per_row), in .csv their names where the model has them.
  static PredictionFile of_labels(const std::string& path, const Classifier& classifier, std::uint64_t rows,
                                  std::size_t per_row, Existing existing) {
    std::vector<std::string> columns;
    for (std::size_t place = 1; place <= per_row; ++place) columns.push_back(fmt::format("label_{}", place));
    if (per_row == 0) columns = {"label"};
    PredictionFile file(path, columns, DType::kInt64, per_row == 0 ? Shape{rows} : Shape{rows, per_row}, existing);
    file.class_names_ = classifier.parts().class_names;
    return file;
  }
  // A number for each class: float32, or uint8 where `dtype` says so. In .csv a column has the name of its class, or
  // class_K.
  static PredictionFile of_classes(const std::string& path, const Classifier& classifier, DType dtype,
                                   std::uint64_t rows, Existing existing) {
    std::vector<std::string> columns = classifier.parts().class_names;
    for (std::size_t k = columns.size(); k < classifier.classes(); ++k) columns.push_back(fmt::format("class_{}", k));
    return {path, columns, dtype, Shape{rows, classifier.classes()}, existing};
  }

  // A number for each target, float64; n x 1 where there is one in .csv, n in .npy.
  static PredictionFile of_targets(const std::string& path, const Classifier& classifier, std::uint64_t rows,
                                   Existing existing) {
    const std::size_t count = classifier.classes();
    std::vector<std::string> columns{"target"};
    if (count > 1) columns.clear();
    for (std::size_t t = 0; count > 1 && t < count; ++t) columns.push_back(fmt::format("target_{}", t));
    return {path, columns, DType::kFloat64, count > 1 ? Shape{rows, count} : Shape{rows}, existing};
  }

  // The next elements, row by row: classes, float32, or zeros and ones.
  void append(std::span<const std::int32_t> classes) {
    if (npy_) return npy_->append(classes);
    for (const std::int32_t k : classes) csv_->add(name_of_class(class_names_, static_cast<std::size_t>(k)));
  }
  void append(std::span<const float> numbers) {
    if (npy_) return npy_->append(numbers);
    for (const float number : numbers) csv_->add(number);
  }
  void append(std::span<const double> numbers) {
    if (npy_) return npy_->append_stored(std::as_bytes(numbers));
    for (const double number : numbers) csv_->add(number);
  }
  void append_sets(std::span<const std::byte> sets) {
    if (npy_) return npy_->append_stored(sets);
    for (const std::byte entry : sets) csv_->add(std::to_integer<std::int64_t>(entry));
  }

  // Precondition (asserted): all rows are there.
  void commit() { npy_ ? npy_->commit() : csv_->commit(); }

 private:
  PredictionFile(const std::string& path, const std::vector<std::string>& columns, DType dtype, const Shape& shape,
                 Existing existing) {
    if (is_csv(path)) {
      csv_ = std::make_unique<CsvWriter>(path, columns, existing);
    } else {
      npy_ = std::make_unique<NpyWriter>(path, dtype, shape, existing);
    }
  }

  std::unique_ptr<NpyWriter> npy_;  // one of the two
  std::unique_ptr<CsvWriter> csv_;
  std::vector<std::string> class_names_;
};

// Labels fit the memory of the coordinator (4 bytes each).
void predict_labels(const PredictOptions& options, Communicator& ranks, const Classifier& classifier) {
  const std::size_t per_row = options.top_k.value_or(1);
  std::vector<std::int32_t> labels;
  ranks.together([&] {
    WorkerRows rows = open_features(options, classifier, ranks.rank(), ranks.size());
    for_each_chunk(ranks, classifier, rows, options.bad_rows, [&](const RowChunk&, std::span<const float> features) {
      const std::vector<std::int32_t> predicted =
          options.top_k
              ? labels_of(classifier.predict_scores(features, default_threads()), classifier.classes(), options.top_k)
              : classifier.predict_labels(features, default_threads());
      labels.insert(labels.end(), predicted.begin(), predicted.end());
    });
  });
  const std::vector<std::int32_t> all = ranks.gather_to_coordinator(labels);
  ranks.at_coordinator([&] {
    if (options.out.empty()) return print_labels(all, per_row, classifier.parts().class_names);
    PredictionFile file = PredictionFile::of_labels(options.out, classifier, all.size() / per_row,
                                                    options.top_k.value_or(0), existing(options));
    file.append(std::span<const std::int32_t>(all));
    file.commit();
  });
}

// The files that are made of scores, or of predicted numbers, which go to standard output where there is none.
class ScoreFiles {
 public:
  ScoreFiles(const PredictOptions& options, const Classifier& classifier, std::optional<double> threshold,
             std::uint64_t rows)
      : options_(options), classifier_(classifier), threshold_(threshold) {
    if (classifier.predicts_numbers()) {
      if (options.out.empty()) return;
      numbers_.emplace(PredictionFile::of_targets(options.out, classifier, rows, existing(options)));
      return;
    }
    const auto open = [&](std::optional<PredictionFile>& file, const std::string& path, DType dtype) {
      if (!path.empty()) file.emplace(PredictionFile::of_classes(path, classifier, dtype, rows, existing(options)));
    };
    open(scores_, file_of(options.scores, options), DType::kFloat32);
    open(probabilities_, file_of(options.probabilities, options), DType::kFloat32);
    if (options.sets) open(sets_, options.out, DType::kUint8);
    if (writes_labels(options)) {
      labels_.emplace(
          PredictionFile::of_labels(options.out, classifier, rows, options.top_k.value_or(0), existing(options)));
    }
  }

  // Labels and sets are decided by exact scores. Those that are written are rounded to float32, which may put a score
  // on the other side of the threshold.
  void append(std::vector<double> scores) {
    if (classifier_.predicts_numbers()) return append_numbers(scores);
    if (labels_) labels_->append(labels_of(scores, classifier_.classes(), options_.top_k));
    if (sets_) sets_->append_sets(sets_of(scores));
    if (scores_) scores_->append(std::vector<float>(scores.begin(), scores.end()));
    if (!probabilities_) return;
    for (std::size_t first = 0; first < scores.size(); first += classifier_.classes()) {
      classifier_.to_probabilities(std::span(scores).subspan(first, classifier_.classes()));
    }
    probabilities_->append(std::vector<float>(scores.begin(), scores.end()));
  }

  void commit() {
    for (std::optional<PredictionFile>* file : {&numbers_, &labels_, &sets_, &scores_, &probabilities_}) {
      if (*file) (*file)->commit();
    }
  }

 private:
  void append_numbers(std::span<const double> numbers) {
    if (numbers_) return numbers_->append(numbers);
    for (std::size_t place = 0; place < numbers.size(); ++place) {
      fmt::print("{}{}", numbers[place], (place + 1) % classifier_.classes() == 0 ? '\n' : ' ');
    }
  }

  std::vector<std::byte> sets_of(std::span<const double> scores) const {
    std::vector<std::byte> sets(scores.size());
    std::transform(scores.begin(), scores.end(), sets.begin(),
                   [&](double score) { return score >= threshold_.value() ? std::byte{1} : std::byte{0}; });
    return sets;
  }

  const PredictOptions& options_;
  const Classifier& classifier_;
  std::optional<double> threshold_;
  std::optional<PredictionFile> numbers_;
  std::optional<PredictionFile> labels_;
  std::optional<PredictionFile> sets_;
  std::optional<PredictionFile> scores_;
  std::optional<PredictionFile> probabilities_;
};

// Numbers in place of classes are scores as well. The coordinator reads all rows, and writes as it goes.
void predict_of_scores(const PredictOptions& options, Communicator& ranks, const Classifier& classifier,
                       std::optional<double> threshold) {
  ranks.at_coordinator([&] {
    WorkerRows rows = open_features(options, classifier, 0, 1);
    ScoreFiles files(options, classifier, threshold, rows.range().count);
    for_each_chunk(ranks, classifier, rows, options.bad_rows, [&](const RowChunk&, std::span<const float> features) {
      files.append(classifier.predict_scores(features, default_threads()));
    });
    files.commit();
  });
}

void require_options_of_numbers(const PredictOptions& options) {
  for (const auto& [is_given, option] :
       {std::pair{options.scores.has_value(), "--scores"},
        std::pair{options.probabilities.has_value(), "--probabilities"},
        std::pair{options.top_k.has_value(), "--top-k"}, std::pair{options.sets, "--sets"}}) {
    if (!is_given) continue;
    throw UsageError("{}: {} predicts numbers, and has no classes; leave it out", option, options.model);
  }
}

std::optional<double> threshold_of(const PredictOptions& options, const Classifier& classifier) {
  const std::optional<double> threshold = options.threshold ? options.threshold : classifier.parts().threshold;
  if (options.sets && !threshold) {
    throw UsageError(
        "--sets: {} has no threshold, since its scores only rank classes; give one with --threshold, or use --top-k",
        options.model);
  }
  return threshold;
}

void require_probabilities(const PredictOptions& options, const Classifier& classifier) {
  if (!options.probabilities || classifier.parts().link) return;
  throw UsageError(
      "--probabilities: {} has none: scores of method {} only rank classes (or an older dpreduce wrote "
      "it); use --scores, or fit with a method whose loss is softmax or sigmoid, such as auto",
      options.model, classifier.parts().method);
}

void run(const PredictOptions& options, Communicator& ranks) {
  std::optional<Classifier> classifier;
  std::optional<double> threshold;
  std::optional<WorkerRows> rows;
  ranks.together([&] {
    classifier.emplace(load_classifier(options.model));
    if (classifier->predicts_numbers()) require_options_of_numbers(options);
    require_top_k(options.top_k, classifier->classes());
    require_probabilities(options, *classifier);
    threshold = threshold_of(options, *classifier);
    rows.emplace(open_features(options, *classifier, ranks.rank(), ranks.size()));
    if (!ranks.is_coordinator()) return;
    for (const NamedPath& output : prediction_files(options)) AtomicFile check_writable(output.path, existing(options));
  });
  agree_on_columns(*rows, ranks);  // refused before anything is written
  rows.reset();
  if (classifier->predicts_numbers() || options.scores || options.probabilities || options.sets) {
    predict_of_scores(options, ranks, *classifier, threshold);
  } else {
    predict_labels(options, ranks, *classifier);
  }
}

}  // namespace

CommandEntry predict_command() {
  const auto options = std::make_shared<PredictOptions>();
  CommandEntry command{.name = "predict", .help = "labels for new features"};
  OptionTable& table = command.options;
  table.file("--model", options->model, "written by fit").required();
  table.files("--x,--test-x", options->x, "features").required();
  table
      .file("--out", options->out,
            "labels as .npy (int64) or .csv (names if the model has them), or predicted numbers (float64); default, "
            "without other output files: one per line on standard output")
      .written();
  table.flag("--overwrite", options->overwrite, "replace existing files");
  table
      .optional_text("--scores", options->scores,
                     "write the n x K scores, .npy (float32) or .csv; without FILE: to --out, instead of labels")
      .typed("FILE")
      .written();
  table
      .optional_text("--probabilities", options->probabilities,
                     "write the n x K probabilities likewise; the model's loss must be softmax or sigmoid")
      .typed("FILE")
      .written();
  table.count("--top-k", options->top_k, "the k classes of the largest scores, best first, instead of one").at_least(1);
  table.flag(
      "--sets", options->sets,
      "write n x K zeros and ones to --out instead of labels: ones for scores at or above the model's threshold");
  table.number("--threshold", options->threshold, "with --sets: this threshold instead of the model's").finite();
  table.needs("--threshold", "--sets");
  table.choice("--bad-rows", options->bad_rows, "rows with NaN or infinity: stop, or score them as zero rows");
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce predict --model model.safetensors --x new.npy --out labels.csv\n"
      "  dpreduce predict --model model.safetensors --x new.h5:/features --out labels.npy --probabilities p.csv\n"
      "  dpreduce predict --model model.safetensors --x new.npy --scores --out scores.npy\n"
      "  dpreduce predict --model model.safetensors --x new.npy --sets --out sets.npy";
  command.chosen = [options](const ParsedCommand&) { return by_all_ranks(run, validated(*options)); };
  return command;
}

}  // namespace dpreduce
