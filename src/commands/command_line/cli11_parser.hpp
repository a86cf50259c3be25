// What CLI11 does for the program: arguments into options, and help. No other file knows of it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "commands/command_line/command_entry.hpp"

namespace dpreduce {

/// Reads `arguments` (without the program's name) into the options of the command that they name, one of `root`'s, and
/// records what each was given. Lists add up; of any other option the last argument wins. Returns that command, or the
/// text that --help, --help-all or --version ask for. Throws UsageError in one line that names the command's --help.
std::variant<const CommandEntry*, PrintText> read_arguments(CommandEntry& root, std::vector<std::string> arguments);

}  // namespace dpreduce
