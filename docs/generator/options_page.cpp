#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "commands/commands.hpp"
#include "docs/generator/pages.hpp"

namespace dpreduce {
namespace {

std::string names_of(const Option& option) {
  std::string names;
  for (std::size_t begin = 0; begin <= option.names.size();) {
    const std::size_t end = std::min(option.names.find(',', begin), option.names.size());
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", option.names.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::string value_of(const Option& option) {
  if (option.values == OptionValues::kNone) return "";
  if (option.values == OptionValues::kOptional) return table_code("[" + option.type + "]");
  return table_code(option.type + (option.values == OptionValues::kMany ? " ..." : ""));
}

std::string row_of(const Option& option) {
  const std::string usual = option.is_required ? "required" : option.usual.empty() ? "" : table_code(option.usual);
  return fmt::format("| {} | {} | {} | {} |\n", names_of(option), value_of(option), usual, table_cell(option.help));
}

// The options of one group after another, each group in the order of its first option.
std::string tables_of(const OptionTable& table) {
  std::vector<std::string> groups;
  for (const Option& option : table.options()) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  std::string text;
  for (const std::string& group : groups) {
    text += fmt::format("\n{}| option | value | default | what it does |\n|---|---|---|---|\n",
                        group.empty() ? "" : fmt::format("### {}\n\n", group));
    for (const Option& option : table.options()) {
      if (option.group == group) text += row_of(option);
    }
  }
  return text;
}

std::string sentence(std::string help) {
  if (!help.empty()) help.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(help.front())));
  return help.ends_with('.') ? help : help + ".";
}

void append_command(const CommandEntry& command, const std::string& parents, std::string& text) {
  const std::string name = parents + command.name;
  if (!parents.empty()) {
    text += fmt::format("\n## {}\n\n{}\n", name, sentence(command.help));
    text += tables_of(command.options);
    if (!command.footer.empty()) text += fmt::format("\n```text\n{}\n```\n", command.footer);
  }
  for (const CommandEntry& own : command.commands) append_command(own, name + " ", text);
}

}  // namespace

Page options_page() {
  std::string text;
  append_command(dpreduce_command(), "", text);
  return {"reference/options.md", text};
}

}  // namespace dpreduce
