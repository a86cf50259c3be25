#include "commands/command_line/predict_command.hpp"

#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "commands/command_line/command_entry.hpp"
#include "commands/command_line/label_set_terms.hpp"
#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"
#include "common/data/table_path.hpp"

namespace dpreduce {
namespace {

// Each file that is written is a table, and another one than the others.
void check_outputs_apart(const PredictOptions& options) {
  const std::vector<NamedPath> outputs = prediction_files(options);
  for (std::size_t first = 0; first < outputs.size(); ++first) {
    check_table_path(outputs[first].option, outputs[first].path);
    for (std::size_t second = first + 1; second < outputs.size(); ++second) {
      if (!is_same_file(outputs[first].path, outputs[second].path)) continue;
      throw UsageError(fmt::format("{} and {} are both {}: they must be different files", outputs[first].option,
                                   outputs[second].option, outputs[second].path));
    }
  }
}

}  // namespace

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
        "--scores, --probabilities, --sets and --top-k exclude each other in one file; give one, or --scores FILE and "
        "--probabilities FILE");
  }
  check_outputs_apart(options);
  if (options.threshold && !options.sets) throw UsageError("--threshold goes with --sets");
  check_label_set_terms(options.top_k, options.threshold);
  return options;
}

CommandEntry predict_command() {
  const auto options = std::make_shared<PredictOptions>();
  CommandEntry command{.name = "predict", .help = "labels for new features"};
  OptionTable& table = command.options;
  table.text("--model", options->model, "written by fit").required().typed("FILE");
  table.files("--x,--test-x", options->x, "features").required();
  table
      .text("--out", options->out,
            "labels, .npy (int64) or .csv (names where the model has them); default: one a line on standard output, "
            "where "
            "no other file is asked for")
      .typed("FILE")
      .written();
  table.flag("--overwrite", options->overwrite, "replace files that are there already");
  table
      .optional_text("--scores", options->scores,
                     "write the n x K scores, .npy (float32) or .csv; without FILE: to --out, instead of labels")
      .typed("FILE")
      .written();
  table
      .optional_text("--probabilities", options->probabilities,
                     "the same of n x K probabilities, where the model's loss is softmax or sigmoid")
      .typed("FILE")
      .written();
  table.count("--top-k", options->top_k, "the k classes of the largest scores, best first, instead of one");
  table.flag("--sets", options->sets,
             "write n x K zeros and ones to --out instead of labels: ones from the model's threshold on");
  table.number("--threshold", options->threshold, "with --sets: from this score on, not the model's");
  table.choice("--bad-rows", options->bad_rows, "rows with NaN or infinity: stop, or score them as zero rows");
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce predict --model model.safetensors --x new.npy --out labels.csv\n"
      "  dpreduce predict --model model.safetensors --x new.h5:/features --out labels.npy --probabilities p.csv\n"
      "  dpreduce predict --model model.safetensors --x new.npy --scores --out scores.npy\n"
      "  dpreduce predict --model model.safetensors --x new.npy --sets --out sets.npy";
  command.chosen = [options](const ParsedCommand&) { return validated(*options); };
  return command;
}

}  // namespace dpreduce
