#include "commands/command_line/sanitize_command.hpp"

#include <memory>

#include "commands/command_line/budget_options.hpp"
#include "commands/command_line/command_entry.hpp"
#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"

namespace dpreduce {

SanitizeOptions validated(SanitizeOptions options) {
  check_positive("--clip", options.clip_norm);
  if (options.out_dir.empty()) throw UsageError("--out: a folder is needed");
  return options;
}

CommandEntry sanitize_command() {
  const auto options = std::make_shared<SanitizeOptions>();
  CommandEntry command{.name = "sanitize", .help = "rows of yours with noise of their own, each record private"};
  OptionTable& table = command.options;
  table.files("--x", options->x, "features").required();
  table.files("--y", options->y, "labels: public here, copied as they are");
  table.text("--out", options->out_dir, "folder for x.npy and y.npy").required().typed("DIR");
  table.flag("--overwrite", options->overwrite, "replace files that are there already");
  table.choice("--normalize", options->normalize, "scale every row to norm C, or only clip longer ones");
  table.number("--clip", options->clip_norm, "C: the clip norm, public");
  table.choice("--bad-rows", options->bad_rows, "rows with NaN or infinity: stop, or take them as zero rows");
  declare_budget(table, options->budget);
  table.count("--seed", options->seed, "repeatable noise; the rows are then NOT private").in_group("Privacy");
  declare_format(table, options->format);
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce synth sanitize --x x.npy --y y.npy --clip 1 --epsilon 8 --delta 1e-6 --out sanitized";
  command.chosen = [options](const ParsedCommand&) { return validated(*options); };
  return command;
}

}  // namespace dpreduce
