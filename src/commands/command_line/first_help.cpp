#include "commands/command_line/first_help.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace dpreduce {
namespace {

constexpr std::size_t kLongestType = 12;

// "--train-x FILE ...": choices that are many are told in the line beside it.
std::string usage_of(const Option& option) {
  const std::string name = option.names.substr(0, option.names.find(','));
  if (option.values == OptionValues::kNone) return name;
  const std::string type = option.type.size() > kLongestType ? "WORD" : option.type;
  if (option.values == OptionValues::kOptional) return fmt::format("{} [{}]", name, type);
  return fmt::format("{} {}{}", name, type, option.values == OptionValues::kMany ? " ..." : "");
}

std::string line_of(const Option& option) {
  if (option.is_required) return option.first_help + " (required)";
  return option.usual.empty() ? option.first_help : fmt::format("{} [{}]", option.first_help, option.usual);
}

}  // namespace

std::string first_help(const CommandEntry& command, const std::string& name) {
  std::vector<std::string> groups;
  std::string required;
  std::size_t width = 0;
  for (const Option& option : command.options.options()) {
    if (option.is_required) required += " " + usage_of(option);
    if (!option.is_first()) continue;
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
    width = std::max(width, usage_of(option).size());
  }
  std::string text = fmt::format("{}\nUsage: {}{} [OPTIONS]\n", command.help, name, required);
  for (const std::string& group : groups) {
    text += fmt::format("\n{}:\n", group.empty() ? "Options" : group);
    for (const Option& option : command.options.options()) {
      if (!option.is_first() || option.group != group) continue;
      text += fmt::format("  {:<{}}  {}\n", usage_of(option), width, line_of(option));
    }
  }
  return text + fmt::format("\n{}\n\n{} --help-all shows all {} options.\n", command.first_footer, name,
                            command.options.options().size());
}

}  // namespace dpreduce
