// Labels, sets of labels, scores and probabilities of new rows, or numbers where the model predicts these.
//
//     labels alone            each rank predicts its share of the rows; labels are gathered in rank order, which is
//                             the order of the rows
//     with scores, sets or    n x K numbers may not fit into memory: the coordinator reads all rows, and writes what it
//     probabilities           makes of their scores, labels among it, as it goes
#include "commands/commands.hpp"
#include "commands/evaluation.hpp"
#include "common/base/output_file.hpp"
#include "common/base/public_names.hpp"
#include "common/data/npy_writer.hpp"
#include "common/data/row_files.hpp"
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

// Prints so many values a line, each as its word.
template <typename Value, typename Word>
void print_rows(const std::vector<Value>& values, std::size_t per_row, char separator, Word word) {
  for (std::size_t place = 0; place < values.size(); ++place) {
    fmt::print("{}{}", word(values[place]), (place + 1) % per_row == 0 ? '\n' : separator);
  }
}

// Predictions of n rows as a table: .csv, whose first line names the columns, or .npy. It appears whole or not at all.
class PredictionFile {
 public:
  // `dtype` and `shape` are of .npy.
  PredictionFile(const std::string& path, const std::vector<std::string>& columns, DType dtype, const Shape& shape,
                 Existing existing) {
    if (is_csv(path)) {
      csv_ = std::make_unique<CsvWriter>(path, columns, existing);
    } else {
      npy_ = std::make_unique<NpyWriter>(path, dtype, shape, existing);
    }
  }

  // The next numbers, row by row, of the type that the table has.
  template <typename Number>
  void append(const std::vector<Number>& numbers) {
    if (npy_) return npy_->append_stored(std::as_bytes(std::span(numbers)));
    for (const Number number : numbers) csv_->add(number);
  }
  // The next classes: in .npy their numbers (int64), in .csv their names where there are some.
  void append_classes(const std::vector<std::int32_t>& classes, std::span<const std::string> names) {
    if (npy_) return npy_->append(classes);
    for (const std::int32_t k : classes) csv_->add(name_of_class(names, static_cast<std::size_t>(k)));
  }

  // Precondition (asserted): all rows are there.
  void commit() { npy_ ? npy_->commit() : csv_->commit(); }

 private:
  std::unique_ptr<NpyWriter> npy_;  // one of the two
  std::unique_ptr<CsvWriter> csv_;
};

// "NAME_3", "NAME_4", ...
std::vector<std::string> numbered_columns(const char* name, std::size_t first, std::size_t count) {
  std::vector<std::string> columns;
  for (std::size_t number = first; number < first + count; ++number) {
    columns.push_back(fmt::format("{}_{}", name, number));
  }
  return columns;
}

// The table of --out: a column NAME, n, or n x `per_row`, whose first column has that number.
PredictionFile file_of_rows(const PredictOptions& options, const char* name, DType dtype, std::uint64_t rows,
                            std::size_t per_row, std::size_t first) {
  if (per_row == 0) return {options.out, {name}, dtype, {rows}, existing(options)};
  return {options.out, numbered_columns(name, first, per_row), dtype, {rows, per_row}, existing(options)};
}

// The class of each row, or its --top-k classes, the best first.
PredictionFile file_of_labels(const PredictOptions& options, std::uint64_t rows) {
  return file_of_rows(options, "label", DType::kInt64, rows, options.top_k.value_or(0), 1);
}

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
    const std::vector<std::string>& names = classifier.parts().class_names;
    if (options.out.empty()) {
      const char separator = names.empty() ? ' ' : '\t';  // names hold no tab, but may hold spaces
      return print_rows(all, per_row, separator,
                        [&](std::int32_t k) { return name_of_class(names, static_cast<std::size_t>(k)); });
    }
    PredictionFile file = file_of_labels(options, all.size() / per_row);
    file.append_classes(all, names);
    file.commit();
  });
}

std::vector<std::uint8_t> sets_of(const std::vector<double>& scores, double threshold) {
  std::vector<std::uint8_t> sets(scores.size());
  std::ranges::transform(scores, sets.begin(), [&](double score) { return score >= threshold ? 1 : 0; });
  return sets;
}

std::vector<float> probabilities_of(std::vector<double> scores, const Classifier& classifier) {
  for (std::size_t first = 0; first < scores.size(); first += classifier.classes()) {
    classifier.to_probabilities(std::span(scores).subspan(first, classifier.classes()));
  }
  return {scores.begin(), scores.end()};
}

// A file, and what it gets of the scores of the next rows.
struct ScoreFile {
  PredictionFile file;
  std::function<void(PredictionFile& file, const std::vector<double>& scores)> append;
};

