#include <algorithm>

#include <fmt/format.h>

#include "docs/generator/option_values.hpp"
#include "docs/generator/packaged_files.hpp"

namespace dpreduce {
namespace {

// In single quotes, which zsh reads as they stand.
std::string in_single_quotes(std::string_view text) {
  std::string escaped = "'";
  for (const char character : text) escaped += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return escaped + "'";
}

// `text` with a backslash before each of `special`.
std::string escaped_for(std::string_view text, std::string_view special) {
  std::string escaped;
  for (const char character : text) {
    if (special.find(character) != std::string_view::npos) escaped += '\\';
    escaped += character;
  }
  return escaped;
}

// One line on an option: what help says of it, up to the first thought's end.
std::string line_on(const Option& option) {
  return option.is_first() ? option.first_help : option.help.substr(0, option.help.find(';'));
}

std::string action_of(const Option& option) {
  switch (value_kind(option)) {
    case ValueKind::kFile:
      return "_files";
    case ValueKind::kFolder:
      return "_files -/";
    case ValueKind::kChoice:
      return fmt::format("({})", fmt::join(choices_of(option), " "));
    case ValueKind::kNone:
    case ValueKind::kOther:
      break;
  }
  return " ";
}

std::string message_of(const Option& option) {
  return value_kind(option) == ValueKind::kChoice ? "word" : escaped_for(option.type, ":\\");
}

// An argument of _arguments for one name of an option.
std::string spec_of(const Option& option, const std::string& name) {
  const std::string begin = fmt::format("{}[{}]", name, escaped_for(line_on(option), "[]\\"));
  switch (option.values) {
    case OptionValues::kNone:
      return begin;
    case OptionValues::kOptional:
      return fmt::format("*{}::{}:{}", begin, message_of(option), action_of(option));
    case OptionValues::kOne:
      return fmt::format("*{}:{}:{}", begin, message_of(option), action_of(option));
    case OptionValues::kMany:
      return fmt::format("*{}:*-*:{}:{}", begin, message_of(option), action_of(option));
  }
  return begin;
}

std::string function_name(std::string path) {
  std::replace(path.begin(), path.end(), ' ', '_');
  return "_" + path;
}

// A function for the words after the command's name, and those of the commands below it.
void append_function(const CommandEntry& command, const std::string& parents, std::string& text) {
  const std::string path = parents + command.name;
  for (const CommandEntry& own : command.commands) append_function(own, path + " ", text);

  text += fmt::format("\n{}() {{\n", function_name(path));
  const bool has_commands = !command.commands.empty();
  if (has_commands) text += "  local curcontext=$curcontext state line\n  typeset -A opt_args\n";
  text += fmt::format("  _arguments {}\\\n    '(- *)'{{-h,--help}}'[print help]'", has_commands ? "-C " : "");
  if (command.options.has_first()) text += " \\\n    '(- *)--help-all[print all options]'";
  if (parents.empty()) text += " \\\n    '(- *)--version[print the version]'";
  for (const Option& option : command.options.options()) {
    for (const std::string& name : names_of(option, true))
      text += " \\\n    " + in_single_quotes(spec_of(option, name));
  }
  for (const Option& option : command.options.options()) {
    const std::vector<std::string> words = names_of(option, false);
    if (words.empty()) continue;
    const char* const place = option.values == OptionValues::kMany ? "*" : "";
    text += " \\\n    " + in_single_quotes(fmt::format("{}:{}:{}", place, words.front(), action_of(option)));
  }
  if (!has_commands) {
    text += "\n}\n";
    return;
  }
  text +=
      " \\\n    '1:command:->command' '*::words:->words'\n  case $state in\n    command)\n      local -a commands=(\n";
  for (const CommandEntry& own : command.commands) {
    text += fmt::format("        {}\n", in_single_quotes(fmt::format("{}:{}", own.name, own.help)));
  }
  text += "      )\n      _describe command commands ;;\n    words)\n      case $words[1] in\n";
  for (const CommandEntry& own : command.commands) {
    text += fmt::format("        {}) {} ;;\n", own.name, function_name(path + " " + own.name));
  }
  text += "      esac ;;\n  esac\n}\n";
}

}  // namespace

PackagedFile zsh_completion(const CommandEntry& root) {
  std::string text =
      "#compdef dpreduce\n# Completion of dpreduce in zsh, written by the build from the table of options.\n";
  append_function(root, "", text);
  return {"zsh/_dpreduce", text + "\n_dpreduce \"$@\"\n"};
}

}  // namespace dpreduce
