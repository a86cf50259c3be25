#include "commands/command_line/command_entry.hpp"

#include <fmt/format.h>

#include "commands/command_line/fit_command.hpp"

namespace dpreduce {

const CommandEntry* CommandEntry::command(const std::string& word) const {
  for (const CommandEntry& own : commands) {
    if (own.name == word) return &own;
  }
  return nullptr;
}

CommandEntry dpreduce_command() {
  CommandEntry dpreduce{
      .name = "dpreduce",
      .help =
          "dpreduce: differentially private classifiers from features that lie in many places, by one exact, noised "
          "sum",
      .footer = fmt::format("Each command has its own --help with examples. Exit codes: {}.", kExitCodes),
      .needs_command = true};
  CommandEntry privacy{.name = "privacy", .help = "accounting; no data involved", .needs_command = true};
  privacy.commands = {calibrate_command(), convert_command(), compose_command(), split_command(), explain_command()};
  dpreduce.commands = {fit_command(),    sweep_command(), predict_command(), evaluate_command(), privacy,
                       ledger_command(), synth_command(), inspect_command(), report_command(),   export_command(),
                       audit_command(),  bench_command(), keygen_command()};
  return dpreduce;
}

void declare_format(OptionTable& table, OutputFormat& format) {
  table.choice("--format", format, "what standard output gets");
}

void declare_config(OptionTable& table) {
  table.add({.names = "--config",
             .help = "TOML file with options of this command",
             .type = "FILE",
             .read = [](const std::vector<std::string>&) {}});
}

}  // namespace dpreduce