// The files that are made of scores of so many rows, or of predicted numbers. Labels and sets are decided by exact
// scores. Those that are written are rounded to float32, which may put a score on the other side of the threshold.
std::vector<ScoreFile> score_files(const PredictOptions& options, const Classifier& classifier,
                                   std::optional<double> threshold, std::uint64_t rows) {
  const std::size_t classes = classifier.classes();
  const std::vector<std::string>& names = classifier.parts().class_names;
  std::vector<ScoreFile> files;
  if (classifier.predicts_numbers()) {
    if (options.out.empty()) return files;
    files.push_back({file_of_rows(options, "target", DType::kFloat64, rows, classes > 1 ? classes : 0, 0),
                     [](PredictionFile& file, const std::vector<double>& numbers) { file.append(numbers); }});
    return files;
  }
  if (writes_labels(options)) {
    files.push_back({file_of_labels(options, rows),
                     [&options, &classifier](PredictionFile& file, const std::vector<double>& scores) {
                       file.append_classes(labels_of(scores, classifier.classes(), options.top_k),
                                           classifier.parts().class_names);
                     }});
  }
  const auto add = [&](const std::string& path, DType dtype, auto made_of) {
    if (path.empty()) return;
    files.push_back(
        {PredictionFile(path, names.empty() ? numbered_columns("class", 0, classes) : names, dtype,
                        Shape{rows, classes}, existing(options)),
         [made_of](PredictionFile& file, const std::vector<double>& scores) { file.append(made_of(scores)); }});
  };
  add(options.sets ? options.out : "", DType::kUint8,
      [threshold](const std::vector<double>& scores) { return sets_of(scores, threshold.value()); });
  add(file_of(options.scores, options), DType::kFloat32,
      [](const std::vector<double>& scores) { return std::vector<float>(scores.begin(), scores.end()); });
  add(file_of(options.probabilities, options), DType::kFloat32,
      [&classifier](const std::vector<double>& scores) { return probabilities_of(scores, classifier); });
  return files;
}

// Numbers in place of classes are scores as well, and go to standard output where they have no file. The coordinator
// reads all rows, and writes as it goes.
void predict_of_scores(const PredictOptions& options, Communicator& ranks, const Classifier& classifier,
                       std::optional<double> threshold) {
  ranks.at_coordinator([&] {
    WorkerRows rows = open_features(options, classifier, 0, 1);
    std::vector<ScoreFile> files = score_files(options, classifier, threshold, rows.range().count);
    for_each_chunk(ranks, classifier, rows, options.bad_rows, [&](const RowChunk&, std::span<const float> features) {
      const std::vector<double> scores = classifier.predict_scores(features, default_threads());
      if (files.empty()) print_rows(scores, classifier.classes(), ' ', std::identity());
      for (auto& [file, append] : files) append(file, scores);
    });
    for (ScoreFile& made : files) made.file.commit();
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

void declare(OptionTable& table, PredictOptions& options) {
  table.file("--model", options.model, "written by fit").required();
  table.files("--x,--test-x", options.x, "features").required();
  table
      .file("--out", options.out,
            "labels as .npy (int64) or .csv (names if the model has them), or predicted numbers (float64); default, "
            "without other output files: one per line on standard output")
      .written();
  table.flag("--overwrite", options.overwrite, "replace existing files");
  table
      .optional_text("--scores", options.scores,
                     "write the n x K scores, .npy (float32) or .csv; without FILE: to --out, instead of labels")
      .typed("FILE")
      .written();
  table
      .optional_text("--probabilities", options.probabilities,
                     "write the n x K probabilities likewise; the model's loss must be softmax or sigmoid")
      .typed("FILE")
      .written();
  table.count("--top-k", options.top_k, "the k classes of the largest scores, best first, instead of one").at_least(1);
  table.flag(
      "--sets", options.sets,
      "write n x K zeros and ones to --out instead of labels: ones for scores at or above the model's threshold");
  table.number("--threshold", options.threshold, "with --sets: this threshold instead of the model's").finite();
  table.needs("--threshold", "--sets");
  table.choice("--bad-rows", options.bad_rows, "rows with NaN or infinity: stop, or score them as zero rows");
}

}  // namespace

CommandEntry predict_command() {
  return command_reading<PredictOptions>(
      "predict", "labels for new features", declare,
      [](const auto& options, auto&) { return by_all_ranks(run, validated(options)); },
      "  dpreduce predict --model model.safetensors --x new.npy --out labels.csv\n"
      "  dpreduce predict --model model.safetensors --x new.h5:/features --out labels.npy --probabilities p.csv\n"
      "  dpreduce predict --model model.safetensors --x new.npy --scores --out scores.npy\n"
      "  dpreduce predict --model model.safetensors --x new.npy --sets --out sets.npy");
}

}  // namespace dpreduce
