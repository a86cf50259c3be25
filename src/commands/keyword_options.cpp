#include "commands/keyword_options.hpp"

#include <algorithm>

#include "common/base/error.hpp"
#include "methods/fit_table.hpp"

namespace dpreduce {
namespace {

std::string keyword_of(const Option& option) {
  std::string name(option.long_name());
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

const Option& option_of(const OptionTable& table, const std::string& command, const TomlItem& item,
                        const std::string& place) {
  std::string key = item.key;
  std::replace(key.begin(), key.end(), '_', '-');
  const Option* const option = table.find(key);
  if (option == nullptr) {
    throw UsageError("{}: '{}' is not an option of {}{}", place, item.key, command, hint_for(key, table.long_names()));
  }
  return *option;
}

std::optional<std::vector<std::string>> arguments_of(const Option& option, const TomlItem& item,
                                                     const std::string& place) {
  const bool is_flag = option.values == OptionValues::kNone;
  const std::string value = item.values.size() == 1 ? item.values.front() : "a list";
  // An option whose value may be left out is a flag where it is set to true or false.
  if ((is_flag || option.values == OptionValues::kOptional) && (value == "true" || value == "false")) {
    return value == "true" ? std::optional(std::vector<std::string>{}) : std::nullopt;
  }
  if (is_flag) throw UsageError("{}: {} = {}: must be true or false", place, item.key, value);
  if (option.values != OptionValues::kMany && option.delimiter == '\0' && item.values.size() != 1) {
    throw UsageError("{}: '{}' takes one value, not a list", place, item.key);
  }
  return item.values;
}

void read_keywords(OptionTable& table, const std::string& command, std::span<const TomlItem> keywords,
                   const std::string& call) {
  for (const TomlItem& keyword : keywords) {
    Option& option = *table.find(option_of(table, command, keyword, call).long_name());
    if (option.is_of_command_alone) {
      throw UsageError(
          "{}: '{}' is an option of the command alone: pass rows as arrays, and save what the call returns", call,
          keyword.key);
    }
    if (option.is_given()) throw UsageError("{}: '{}' is given twice", call, keyword.key);
    const auto given = arguments_of(option, keyword, call);
    if (!given) continue;
    option.read(*given);
    option.given = given->empty() ? std::vector<std::string>{"true"} : *given;
  }
  table.settle();
}

FitOptions fit_options_of(std::span<const TomlItem> keywords) {
  FitOptions fit;
  OptionTable table;
  declare_fit(table, fit);
  read_keywords(table, "fit", keywords, "fit()");
  return fit;
}

std::vector<KeywordHelp> fit_keywords() {
  FitOptions fit;
  OptionTable table;
  declare_fit(table, fit);
  add_fit_rules(table, fit);
  std::vector<KeywordHelp> keywords;
  for (const Option& option : table.options()) {
    if (option.is_of_command_alone) continue;
    keywords.push_back({keyword_of(option), option.help, option.type, is_about_classes(table, option)});
  }
  return keywords;
}

RunnableCommand run_of_call(CommandEntry command, std::span<const TomlItem> keywords) {
  read_keywords(command.options, command.name, keywords, command.name + "()");
  return command.chosen({.options = command.options});
}

std::string result_of_call(CommandEntry command, std::span<const TomlItem> keywords) {
  const std::string call = command.name + "()";
  read_keywords(command.options, command.name, keywords, call);
  for (const Option& option : command.options.options()) {
    if (!option.is_required || option.is_given()) continue;
    throw UsageError("{}: give {}: {}", call, keyword_of(option), option.help);
  }
  return command.result({.options = command.options});
}

}  // namespace dpreduce
