#include "commands/command_line/command_line.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "commands/command_line/cli11_parser.hpp"
#include "commands/command_line/command_entry.hpp"
#include "commands/command_line/config_file.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// Makes --train-x and --train-y optional: in a run among silos a party's own file names its rows, and the coordinator
// has none.
void let_rows_be_own(CommandEntry& root) {
  for (CommandEntry& command : root.commands) {
    if (command.name != "fit") continue;
    for (const char* rows : {"--train-x", "--train-y"}) command.options.find(rows)->is_required = false;
  }
}

bool names_own_file(const std::string& argument) {
  return argument == "--silo-config" || argument.starts_with("--silo-config=");
}

}  // namespace

bool asks_for_silos(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "fit") return false;
  std::vector<std::string> all = arguments;
  try {
    all = with_config_files(dpreduce_command(), std::move(all)).arguments;
  } catch (const Error&) {
    all = arguments;  // the mistake is reported where the options are read in earnest
  }
  return std::any_of(all.begin(), all.end(),
                     [](const std::string& each) { return each == "--secure-aggregation" || names_own_file(each); });
}

Command parse_command_line(std::vector<std::string> arguments, std::optional<std::size_t> party) {
  CommandEntry root = dpreduce_command();
  if (!arguments.empty() && !arguments.front().starts_with("-") && root.command(arguments.front()) == nullptr) {
    throw UsageError(fmt::format("'{}' is not a command (see dpreduce --help)", arguments.front()));
  }
  const ConfiguredArguments configured = with_config_files(root, std::move(arguments), party);
  if (!party && std::any_of(configured.arguments.begin(), configured.arguments.end(), names_own_file)) {
    throw UsageError(
        "--silo-config: is of one party among silos; start them with mpirun -n, and give --secure-aggregation");
  }
  if (configured.rows_are_own) let_rows_be_own(root);
  try {
    const auto read = read_arguments(root, configured.arguments);
    if (const PrintText* text = std::get_if<PrintText>(&read)) return *text;
    const CommandEntry& command = *std::get<const CommandEntry*>(read);
    return command.chosen({command.options, configured.rows_are_own, configured.ledger_is_own});
  } catch (const UsageError& error) {
    if (configured.own_file.empty()) throw;
    throw UsageError(fmt::format("{} (with --silo-config {})", error.what(), configured.own_file));
  }
}

}  // namespace dpreduce
