#include "commands/keyword_options.hpp"

#include <algorithm>

#include "common/base/error.hpp"
#include "methods/fit_table.hpp"

namespace dpreduce {
namespace {

bool is_truth_value(const std::vector<std::string>& values) {
  return values.size() == 1 && (values.front() == "true" || values.front() == "false");
}

// Returns whether a flag is set.
bool is_true(const TomlItem& item, const std::string& place) {
  if (is_truth_value(item.values)) return item.values.front() == "true";
  const std::string value = item.values.size() == 1 ? item.values.front() : "a list";
  throw UsageError("{}: {} = {}: must be true or false", place, item.key, value);
}

// Reads the keywords into the options of `table`, `call` being what messages begin with.
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
    const OptionArguments given = arguments_of(option, keyword, call);
    if (!given.is_set) continue;
    option.read(given.arguments);
    option.given = given.arguments.empty() ? std::vector<std::string>{"true"} : given.arguments;
  }
  table.settle();
}

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

OptionArguments arguments_of(const Option& option, const TomlItem& item, const std::string& place) {
  // An option whose value may be left out is a flag where it is set to true or false.
  const bool may_be_flag = option.values == OptionValues::kOptional && is_truth_value(item.values);
  if (option.values == OptionValues::kNone || may_be_flag) return {.is_set = is_true(item, place)};
  const bool takes_one = option.values == OptionValues::kOne || option.values == OptionValues::kOptional;
  if (takes_one && option.delimiter == '\0' && item.values.size() != 1) {
    throw UsageError("{}: '{}' takes one value, not a list", place, item.key);
  }
  return {.arguments = item.values};
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
  std::vector<KeywordHelp> keywords;
  for (const Option& option : table.options()) {
    if (!option.is_of_command_alone) keywords.push_back({keyword_of(option), option.help, option.type});
  }
  return keywords;
}

std::vector<std::string> keywords_of_classes() {
  FitOptions fit;
  OptionTable table;
  declare_fit(table, fit);
  add_fit_rules(table, fit);
  std::vector<std::string> keywords;
  for (const Option& option : table.options()) {
    if (!option.is_of_command_alone && is_about_classes(table, option)) keywords.push_back(keyword_of(option));
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
