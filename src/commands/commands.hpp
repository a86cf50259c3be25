// The commands, one file each: all_commands.inc lists them. And all that the file of every command uses.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/command_entry.hpp"
#include "common/base/error.hpp"
#include "common/base/json_fields.hpp"
#include "common/base/json_text.hpp"
#include "common/base/output_file.hpp"
#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"
#include "methods/fit_table.hpp"
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

/// Adds the options of a command to its table, read into `Options`.
template <typename Options>
using Declare = void (*)(OptionTable&, Options&);
/// Makes what is asked for, a runnable command or a result, of the options that were read.
template <typename Asked, typename Options>
using MadeOf = std::function<Asked(const Options&, const ParsedCommand&)>;

inline constexpr bool kWithoutConfig = false;

/// Makes a command whose words are read into an `Options` of its own. It has --format where these have a format, and
/// --config unless it is kWithoutConfig. Help shows `prose` before the examples. Programs call a command with a
/// `result` (CommandEntry::result).
template <typename Options, bool kHasConfig = true>
CommandEntry command_reading(std::string name, std::string help, Declare<Options> declare,
                             MadeOf<RunnableCommand, Options> chosen, const std::string& examples,
                             const std::string& prose = {}, MadeOf<std::string, Options> result = {}) {
  const auto options = std::make_shared<Options>();
  CommandEntry command{.name = std::move(name), .help = std::move(help), .footer = prose + "Examples:\n" + examples};
  declare(command.options, *options);
  if constexpr (requires { options->format; }) declare_format(command.options, options->format);
  if (kHasConfig) declare_config(command.options);
  command.chosen = [options, chosen](const ParsedCommand& parsed) { return chosen(*options, parsed); };
  if (result) command.result = [options, result](const ParsedCommand& parsed) { return result(*options, parsed); };
  return command;
}

/// Makes a command of the coordinator whose result is JSON, to programs that call it too, or text. `check` validates
/// the options, which have the format.
template <typename Options>
CommandEntry json_command(std::string name, std::string help, Declare<Options> declare, Options (*check)(Options),
                          nlohmann::json (*result)(const Options&),
                          std::string (*text)(const Options&, const nlohmann::json&), const std::string& examples,
                          const std::string& prose = {}) {
  const auto chosen = [=](const Options& asked, const ParsedCommand&) {
    return by_coordinator([options = check(asked), result, text] {
      const nlohmann::json told = result(options);
      print_result(options.format, told, [&] { return text(options, told); });
    });
  };
  return command_reading<Options>(
      std::move(name), std::move(help), declare, chosen, examples, prose,
      [=](const Options& asked, const ParsedCommand&) { return readable_json_text(result(check(asked))); });
}

}  // namespace dpreduce
