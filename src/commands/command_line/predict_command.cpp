#include "commands/command_line/predict_command.hpp"

#include <cmath>
#include <memory>

#include "commands/command_line/command_entry.hpp"
#include "commands/command_line/label_set_terms.hpp"
#include "common/base/error.hpp"

namespace dpreduce {

PredictOptions validated(PredictOptions options) {
  if (options.scores && options.out.empty()) throw UsageError("--scores needs --out");
  if (options.sets && options.out.empty()) throw UsageError("--sets needs --out");
  if (int{options.scores} + int{options.sets} + int{options.top_k.has_value()} > 1) {
    throw UsageError("--scores, --sets and --top-k exclude each other; give one");
  }
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
  table.text("--out", options->out, "labels, .npy (int64); default: one a line on standard output");
  table.flag("--overwrite", options->overwrite, "replace a file that is there already");
  table.flag("--scores", options->scores, "write the n x K scores instead of labels (needs --out)");
  table.count("--top-k", options->top_k, "the k classes of the largest scores, best first, instead of one");
  table.flag("--sets", options->sets,
             "write n x K zeros and ones instead of labels: ones from the model's threshold on (needs --out)");
  table.number("--threshold", options->threshold, "with --sets: from this score on, not the model's");
  table.choice("--bad-rows", options->bad_rows, "rows with NaN or infinity: stop, or score them as zero rows");
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce predict --model model.safetensors --x new.npy --out labels.npy\n"
      "  dpreduce predict --model model.safetensors --x new.h5:/features --scores --out scores.npy\n"
      "  dpreduce predict --model model.safetensors --x new.npy --sets --out sets.npy";
  command.chosen = [options](const ParsedCommand&) { return validated(*options); };
  return command;
}

}  // namespace dpreduce
