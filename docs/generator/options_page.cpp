#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "commands/commands.hpp"
#include "docs/generator/pages.hpp"
#include "methods/fit_table.hpp"

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

// A part that readers can close; without scripts it is open.
std::string folded(const std::string& summary, const char* kind, const std::string& text) {
  return fmt::format("\n<details class=\"{}\" markdown=\"1\" open>\n<summary>{}</summary>\n\n{}\n</details>\n", kind,
                     summary, text);
}

// The options of one group after another, each group in the order of its first option.
std::string tables_of(const OptionTable& table) {
  std::vector<std::string> groups;
  for (const Option& option : table.options()) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  std::string text;
  for (const std::string& group : groups) {
    std::string rows;
    std::size_t count = 0;
    for (const Option& option : table.options()) {
      if (option.group != group) continue;
      rows += row_of(option);
      ++count;
    }
    if (!group.empty()) text += fmt::format("\n### {}\n", group);
    text += folded(fmt::format("{} option{}", count, count == 1 ? "" : "s"), "options",
                   "| option | value | default | what it does |\n|---|---|---|---|\n" + rows);
  }
  return text;
}

std::string side(const std::string& words) {
  return words.empty() ? "" : table_code(words);
}

// What goes with what, and what excludes what.
std::string table_of_rules(const OptionTable& table) {
  if (table.rules().empty()) return "";
  std::string text =
      "| rule | option | other option | only where | but not where | because "
      "|\n|---|---|---|---|---|---|\n";
  std::vector<OptionRule> rows;  // those that differ in one side alone are one
  for (const OptionRule& rule : table.rules()) {
    const auto is_alike = [&](const OptionRule& row, const std::string& same, const std::string& own) {
      return same == own && row.kind == rule.kind && row.reason == rule.reason && row.where == rule.where &&
             row.unless == rule.unless;
    };
    if (!rows.empty() && is_alike(rows.back(), rows.back().first, rule.first)) {
      rows.back().second += ", " + rule.second;
    } else if (!rows.empty() && is_alike(rows.back(), rows.back().second, rule.second)) {
      rows.back().first += ", " + rule.first;
    } else {
      rows.push_back(rule);
    }
  }
  for (const OptionRule& rule : rows) {
    const char* const relation = rule.kind == OptionRule::Kind::kNeeds      ? "goes with"
                                 : rule.kind == OptionRule::Kind::kExcludes ? "not with"
                                                                            : "both or none";
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", relation, side(rule.first), side(rule.second),
                        side(rule.where), side(rule.unless), table_cell(rule.reason));
  }
  return "\n### Combinations\n" + folded(fmt::format("{} rules", rows.size()), "options rules", text);
}

// Of a fit, whoever asks for it: its rules are checked once all that it is given is known.
std::string rules_of(const CommandEntry& command) {
  if (command.name != "fit") return table_of_rules(command.options);
  FitOptions fit;
  OptionTable table;
  declare_fit(table, fit);
  add_fit_rules(table, fit);
  return table_of_rules(table);
}

std::string sentence(std::string help) {
  if (!help.empty()) help.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(help.front())));
  return help.ends_with('.') ? help : help + ".";
}

void append_command(const CommandEntry& command, const std::string& parents, std::string& text) {
  const std::string name = parents + command.name;
  if (!parents.empty()) {
    text += fmt::format("\n## {}\n\n{}\n", name, sentence(command.help));
    text += tables_of(command.options) + rules_of(command);
    if (!command.footer.empty()) text += fmt::format("\n```text\n{}\n```\n", command.footer);
  }
  for (const CommandEntry& own : command.commands) append_command(own, name + " ", text);
}

// Links to the commands, as an index.
void append_links(const CommandEntry& command, const std::string& parents, std::string& links) {
  const std::string name = parents + command.name;
  std::string anchor = "dpreduce-" + name;
  std::ranges::replace(anchor, ' ', '-');
  links += fmt::format("{}[{}](#{})", links.empty() ? "" : " · ", name, anchor);
  for (const CommandEntry& own : command.commands) append_links(own, name + " ", links);
}

}  // namespace

Page options_page() {
  const CommandEntry program = dpreduce_command();
  std::string links;
  std::string text;
  for (const CommandEntry& command : program.commands) append_links(command, "", links);
  append_command(program, "", text);
  return {"reference/options.md", "\nCommands: " + links + "\n" + text};
}

}  // namespace dpreduce
