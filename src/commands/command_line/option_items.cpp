#include "commands/command_line/option_items.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/nearest_name.hpp"

namespace dpreduce {
namespace {

bool is_truth_value(const std::vector<std::string>& values) {
  return values.size() == 1 && (values.front() == "true" || values.front() == "false");
}

// Whether a flag is set.
bool is_true(const TomlItem& item, const std::string& place) {
  if (is_truth_value(item.values)) return item.values.front() == "true";
  const std::string value = item.values.size() == 1 ? item.values.front() : "a list";
  throw UsageError(fmt::format("{}: {} = {}: must be true or false", place, item.key, value));
}

}  // namespace

const Option& option_of(const OptionTable& table, const std::string& command, const TomlItem& item,
                        const std::string& place) {
  std::string key = item.key;
  std::replace(key.begin(), key.end(), '_', '-');
  const Option* const option = table.find(key);
  if (option == nullptr) {
    throw UsageError(fmt::format("{}: '{}' is not an option of {}{}", place, item.key, command,
                                 did_you_mean(key, table.long_names())));
  }
  return *option;
}

OptionArguments arguments_of(const Option& option, const TomlItem& item, const std::string& place) {
  // An option whose value may be left out is a flag where it is set to true or false.
  const bool may_be_flag = option.values == OptionValues::kOptional && is_truth_value(item.values);
  if (option.values == OptionValues::kNone || may_be_flag) return {.is_set = is_true(item, place)};
  const bool takes_one = option.values == OptionValues::kOne || option.values == OptionValues::kOptional;
  if (takes_one && option.delimiter == '\0' && item.values.size() != 1) {
    throw UsageError(fmt::format("{}: '{}' takes one value, not a list", place, item.key));
  }
  return {.arguments = item.values};
}

}  // namespace dpreduce
