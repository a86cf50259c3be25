#include "commands/command_line/evaluate_command.hpp"

#include <memory>

#include "commands/command_line/command_entry.hpp"
#include "commands/command_line/label_set_terms.hpp"

namespace dpreduce {

EvaluateOptions validated(EvaluateOptions options) {
  check_label_set_terms(options.top_k, options.threshold);
  return options;
}

CommandEntry evaluate_command() {
  const auto options = std::make_shared<EvaluateOptions>();
  CommandEntry command{.name = "evaluate", .help = "accuracy of a model: overall, balanced, by class, on the minority"};
  OptionTable& table = command.options;
  table.text("--model", options->model, "written by fit").required().typed("FILE");
  table.files("--test-x,--x", options->test.x, "features").required();
  table.files("--test-y,--y", options->test.y, "labels").required();
  table.files("--train-y", options->train_y,
              "training labels, to tell the smallest 25 % of classes (private: for the owner)");
  table.choice("--bad-rows", options->test.bad_rows, "rows with NaN or infinity: stop, or score them as zero rows");
  table.count("--top-k", options->top_k, "n x K labels: precision and recall of the k largest scores of a row");
  table.number("--threshold", options->threshold,
               "n x K labels: F1 of classes from this score on; default: the model's threshold");
  table.text("--report", options->report, "JSON report with the confusion matrix").typed("FILE").written();
  table.flag("--overwrite", options->overwrite, "replace a report that is there already");
  declare_format(table, options->format);
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce evaluate --model model.safetensors --test-x tx.npy --test-y ty.npy\n"
      "  mpirun -n 4 dpreduce evaluate --model model.safetensors --test-x 'tx_*.npy' --test-y 'ty_*.npy' --format "
      "json";
  command.chosen = [options](const ParsedCommand&) { return validated(*options); };
  return command;
}

}  // namespace dpreduce
