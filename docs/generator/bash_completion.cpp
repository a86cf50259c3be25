#include <fmt/format.h>

#include "docs/generator/option_values.hpp"
#include "docs/generator/packaged_files.hpp"

namespace dpreduce {
namespace {

// What is the same whatever the commands are. _dpreduce_command sets commands, options and word, what a word without an
// option's name may be; _dpreduce_option sets count and value of an option.
constexpr std::string_view kFunctions = R"(
# Candidates for the word at the cursor, of a kind that _dpreduce_option or _dpreduce_command tell.
_dpreduce_values() {
  case $1 in
    FILE) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
    DIR) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2") ;;
  esac
}

_dpreduce() {
  local current=${COMP_WORDS[COMP_CWORD]} path="" index=1 last commands options word count="" value=""
  COMPREPLY=()
  _dpreduce_command ""
  while ((index < COMP_CWORD)) && [[ " $commands " == *" ${COMP_WORDS[index]} "* ]]; do
    path+="${path:+ }${COMP_WORDS[index]}"
    _dpreduce_command "$path"
    ((++index))
  done

  # The last option before the cursor, and how many words follow it; bash makes words of its own of "--name=value".
  last=$((COMP_CWORD - 1))
  [[ $current != "=" ]] || current=""
  while ((last >= index)) && [[ ${COMP_WORDS[last]} != -* ]]; do ((--last)); done
  if ((last >= index)); then
    _dpreduce_option "$path" "${COMP_WORDS[last]}"
    local after=$((COMP_CWORD - last - 1))
    [[ ${COMP_WORDS[last + 1]-} != "=" ]] || after=$((after > 0 ? after - 1 : 0))
    if [[ $current != -* ]] && { [[ $count == many ]] || { [[ -n $count ]] && ((after == 0)); }; }; then
      _dpreduce_values "$value" "$current"
      return
    fi
  fi
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ -n $commands ]] && ((index == COMP_CWORD)); then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  elif [[ -n $word ]]; then
    _dpreduce_values "$word" "$current"
  elif [[ -z $current ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options")
  fi
}

complete -F _dpreduce dpreduce
)";

// "FILE", "DIR", or words: nothing where the shell cannot know.
std::string value_of_option(const Option& option) {
  switch (value_kind(option)) {
    case ValueKind::kFile:
      return "FILE";
    case ValueKind::kFolder:
      return "DIR";
    case ValueKind::kChoice:
      return fmt::format("{}", fmt::join(choices_of(option), " "));
    case ValueKind::kNone:
    case ValueKind::kOther:
      break;
  }
  return "";
}

std::string_view count_of_option(const Option& option) {
  switch (option.values) {
    case OptionValues::kNone:
      return "";
    case OptionValues::kOptional:
      return "optional";
    case OptionValues::kOne:
      return "one";
    case OptionValues::kMany:
      return "many";
  }
  return "";
}

void append_commands(const CommandEntry& command, const std::string& path, std::string& text) {
  std::string options = "--help";
  std::string word;
  if (path.empty()) options += " --version";
  if (command.options.has_first()) options += " --help-all";
  for (const Option& option : command.options.options()) {
    for (const std::string& name : names_of(option, true)) options += " " + name;
    if (!names_of(option, false).empty()) word = value_of_option(option);
  }
  std::string commands;
  for (const CommandEntry& own : command.commands) commands += (commands.empty() ? "" : " ") + own.name;
  text += fmt::format("    '{}') commands='{}' options='{}' word='{}' ;;\n", path, commands, options, word);
  for (const CommandEntry& own : command.commands) {
    append_commands(own, path.empty() ? own.name : path + " " + own.name, text);
  }
}

void append_options(const CommandEntry& command, const std::string& path, std::string& text) {
  for (const Option& option : command.options.options()) {
    if (option.values == OptionValues::kNone) continue;
    for (const std::string& name : names_of(option, true)) {
      text += fmt::format("    '{} {}') count={} value='{}' ;;\n", path, name, count_of_option(option),
                          value_of_option(option));
    }
  }
  for (const CommandEntry& own : command.commands) {
    append_options(own, path.empty() ? own.name : path + " " + own.name, text);
  }
}

}  // namespace

PackagedFile bash_completion(const CommandEntry& root) {
  std::string text = "# Completion of dpreduce in bash, written by the build from the table of options.\n\n";
  text += "_dpreduce_command() {\n  case $1 in\n";
  append_commands(root, "", text);
  text += "  esac\n}\n\n_dpreduce_option() {\n  count='' value=''\n  case \"$1 $2\" in\n";
  append_options(root, "", text);
  text += "  esac\n}\n";
  return {"bash-completion/completions/dpreduce", text + std::string(kFunctions)};
}

}  // namespace dpreduce
