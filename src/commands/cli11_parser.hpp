// Parser of the program on CLI11: arguments into options, and help. No other file knows of CLI11.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "commands/command_entry.hpp"

namespace dpreduce {

/// The lists in files that options name, by the paths of the files.
using NamedLists = std::map<std::string, std::vector<std::string>>;

/// Reads `arguments` (without the program's name) into the options of the command that they name, one of `root`'s, and
/// records the arguments of each option. Lists add up; of any other option the last argument wins. Returns that
/// command, or the text that --help, --help-all or --version request. Files of lists that options name are read where
/// `lists` does not have them, and added to it. Throws UsageError in one line that names the command's --help, BadInput
/// where such a file is wrong.
std::variant<const CommandEntry*, PrintText> read_arguments(CommandEntry& root, std::vector<std::string> arguments,
                                                            NamedLists& lists);

}  // namespace dpreduce
