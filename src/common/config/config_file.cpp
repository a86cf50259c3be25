#include "dpreduce/config/config_file.hpp"

#include <algorithm>
#include <fstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLargestConfigFile = std::size_t{1} << 20;
constexpr std::string_view kFlag = "--config";

// Takes `--config FILE` or `--config=FILE` out of the arguments; empty where there is none.
std::string take_config_path(std::vector<std::string>& arguments) {
  for (auto word = arguments.begin(); word != arguments.end(); ++word) {
    if (*word == kFlag) {
      if (word + 1 == arguments.end()) throw UsageError("--config needs a file");
      std::string path = *(word + 1);
      arguments.erase(word, word + 2);
      return path;
    }
    if (word->starts_with(std::string(kFlag) + "=")) {
      std::string path = word->substr(kFlag.size() + 1);
      arguments.erase(word);
      return path;
    }
  }
  return {};
}

std::vector<CLI::ConfigItem> read_items(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UsageError(fmt::format("--config {}: cannot be read", path));
  std::string text(kLargestConfigFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw UsageError(fmt::format("--config {}: cannot be read", path));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (text.size() > kLargestConfigFile) throw UsageError(fmt::format("--config {}: larger than 1 MiB", path));
  return parse_config(text, path);
}

bool names_a_command(const CLI::App& app, const std::vector<std::string>& section) {
  const CLI::App* command = &app;
  for (const std::string& name : section) {
    const auto named = command->get_subcommands([&](const CLI::App* sub) { return sub->check_name(name); });
    if (named.empty()) return false;
    command = named.front();
  }
  return true;
}

bool is_given(const std::vector<std::string>& arguments, const CLI::Option& option) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    return name.starts_with("--") && option.check_lname(name.substr(2));
  });
}

}  // namespace

std::vector<CLI::ConfigItem> parse_config(const std::string& text, const std::string& path) {
  std::istringstream stream(text);
  try {
    return CLI::ConfigTOML().from_config(stream);
  } catch (const std::exception& error) {
    throw UsageError(fmt::format("--config {}: not valid TOML: {}", path, error.what()));
  }
}

std::vector<std::string> with_config_file(const CLI::App& app, std::vector<std::string> arguments) {
  const std::string path = take_config_path(arguments);
  if (path.empty()) return arguments;

  // The command is the words in front of the first option.
  const CLI::App* command = &app;
  std::vector<std::string> command_path;
  auto word = arguments.begin();
  for (; word != arguments.end() && !word->starts_with("-"); ++word) {
    const auto& subcommands = command->get_subcommands([](const CLI::App*) { return true; });
    const auto named = std::find_if(subcommands.begin(), subcommands.end(),
                                    [&](const CLI::App* sub) { return sub->check_name(*word); });
    if (named == subcommands.end()) break;
    command = *named;
    command_path.push_back(*word);
  }

  std::vector<std::string> from_file;
  for (const CLI::ConfigItem& item : read_items(path)) {
    if (item.name == "++" || item.name == "--") continue;  // CLI11's marks for the begin and end of a section
    if (!item.parents.empty() && !names_a_command(app, item.parents)) {
      throw UsageError(fmt::format("--config {}: [{}] is not a command", path, fmt::join(item.parents, ".")));
    }
    if (!item.parents.empty() && item.parents != command_path) continue;
    std::string key = item.name;
    std::replace(key.begin(), key.end(), '_', '-');
    const CLI::Option* option = command->get_option_no_throw("--" + key);
    if (option == nullptr) {
      throw UsageError(fmt::format("--config {}: '{}' is not an option of {}", path, item.name, command->get_name()));
    }
    if (is_given(arguments, *option)) continue;
    const bool is_flag = option->get_expected_max() == 0;
    if (is_flag) {
      const std::string value = item.inputs.empty() ? "true" : item.inputs.front();
      if (value == "false") continue;
      if (value != "true") {
        throw UsageError(fmt::format("--config {}: {} = {}: must be true or false", path, item.name, value));
      }
      from_file.push_back("--" + key);
    } else {
      from_file.push_back("--" + key);
      from_file.insert(from_file.end(), item.inputs.begin(), item.inputs.end());
    }
  }
  arguments.insert(word, from_file.begin(), from_file.end());
  return arguments;
}

}  // namespace dpreduce
