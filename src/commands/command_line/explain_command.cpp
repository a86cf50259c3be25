#include "commands/command_line/explain_command.hpp"

#include <memory>

#include "commands/command_line/command_entry.hpp"

namespace dpreduce {

CommandEntry explain_command() {
  const auto options = std::make_shared<ExplainOptions>();
  CommandEntry command{.name = "explain", .help = "what a report of fit promises, to whom, and what it does not"};
  command.options.text("--report,report", options->report, "written by fit --report").required().typed("FILE");
  declare_format(command.options, options->format);
  command.footer =
      "Examples:\n"
      "  dpreduce privacy explain report.json\n"
      "  dpreduce privacy explain report.json --format json";
  command.chosen = [options](const ParsedCommand&) { return *options; };
  return command;
}

}  // namespace dpreduce
