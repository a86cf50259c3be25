#include "commands/commands.hpp"

namespace dpreduce {
namespace {

// Adds those that are listed below `parent`, and to each what is listed below it.
void add_commands(CommandEntry& parent) {
#define COMMAND(group, file) \
  if (parent.name == #group) parent.commands.push_back((file##_command)());
#define GROUP(command, text) \
  if (parent.name == "dpreduce") parent.commands.push_back({.name = #command, .help = (text), .needs_command = true});
#include "commands/all_commands.inc"
#undef COMMAND
#undef GROUP
  for (CommandEntry& own : parent.commands) add_commands(own);
}

}  // namespace

CommandEntry dpreduce_command() {
  CommandEntry dpreduce{
      .name = "dpreduce",
      .help =
          "dpreduce: differentially private classifiers and regressions from features that stay where they are, by "
          "exact sums with Gaussian noise",
      .footer =
          fmt::format("Each command has its own --help with examples: `dpreduce help ledger show` is `dpreduce ledger "
                      "show --help`. Exit codes: {}.",
                      kExitCodes),
      .needs_command = true};
  add_commands(dpreduce);
  return dpreduce;
}

}  // namespace dpreduce
