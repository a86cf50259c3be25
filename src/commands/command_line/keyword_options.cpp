#include "commands/command_line/keyword_options.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "commands/command_line/budget_options.hpp"
#include "commands/command_line/command_entry.hpp"
#include "commands/command_line/fit_command.hpp"
#include "commands/command_line/option_items.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// Rows are given as arrays, names of classes as a list, results are objects, and silos are processes that the command
// joins. How many of them have rows of one person is asked of silos of an engine and of fedavg as well.
bool is_commands_alone(const Option& option) {
  constexpr std::array<std::string_view, 19> kNames{
      "train-x",   "train-y", "train-person", "test-x", "test-y",     "validation-x", "validation-y",
      "public-x",  "out",     "report",       "html",   "metrics",    "timings",      "dry-run",
      "overwrite", "quiet",   "format",       "config", "class-names"};
  const bool is_of_silos = option.group == "Silos" && option.long_name() != "silos-per-person";
  return is_of_silos || std::find(kNames.begin(), kNames.end(), option.long_name()) != kNames.end();
}

// Reads the keywords into the options of `table`, `call` being what messages begin with.
void read_keywords(OptionTable& table, const std::string& command, std::span<const TomlItem> keywords,
                   const std::string& call) {
  for (const TomlItem& keyword : keywords) {
    Option& option = *table.find(option_of(table, command, keyword, call).long_name());
    if (is_commands_alone(option)) {
      throw UsageError(
          fmt::format("{}: '{}' is an option of the command alone: pass rows as arrays, and save what "
                      "the call returns",
                      call, keyword.key));
    }
    if (option.is_given()) throw UsageError(fmt::format("{}: '{}' is given twice", call, keyword.key));
    const OptionArguments given = arguments_of(option, keyword, call);
    if (!given.is_set) continue;
    option.read(given.arguments);
    option.given = given.arguments.empty() ? std::vector<std::string>{"true"} : given.arguments;
  }
}

std::string keyword_of(const Option& option) {
  std::string name(option.long_name());
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

FitOptions fit_options_of(std::span<const TomlItem> keywords) {
  FitOptions fit;
  OptionTable table;
  declare_fit(table, fit);
  read_keywords(table, "fit", keywords, "fit()");
  choose_accountant(fit.privacy.budget, fit.method.batch.value_or(1.0), table);
  return fit;
}

std::vector<KeywordHelp> fit_keywords() {
  FitOptions fit;
  OptionTable table;
  declare_fit(table, fit);
  std::vector<KeywordHelp> keywords;
  for (const Option& option : table.options()) {
    if (!is_commands_alone(option)) keywords.push_back({keyword_of(option), option.help, option.type});
  }
  return keywords;
}

Command privacy_command_of(const std::string& name, std::span<const TomlItem> keywords) {
  CommandEntry root = dpreduce_command();
  const CommandEntry* const privacy = root.command("privacy");
  const auto command = std::find_if(privacy->commands.begin(), privacy->commands.end(),
                                    [&](const CommandEntry& own) { return own.name == name; });
  DPREDUCE_ASSERT(command != privacy->commands.end());
  OptionTable table = command->options;  // what its options write into stays the command's
  read_keywords(table, name, keywords, name + "()");
  for (const Option& option : table.options()) {
    if (!option.is_required || option.is_given()) continue;
    throw UsageError(fmt::format("{}(): give {}: {}", name, keyword_of(option), option.help));
  }
  return command->chosen({.options = table});
}

}  // namespace dpreduce
