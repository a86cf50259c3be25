#include "commands/command_line/name_check.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/nearest_name.hpp"

namespace dpreduce {
namespace {

bool is_option(const std::string& word) {
  return word.starts_with("-");
}

// Whether a word without dashes may be the value of an option that need not be named.
bool takes_word(const CommandEntry& command) {
  const auto& options = command.options.options();
  return std::any_of(options.begin(), options.end(),
                     [](const Option& option) { return !option.names.starts_with("-"); });
}

[[noreturn]] void refuse_command(const std::string& word, const CommandEntry& command, const std::string& name) {
  std::vector<std::string> names;
  for (const CommandEntry& own : command.commands) names.push_back(own.name);
  throw UsageError(fmt::format("'{}' is not a command{}{}{} (see dpreduce{}{} --help)", word,
                               name.empty() ? "" : " of ", name, did_you_mean(word, names), name.empty() ? "" : " ",
                               name));
}

void check_option(const std::string& word, const CommandEntry& command, const std::string& name) {
  const std::string option = word.substr(0, word.find('='));
  const bool is_name = option.starts_with("--") || std::isalpha(static_cast<unsigned char>(option.back())) != 0;
  if (option == "--config") return;  // of every command, and read before it (config_file.hpp)
  const bool is_help = option == "-h" || option == "--help" || option == "--help-all";
  if (option.size() < 2 || !is_name || option == "--" || is_help) return;
  if (command.options.find(option) != nullptr || (name.empty() && option == "--version")) return;
  std::vector<std::string> names;
  for (const std::string& own : command.options.long_names()) names.push_back("--" + own);
  if (name.empty()) names.insert(names.end(), {"--help", "--version"});
  if (command.options.has_first()) names.push_back("--help-all");
  throw UsageError(fmt::format("{} is not an option{}{}{} (see dpreduce{}{} --help)", option,
                               name.empty() ? "" : " of ", name, did_you_mean(option, names), name.empty() ? "" : " ",
                               name));
}

}  // namespace

void check_names(const CommandEntry& root, const std::vector<std::string>& arguments) {
  const CommandEntry* command = &root;
  std::string name;
  auto word = arguments.begin();
  for (; word != arguments.end() && !is_option(*word); ++word) {
    const CommandEntry* const own = command->command(*word);
    if (own == nullptr) break;
    command = own;
    name += (name.empty() ? "" : " ") + own->name;
  }
  const bool is_stray = word != arguments.end() && !is_option(*word);
  if (is_stray && !command->commands.empty() && !takes_word(*command)) refuse_command(*word, *command, name);
  for (; word != arguments.end(); ++word) {
    if (is_option(*word)) check_option(*word, *command, name);
  }
}

}  // namespace dpreduce
