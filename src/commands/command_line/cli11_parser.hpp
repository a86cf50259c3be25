// What CLI11 does for the program: arguments into options, help, and TOML into items. No other file knows of it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "commands/command_line/command_entry.hpp"

namespace dpreduce {

/// Reads `arguments` (without the program's name) into the options of the command that they name, one of `root`'s, and
/// records what each was given. Lists add up; of any other option the last argument wins. Returns that command, or the
/// text that --help or --version ask for. Throws UsageError in one line that names the command's --help.
std::variant<const CommandEntry*, PrintText> read_arguments(CommandEntry& root, std::vector<std::string> arguments);

/// One `key = value` of a configuration file.
struct ConfigItem {
  std::vector<std::string> section;  ///< of [privacy.calibrate], its two names
  std::string key;
  std::vector<std::string> values;
};

/// The items of a TOML text. Throws std::exception where it is none.
std::vector<ConfigItem> toml_items(const std::string& text);

}  // namespace dpreduce
