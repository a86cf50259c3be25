#include <algorithm>
#include <cctype>
#include <sstream>

#include <fmt/format.h>

#include "common/base/version.hpp"
#include "docs/generator/option_values.hpp"
#include "docs/generator/packaged_files.hpp"

namespace dpreduce {
namespace {

// `text` as roff shows it: minus signs stay what they are in a shell, and no line is taken for a request.
std::string roff(std::string_view text) {
  std::string escaped;
  bool is_at_begin = true;
  for (const char character : text) {
    if (is_at_begin && (character == '.' || character == '\'')) escaped += "\\&";
    is_at_begin = character == '\n';
    switch (character) {
      case '\\':
        escaped += "\\e";
        break;
      case '-':
        escaped += "\\-";
        break;
      case '\'':
        escaped += "\\(aq";
        break;
      case '`':
        escaped += "\\(ga";
        break;
      case '^':
        escaped += "\\(ha";
        break;
      case '~':
        escaped += "\\(ti";
        break;
      case '|':
        escaped += "|\\:";  // many choices: the line may be broken here
        break;
      default:
        escaped += character;
    }
  }
  return escaped;
}

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

std::string as_sentence(const std::string& help) {
  if (help.empty()) return help;
  return in_capitals(help.substr(0, 1)) + help.substr(1) + (help.ends_with('.') ? "" : ".");
}

// "dpreduce-fit": the page's name.
std::string page_name(std::string command) {
  std::replace(command.begin(), command.end(), ' ', '-');
  return command;
}

std::string reference(const std::string& command) {
  return fmt::format(".BR {} (1)", roff(page_name(command)));
}

std::string value_text(const Option& option) {
  const std::string type = fmt::format("\\fI{}\\fR", roff(option.type));
  switch (option.values) {
    case OptionValues::kNone:
      return "";
    case OptionValues::kOptional:
      return fmt::format(" [{}]", type);
    case OptionValues::kOne:
      return " " + type;
    case OptionValues::kMany:
      return " " + type + " ...";
  }
  return "";
}

void append_option(const Option& option, std::string& text) {
  std::string names;
  for (const std::string& name : names_of(option, true)) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  }
  if (names.empty()) names = fmt::format("\\fB{}\\fR", roff(option.names));
  text += fmt::format(".TP\n{}{}\n{}\n", names, value_text(option), roff(as_sentence(option.help)));
  if (!names_of(option, false).empty()) text += "Its name may be left out.\n";
  if (option.is_required) text += "Required.\n";
  if (!option.usual.empty()) text += fmt::format("Default: \\fB{}\\fR.\n", roff(option.usual));
}

void append_options(const OptionTable& table, std::string& text) {
  text += ".SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n";
  text += table.has_first()
              ? "Print the options that most users need.\n.TP\n\\fB\\-\\-help\\-all\\fR\nPrint all options.\n"
              : "Print the options of this command.\n";
  std::vector<std::string> groups{""};
  for (const Option& option : table.options()) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  for (const std::string& group : groups) {
    if (!group.empty()) text += fmt::format(".SS {}\n", roff(group));
    for (const Option& option : table.options()) {
      if (option.group == group) append_option(option, text);
    }
  }
}

// A footer of help: "Examples:" begins a section, whose lines stand as they are; what stands before one is prose.
void append_footer(const std::string& footer, std::string& text) {
  std::istringstream lines(footer);
  bool is_in_section = false;
  bool has_notes = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_heading = !line.starts_with(' ') && line.ends_with(':');
    if (is_heading) {
      line.pop_back();
      text += fmt::format("{}.SH {}\n.EX\n", is_in_section ? ".EE\n" : "", roff(in_capitals(line)));
      is_in_section = true;
      continue;
    }
    if (!is_in_section && !has_notes) text += ".SH NOTES\n";
    has_notes = true;
    text += roff(is_in_section && line.starts_with("  ") ? line.substr(2) : line) + "\n";
  }
  if (is_in_section) text += ".EE\n";
}

std::string synopsis(const CommandEntry& command, const std::string& name) {
  std::string text = fmt::format(".B {}\n", roff(name));
  for (const Option& option : command.options.options()) {
    if (option.is_required) {
      text += fmt::format("\\fB{}\\fR{}\n", roff(option.names.substr(0, option.names.find(','))), value_text(option));
    }
  }
  if (command.needs_command) return text + "\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  return text + "[\\fIOPTIONS\\fR]\n";
}

void append_page(const CommandEntry& command, const std::string& parents, std::string_view date,
                 std::vector<PackagedFile>& pages) {
  const std::string name = parents + command.name;
  std::string help = command.help;
  if (help.starts_with(command.name + ": ")) help = help.substr(command.name.size() + 2);
  std::string text = fmt::format(
      ".\\\" Written by the build from the table of options.\n.TH {} 1 {} \"dpreduce {}\" \"User Commands\"\n",
      roff(in_capitals(page_name(name))), date, version());
  text +=
      fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}", roff(page_name(name)), roff(help), synopsis(command, name));
  if (parents.empty()) text += ".PP\n.B mpirun \\-n\n.I RANKS\n.B dpreduce\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  text += fmt::format(".SH DESCRIPTION\n{}\n", roff(as_sentence(help)));
  if (!command.options.options().empty()) append_options(command.options, text);
  if (!command.commands.empty()) text += ".SH COMMANDS\n";
  for (const CommandEntry& own : command.commands) {
    text += fmt::format(".TP\n{}\n{}\n", reference(name + " " + own.name), roff(as_sentence(own.help)));
  }
  append_footer(command.footer, text);
  text += fmt::format(".SH EXIT STATUS\n{}.\n", roff(kExitCodes));
  if (!parents.empty()) text += fmt::format(".SH SEE ALSO\n{}\n", reference(parents.substr(0, parents.size() - 1)));
  pages.push_back({"man/man1/" + page_name(name) + ".1", text});
  for (const CommandEntry& own : command.commands) append_page(own, name + " ", date, pages);
}

}  // namespace

std::vector<PackagedFile> manual_pages(const CommandEntry& root, std::string_view date) {
  std::vector<PackagedFile> pages;
  append_page(root, "", date, pages);
  return pages;
}

}  // namespace dpreduce
