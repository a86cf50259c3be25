#include "commands/command_line/inspect_command.hpp"

#include <memory>

#include "commands/command_line/class_options.hpp"
#include "commands/command_line/command_entry.hpp"
#include "common/base/class_names.hpp"
#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"

namespace dpreduce {

InspectOptions validated(InspectOptions options) {
  options.classes = classes_of(options.classes, options.rows.class_names);
  if (!options.rows.y.empty() && options.classes == 0) {
    throw UsageError(
        "--train-y needs --classes or --class-names: how many classes there are is public, and never taken from the "
        "data");
  }
  if (!options.rows.y.empty()) check_classes(options.classes);
  check_class_names(options.rows.class_names, options.classes);
  check_positive("--clip", options.clip_norm);
  return options;
}

CommandEntry inspect_command() {
  const auto options = std::make_shared<InspectOptions>();
  CommandEntry command{.name = "inspect", .help = "check a data set (private: for its owner, never for release)"};
  OptionTable& table = command.options;
  table.files("--train-x,--x", options->rows.x, "features").required();
  table.files("--train-y,--y", options->rows.y, "labels");
  declare_classes(table, options->classes, options->rows.class_names, "K; needed with labels");
  table.choice("--normalize", options->normalize, "as in fit, before the diagnostics");
  table.number("--clip", options->clip_norm, "C: the share of longer rows is told");
  declare_format(table, options->format);
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce inspect --x x.npy --y y.npy --classes 10 --clip 1\n"
      "  mpirun -n 4 dpreduce inspect --x 'x_*.npy' --y 'y_*.npy' --classes 100 --normalize l2 --format json";
  command.chosen = [options](const ParsedCommand&) { return validated(*options); };
  return command;
}

}  // namespace dpreduce
