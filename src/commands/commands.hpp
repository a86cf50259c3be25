// The commands, one file each: all_commands.inc lists them.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "commands/command_entry.hpp"
#include "common/base/json_text.hpp"
#include "common/ranks/communicator.hpp"
#include "methods/fit_options.hpp"
#include "report/sections.hpp"

namespace dpreduce {

/// Returns `dpreduce` with all of its commands. Each call makes tables of its own, into which words are read once.
CommandEntry dpreduce_command();

#define COMMAND(group, file) CommandEntry file##_command();
#define GROUP(name, help)
#include "commands/all_commands.inc"
#undef COMMAND
#undef GROUP

/// Trains, tests and writes by `asked`, validated options of a fit; or, if these name files of models, evaluates the
/// models with noise on its rows, and writes the report. Collective.
void fit_and_write(const FitOptions& asked, Communicator& ranks);

/// Fit of fit_command(), or a private evaluation, for those that run it as the command does: parties among silos,
/// sweeps, audits. Collective.
struct FitCommand {
  FitOptions options;
  void operator()(Communicator& ranks) const { fit_and_write(options, ranks); }
};

/// Makes a command of the coordinator's report its result as JSON, to programs that call it too, or as text. `asked`
/// makes validated options, which have the format.
template <typename Options>
void tell(CommandEntry& command, nlohmann::json (*result)(const Options&),
          std::string (*text)(const Options&, const nlohmann::json&), std::function<Options()> asked) {
  command.chosen = [asked, result, text](const ParsedCommand&) {
    return by_coordinator([options = asked(), result, text] {
      const nlohmann::json told = result(options);
      print_result(options.format, told, [&] { return text(options, told); });
    });
  };
  command.result = [asked, result](const ParsedCommand&) { return readable_json_text(result(asked())); };
}

}  // namespace dpreduce
